"""Checks of synthetic trace configurations."""

from __future__ import annotations

from typing import Any

import pytest

from ssdgym.config.loading import load_config
from ssdgym.errors import SsdgymError
from ssdgym.workloads.stream import load_workload
from ssdgym.workloads.synthetic.config import SyntheticTraceConfig
from tests.workloads.synthetic.configs import small

WRITES = {"requests": 20_000, "bytes": "320MiB", "unique_bytes": "40MiB"}
MEMORY = (
    "dispersion_1s",
    "op_persistence",
    *(f"{part}.{field}" for part in ("reads", "writes") for field in ("replay_share", "replay_requests")),
)


def assumed(*without: str, **more: str) -> dict[str, str]:
    return {name: "a test" for name in SyntheticTraceConfig.noted_names() if name not in without} | more


def test_quantities_are_all_that_is_fitted() -> None:
    assert SyntheticTraceConfig.noted_names() == [
        "reads.requests",
        "reads.bytes",
        "reads.unique_bytes",
        "reads.replay_share",
        "reads.replay_requests",
        "writes.requests",
        "writes.bytes",
        "writes.unique_bytes",
        "writes.replay_share",
        "writes.replay_requests",
        "duration_s",
        "arrivals",
        "dispersion_1s",
        "op_persistence",
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


def test_base__gives_what_is_not_given() -> None:
    other = load_config(SyntheticTraceConfig, "stg_0", "synthetic_traces")
    for own in ({"name": "mine"}, {"name": "mine", "loops": 2, "layout_seed": 5}):
        config = load_workload({"kind": "synthetic", "base": "stg_0", **own})
        assert config == other.model_copy(update=own)


def test_base__takes_fields_of_reads_and_writes_and_notes_one_by_one() -> None:
    other = load_config(SyntheticTraceConfig, "src2_0", "synthetic_traces")
    own = {"writes": {"replay_share": 0.5}, "assumed": {"writes.replay_share": "x", "duration_s": "y"}}
    config = load_workload({"kind": "synthetic", "name": "mine", "base": "src2_0", **own})
    assert config.reads == other.reads
    assert config.writes == other.writes.model_copy(update={"replay_share": 0.5})
    assert "duration_s" in other.sources and "duration_s" not in config.sources
    assert config.assumed == other.assumed | own["assumed"]


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"arrivals": "cascade", "dispersion_1s": 5}, "dispersion_1s"),
        ({"op_persistence": 0.5}, "op_persistence"),
        ({"writes": {**WRITES, "replay_share": 0.5}}, "writes.replay_share"),
    ],
)
def test_memory__needs_a_note_where_it_is_asked_for(changes: dict[str, Any], name: str) -> None:
    notes = assumed(*MEMORY)
    assert small(assumed=notes).dispersion_1s is None
    with pytest.raises(SsdgymError, match=f"must name {name} in sources or in assumed"):
        small(assumed=notes, **changes)
    assert small(assumed=notes | {name: "x"}, **changes)


@pytest.mark.parametrize("changes", [{"arrivals": "cascade"}, {"dispersion_1s": 5.0}])
def test_a_cascade_and_its_dispersion__come_together(changes: dict[str, Any]) -> None:
    with pytest.raises(SsdgymError, match="needs dispersion_1s where arrivals is cascade, and only there"):
        small(**changes)


@pytest.mark.parametrize("field", ["base", "memory_as"])
@pytest.mark.parametrize("name", ["hm_9", "mine.yaml", ["stg_0"]])
def test_another__no_synthetic_trace_that_comes_with_ssdgym__refused(field: str, name: Any) -> None:
    with pytest.raises(SsdgymError, match=f"names in {field} .*, which is none of configs/synthetic_traces"):
        load_workload({"kind": "synthetic", "name": "mine", field: name})


def test_base__one_that_has_values_of_another__gives_those_too() -> None:
    config = load_workload({"kind": "synthetic", "name": "mine", "base": "vdi_01"})
    named = load_config(SyntheticTraceConfig, "2016021719-LUN0", "synthetic_traces")
    first = load_config(SyntheticTraceConfig, "vdi_02", "synthetic_traces")
    assert config == named.model_copy(update={"name": "mine"})
    assert (config.duration_s, config.assumed["arrivals"]) == (first.duration_s, first.assumed["arrivals"])


def test_memory_as__gives_what_makes_memory_and_nothing_else() -> None:
    named = {"base": "stg_0", "memory_as": "fin1-memory", "footprint_factor": 2.0}
    config = load_workload({"kind": "synthetic", "name": "mine", **named})
    plain, memory = (
        load_config(SyntheticTraceConfig, name, "synthetic_traces") for name in ("stg_0", "fin1-memory")
    )
    assert (config.footprint_factor, config.arrivals) == (2.0, "cascade")
    assert (config.dispersion_1s, config.op_persistence) == (memory.dispersion_1s, memory.op_persistence)
    replayed = {name: getattr(memory.writes, name) for name in ("replay_share", "replay_requests")}
    assert config.writes == plain.writes.model_copy(update=replayed)
    assert (config.reads, config.duration_s, config.sources) == (plain.reads, plain.duration_s, plain.sources)
    assert config.assumed.keys() == memory.assumed.keys() - memory.sources.keys() - plain.sources.keys() | (
        plain.assumed.keys()
    )


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
