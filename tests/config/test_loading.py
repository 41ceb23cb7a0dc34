"""Configurations come from names, files, mappings or models; what does not fit is one clear sentence."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from pydantic import Field, TypeAdapter

from ssdgym.config.loading import Config, available, load_config
from ssdgym.errors import SsdgymError
from ssdgym.experiments.leaderboard.suites import load_suite
from ssdgym.experiments.leaderboard.training import load_training
from ssdgym.experiments.runs.config import load_experiment
from ssdgym.workloads.base import WorkloadConfig
from ssdgym.workloads.generators.patterns import ZipfConfig
from ssdgym.workloads.stream import load_workload


class Geometry(Config):
    pages_per_block: int = Field(64, gt=0)


class Device(Config):
    geometry: Geometry = Geometry()
    page_size_bytes: int


def message(source: object, model: object = Device, folder: str = "devices") -> str:
    with pytest.raises(SsdgymError) as caught:
        load_config(model, source, folder)  # type: ignore[arg-type]
    text = str(caught.value)
    assert "\n" not in text
    assert text.endswith(".")
    return text


def yaml_file(folder: Path, text: str) -> Path:
    path = folder / "device.yaml"
    path.write_text(text)
    return path


def test_a_name_a_path_a_mapping_and_a_model_give_the_same() -> None:
    by_name = load_workload("zipf99")
    file = Path(__file__).parents[2] / "configs" / "workloads" / "zipf99.yaml"
    assert by_name == ZipfConfig(theta=0.99)
    assert load_workload(file) == by_name
    assert load_workload(str(file)) == by_name
    assert load_workload({"kind": "zipf", "theta": 0.99}) == by_name
    assert load_workload(by_name) is by_name


def test_models_are_immutable() -> None:
    device = load_config(Device, {"page_size_bytes": 4096}, "devices")
    with pytest.raises(ValueError, match="frozen"):
        device.page_size_bytes = 1  # type: ignore[misc]


def test_available_lists_the_names_in_order() -> None:
    names = available("workloads")
    assert names == sorted(names)
    assert {"uniform", "hot80", "zipf99"} <= set(names)


def test_an_unknown_name_lists_near_ones_and_all() -> None:
    text = message("zipf98", TypeAdapter(WorkloadConfig), "workloads")
    assert "no workload named 'zipf98' in configs/workloads" in text
    assert "did you mean zipf99" in text
    assert all(name in text for name in available("workloads"))


def test_a_wrong_value_names_file_field_bound_and_value(tmp_path: Path) -> None:
    path = yaml_file(tmp_path, "page_size_bytes: 4096\ngeometry:\n  pages_per_block: -3\n")
    assert message(path) == f"{path}: field geometry.pages_per_block must be greater than 0, not -3."


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ({}, "field page_size_bytes is missing."),
        (
            {"page_size_bytes": 1, "colour": 2},
            "field colour is unknown: choose one of geometry, page_size_bytes.",
        ),
        ({"page_size_bytes": "big"}, "field page_size_bytes must be a whole number"),
        ({"page_size_bytes": "x", "geometry": {"pages_per_block": 0}}, "(and 1 more problem)"),
    ],
)
def test_a_bad_field_is_named(data: dict[str, object], expected: str) -> None:
    text = message(data)
    assert text.startswith("device configuration: ")
    assert expected in text


@pytest.mark.parametrize(
    ("yaml_text", "expected"),
    [
        ("page_size_bytes: 4096\ngeometry: [1, 2\n", "line 3: not valid YAML"),
        (
            "page_size_bytes: 1\npage_size_bytes: 2\n",
            "line 2: not valid YAML, the key 'page_size_bytes' is given",
        ),
        ("", "must be a mapping of fields to values, not None"),
        ("- 1\n", "must be a mapping of fields to values, not [1]"),
        ("? [a, b]\n: 1\n", "line 1: not valid YAML, found unhashable key"),
        ("a: \x00\n", "not valid YAML"),
    ],
)
def test_bad_yaml_names_file_and_line(tmp_path: Path, yaml_text: str, expected: str) -> None:
    path = yaml_file(tmp_path, yaml_text)
    assert message(path).startswith(f"{path}: {expected}")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("!!timestamp x", "'x' cannot be read as 'timestamp'"),
        ("!!float name", "'name' cannot be read as 'float'"),
        ("!!int said", "'said' cannot be read as 'int'"),
        ("!!bool zipf99", "'zipf99' cannot be read as 'bool'"),
        ("0b_", "'0b_' cannot be read as 'int'"),
        ("0x_", "'0x_' cannot be read as 'int'"),
        ("9" * 5000, "has too many digits for a number"),
        ("0x" + "f" * 5000, "has too many digits for a number"),
        ("!!map 5", "a mapping of fields to values is expected here"),
        ("{<<: 5}", "expected a mapping or list of mappings for merging, but found scalar"),
        ("{? [a] : 1}", "found unhashable key"),
        ("{a: 1, a: 2}", "the key 'a' is given twice"),
        ("[" * 60 + "]" * 60, "its values are nested too deeply (more than 50 levels)"),
        ("&a [*a]", "its values are nested too deeply"),
    ],
)
def test_a_value_that_is_none__is_one_short_sentence(tmp_path: Path, value: str, expected: str) -> None:
    path = yaml_file(tmp_path, f"page_size_bytes: {value}\n")
    text = message(path)
    assert text.startswith(f"{path}: line 1: not valid YAML, ")
    assert expected in text
    assert len(text) < len(str(path)) + 200


def test_aliases_that_stand_for_a_great_many_values__are_refused(tmp_path: Path) -> None:
    lines = ["a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]"]
    lines += [f"a{k}: &a{k} [{', '.join([f'*a{k - 1}'] * 10)}]" for k in range(1, 9)]
    assert "its aliases repeat too much" in message(yaml_file(tmp_path, "\n".join(lines)))


def test_long_values__are_cut_in_messages(tmp_path: Path) -> None:
    for text in ("x" * 5000, "'" + "many words " * 500 + "'"):
        for line in (f"page_size_bytes: {text}", f"{text}: 1", f"geometry: {text}"):
            path = yaml_file(tmp_path, line)
            assert len(message(path)) < len(str(path)) + 300, line[:40]


def test_numbers_of_numpy__are_numbers() -> None:
    fields = {"page_size_bytes": np.int64(4096), "geometry": {"pages_per_block": np.uint8(8)}}
    device = load_config(Device, fields, "devices")
    assert device == Device(page_size_bytes=4096, geometry=Geometry(pages_per_block=8))
    assert json.loads(device.model_dump_json())["page_size_bytes"] == 4096


def test_a_number_too_long_to_be_printed__is_named_by_its_type() -> None:
    text = message({"page_size_bytes": 4096, "geometry": {"pages_per_block": -(1 << 20000)}})
    assert text.startswith("device configuration: field geometry.pages_per_block ")


def test_a_missing_or_binary_file_is_named(tmp_path: Path) -> None:
    missing = tmp_path / "none.yaml"
    assert message(missing) == f"{missing}: cannot be read (No such file or directory); check the path."
    binary = tmp_path / "binary.yaml"
    binary.write_bytes(b"\xff\xfe\xfa")
    assert message(binary) == f"{binary}: is not UTF-8 text; give a YAML file."


@pytest.mark.parametrize("source", [5, None, Geometry()], ids=["number", "nothing", "another model"])
def test_what_is_no_configuration_of_this_kind_is_refused(source: object) -> None:
    expected = f"device configuration: must be a mapping of fields to values, not {source!r}."
    assert message(source) == expected


def test_a_part_that_is_no_mapping_is_named() -> None:
    text = message({"page_size_bytes": 1, "geometry": 64})
    assert text == "device configuration: field geometry must be a mapping of fields to values, not 64."


def test_base__gives_what_a_file_leaves_out_field_by_field_only_where_a_model_says_so(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("algorithm: evolution\nbase: placement-v1\nspread: 0.5\ntasks: {count: 7}\n")
    mine, base = load_training(str(path)), load_training("placement-v1")
    assert mine == base.model_copy(
        update={"spread": 0.5, "tasks": base.tasks.model_copy(update={"count": 7})}
    )
    grid = load_experiment({"base": "agents-scale", "vary": {"geometry.blocks_per_plane": [300]}})
    assert grid.vary == {"geometry.blocks_per_plane": (300,)}
    assert grid.policies == load_experiment("agents-scale").policies


def test_base__of_another_model__one_clear_sentence(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("algorithm: ppo\nbase: placement-v1\n")
    with pytest.raises(SsdgymError, match="mine.yaml: field description is unknown: choose one of algo"):
        load_training(str(path))
    with pytest.raises(SsdgymError, match="mine.yaml: names in base 'nothing', which is none of configs/"):
        path.write_text("base: nothing\n")
        load_experiment(str(path))


@pytest.mark.parametrize("names", [("one", "one"), ("one", "two")])
def test_base__that_leads_back_to_itself__names_the_file(
    names: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shipped = tmp_path / "shipped_configs" / "suites"
    shipped.mkdir(parents=True)
    (shipped.parent / "__init__.py").touch()
    for name, base in (names, names[::-1]):
        (shipped / f"{name}.yaml").write_text(f"base: {base}\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr("ssdgym.config.loading._PACKAGE", "shipped_configs")
    with pytest.raises(SsdgymError) as error:
        load_suite({"base": "one"})
    culprit = (
        f"names in base configs/suites/({'|'.join(names)}).yaml, which leads back to itself; correct that."
    )
    assert re.fullmatch(f"suite configuration: {culprit}", str(error.value))
