"""Checks of synthetic trace configurations."""

from __future__ import annotations

from typing import Any

import pytest

from ssdgym.config.loading import load_config
from ssdgym.errors import SsdgymError
from ssdgym.workloads.load import load_workload
from ssdgym.workloads.synthetic.config import SyntheticTraceConfig
from tests.workloads.synthetic.configs import small


def assumed(*without: str, **more: str) -> dict[str, str]:
    return {name: "a test" for name in SyntheticTraceConfig.noted_names() if name not in without} | more


def test_quantities_are_all_that_is_fitted() -> None:
    assert SyntheticTraceConfig.noted_names() == [
        "reads.requests",
        "reads.bytes",
        "reads.unique_bytes",
        "writes.requests",
        "writes.bytes",
        "writes.unique_bytes",
        "duration_s",
        "arrivals",
        "address_space_bytes",
        "extent_bytes",
        "footprint_factor",
        "largest_bytes",
        "size_decay",
    ]


def test_sizes_may_have_units_and_survive_json() -> None:
    config = small()
    assert config.reads.bytes == 240 << 20
    assert SyntheticTraceConfig.model_validate_json(config.model_dump_json()) == config


def test_same_as__gives_what_is_not_given() -> None:
    other = load_config(SyntheticTraceConfig, "stg_0", "synthetic_traces")
    for own in ({"name": "mine"}, {"name": "mine", "loops": 2, "layout_seed": 5}):
        config = load_workload({"kind": "synthetic", "same_as": "stg_0", **own})
        assert config == other.model_copy(update=own)


@pytest.mark.parametrize("name", ["hm_9", "mine.yaml", ["stg_0"]])
def test_same_as__no_synthetic_trace_that_comes_with_ssdgym__refused(name: Any) -> None:
    with pytest.raises(SsdgymError, match="names in same_as .*, which is none of configs/synthetic_traces"):
        load_workload({"kind": "synthetic", "name": "mine", "same_as": name})


def test_same_as__one_that_has_its_own_values_from_another__refused() -> None:
    with pytest.raises(SsdgymError, match="names in same_as 'vdi_01', which has its own .*; name that one"):
        load_workload({"kind": "synthetic", "name": "mine", "same_as": "vdi_01"})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"assumed": assumed("reads.bytes")}, "must name reads.bytes in sources or in assumed"),
        (
            {"sources": {"duration_s": "x"}, "assumed": assumed()},
            "names duration_s in both sources and assumed",
        ),
        ({"assumed": assumed(speed="x")}, "a note in assumed on speed, which is none of reads.requests"),
        ({"extent_bytes": 100_000}, "extent_bytes to be a power of two from 4096 up, not 100000"),
        ({"extent_bytes": "32KiB"}, r"extent_bytes \(32768\) to be at least largest_bytes \(65536\)"),
        (
            {"address_space_bytes": 10**8},
            r"address_space_bytes \(100000000\) to be a multiple of extent_bytes",
        ),
        (
            {"address_space_bytes": "50MiB"},
            r"reads.unique_bytes \(62914560\) to fit into address_space_bytes",
        ),
        ({"largest_bytes": "8KiB"}, "mean size of reads to be 512 to 8192 bytes, not 8389"),
    ],
)
def test_what_does_not_fit_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(SsdgymError, match=message):
        small(**changes)
