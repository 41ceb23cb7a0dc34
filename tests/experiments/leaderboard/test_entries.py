"""What kind each policy is, and the papers it is from."""

from __future__ import annotations

import pytest

from ssdgym.experiments.leaderboard.board import CLASSICS, entries_of, is_classic, source_of
from ssdgym.experiments.leaderboard.suites import load_suite
from ssdgym.policy import get_policy
from ssdgym.policy.registry import registered


@pytest.mark.parametrize(
    ("policy", "classic"),
    [
        ("greedy+single", True),
        ("cost_benefit(since_close=1)+sep_gc+threshold(blocks=4)", True),
        ("greedy+sepbit", False),
        ("greedy+sep_gc+idle_predict(blocks=6)", False),
        ("midas", False),
        ("baseline", False),  # greedy+single as a paper erases with it
    ],
)
def test_classic__of_nothing_but_textbook_rules(policy: str, classic: bool) -> None:
    assert is_classic(policy) is classic


@pytest.mark.parametrize("name", sorted(CLASSICS))
def test_classics__exist(name: str) -> None:
    assert registered(name) is not None


def test_source__of_the_rules_that_are_not_classic() -> None:
    assert "SepBIT" not in source_of("greedy+single") and "Desnoyers" in source_of("greedy+single")
    placement = get_policy("greedy+sepbit").placement
    assert placement is not None and source_of("greedy+sepbit") == placement.source
    assert "MiDAS" in source_of("midas")


@pytest.mark.parametrize("name", ["wa", "memory", "latency", "traces", "passes"])
def test_entries__of_the_suites__each_once(name: str) -> None:
    suite = load_suite(name)
    entries = entries_of(suite)
    names = [entry.name for entry in entries]
    assert len(set(names)) == len(names)
    assert {entry.name for entry in entries if entry.kind == "bound"} == set(suite.ceilings)
    assert all(entry.source for entry in entries)
