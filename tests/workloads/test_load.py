"""The workload models accept what makes sense and say what does not."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import BaseModel

from ssdgym.config.loading import Config, available
from ssdgym.errors import SsdgymError
from ssdgym.workloads.generators.base import PacedConfig
from ssdgym.workloads.generators.patterns import MixedConfig, UniformConfig
from ssdgym.workloads.stream import load_workload
from ssdgym.workloads.tenants import TenantConfig, TenantsConfig
from ssdgym.workloads.traces.loading import TraceConfig
from ssdgym.workloads.traces.recorded import PlayedConfig


def heirs(model: type[Config]) -> list[type[Config]]:
    return [model, *(heir for child in model.__subclasses__() for heir in heirs(child))]


ALL_MODELS = [
    model for base in (PacedConfig, PlayedConfig, TenantConfig, TenantsConfig) for model in heirs(base)
]


@pytest.mark.parametrize("name", available("workloads"))
def test_every_configuration_that_comes_with_ssdgym_is_valid(name: str) -> None:
    assert isinstance(load_workload(name), BaseModel)


@pytest.mark.parametrize("model", ALL_MODELS, ids=lambda model: model.__name__)
def test_every_field_is_described(model: type[Config]) -> None:
    undescribed = [
        name for name, field in model.model_fields.items() if name != "kind" and not field.description
    ]
    assert undescribed == []


@pytest.mark.parametrize("model", ALL_MODELS, ids=lambda model: model.__name__)
def test_every_model_has_a_json_schema(model: type[Config]) -> None:
    assert model.model_json_schema()["type"] == "object"


def test_a_workload_survives_json() -> None:
    mixed = load_workload("mixed")
    assert isinstance(mixed, MixedConfig)
    assert MixedConfig.model_validate_json(mixed.model_dump_json()) == mixed


def test_a_plain_number_of_pages_is_a_distribution_of_one_size() -> None:
    assert load_workload({"kind": "uniform", "request_pages": 4}) == UniformConfig(request_pages={4: 1.0})


def test_a_path_that_is_not_yaml_is_a_trace(tmp_path: Path) -> None:
    assert load_workload("some/trace.csv.gz") == TraceConfig(path=Path("some/trace.csv.gz"))
    assert load_workload(tmp_path / "trace") == TraceConfig(path=tmp_path / "trace")


def test_trace_names_a_file_in_the_folder_of_traces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSDGYM_TRACES", str(tmp_path))
    for name in ("vol_0.csv.gz", "vol_1.csv", "two.csv", "two.csv.gz"):
        (tmp_path / name).touch()
    assert load_workload("trace:vol_0") == TraceConfig(path=tmp_path / "vol_0.csv.gz")
    assert load_workload("trace:vol_1.csv") == TraceConfig(path=tmp_path / "vol_1.csv")
    assert load_workload("trace:two.csv") == TraceConfig(path=tmp_path / "two.csv")
    with pytest.raises(SsdgymError, match="several files in .*: two.csv, two.csv.gz; give one's path"):
        load_workload("trace:two")
    with pytest.raises(SsdgymError, match="trace:hm_0: there is no file of that name .*; use synthetic:hm_0"):
        load_workload("trace:hm_0")
    monkeypatch.delenv("SSDGYM_TRACES")
    with pytest.raises(SsdgymError, match="trace:vol_0 needs the environment variable SSDGYM_TRACES"):
        load_workload("trace:vol_0")


def test_synthetic_names_a_synthetic_trace() -> None:
    for name in available("synthetic_traces"):
        assert load_workload(f"synthetic:{name}").kind == "synthetic"
    with pytest.raises(SsdgymError, match="no synthetic_trace named 'hm_9' in configs/synthetic_traces"):
        load_workload("synthetic:hm_9")


def test_synthetic__as_the_base_of_a_mapping__with_what_that_changes() -> None:
    changed = load_workload({"base": "synthetic:mds_0", "loops": None})
    assert changed == load_workload("synthetic:mds_0").model_copy(update={"loops": None})


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ({"theta": 1}, "field kind is missing"),
        (
            {"kind": "zip"},
            "field kind must be one of 'btree', 'drifting', 'hot_cold', 'log', ",
        ),
        ({"kind": "zipf", "theta": -1}, "field theta must be greater than or equal to 0, not -1"),
        ({"kind": "uniform", "theta": 1}, "field theta is unknown"),
        ({"kind": "uniform", "read_fraction": 1.5}, "field read_fraction must be less than or equal to 1"),
        ({"kind": "uniform", "read_fraction": float("nan")}, "field read_fraction must be"),
        ({"kind": "uniform", "read_fraction": 0.6, "trim_fraction": 0.6}, "read_fraction + trim_fraction"),
        ({"kind": "uniform", "start": 0.6, "footprint": 0.6}, "needs start + footprint to be at most 1"),
        ({"kind": "uniform", "request_pages": 0}, "field request_pages.0"),
        ({"kind": "uniform", "request_pages": {}}, "field request_pages"),
        ({"kind": "uniform", "request_pages": {4: -1}}, "field request_pages.4 must be greater than 0"),
        ({"kind": "mixed", "components": []}, "field components"),
        ({"kind": "drifting", "shift_pages": 1}, "field shift_every_pages is missing"),
        (
            {"kind": "trace", "path": "x", "format": "mrs"},
            "field format must be 'auto', 'alibaba', 'blkparse', 'cloudphysics'",
        ),
        (
            {"kind": "mixed", "components": [{"weight": 1, "workload": {"kind": "zipf", "theta": 99}}]},
            "field components.0.workload.theta must be less than or equal to 10, not 99",
        ),
        (
            {"kind": "mixed", "components": [{"weight": 1, "workload": {"kind": "zipf", "requests": 9}}]},
            "field components.0 sets workload.requests, which belongs to the mix",
        ),
    ],
)
def test_what_makes_no_sense_is_refused_by_field(data: dict[str, object], expected: str) -> None:
    with pytest.raises(SsdgymError) as caught:
        load_workload(data)
    assert str(caught.value).startswith("workload configuration: ")
    assert expected in str(caught.value)
