"""Kinds of preconditioning, and which of them no two policies share."""

from __future__ import annotations

import pytest

from ssdgym.config.device import read_preconditioning


@pytest.mark.parametrize("kind", ["reads", "until_gc", "until_gc_greedy", "reads_until_gc_greedy"])
def test_kinds__that_depend_on_the_run__are_its_own(kind: str) -> None:
    assert read_preconditioning(kind).is_the_runs_own


@pytest.mark.parametrize("kind", ["none", "fill", "uniform", "workload"])
def test_kinds__that_all_policies_share__are_not(kind: str) -> None:
    assert not read_preconditioning(kind).is_the_runs_own
