"""Fifty runs leave the same bits as ever: what a restructuring of the engine is held against."""

from __future__ import annotations

import pytest

from tests.engine.golden import BLOCK_RUNS, RUNS, SUBPAGE_RUNS, digests_of, recorded, simulate

RECORDED = recorded()


def test_golden__every_run_is_on_file() -> None:
    assert RECORDED.keys() == RUNS.keys() | SUBPAGE_RUNS.keys() | BLOCK_RUNS.keys()


@pytest.mark.parametrize("run", [*RUNS, *SUBPAGE_RUNS, *BLOCK_RUNS])
def test_golden__every_field_is_as_recorded(run: str) -> None:
    sim = simulate(run)
    assert sim.metrics()["gc_invocations"] > 0, "a run without GC guards little"
    found = digests_of(sim)
    assert found.keys() == RECORDED[run].keys()
    assert [key for key, value in found.items() if RECORDED[run][key] != value] == []
