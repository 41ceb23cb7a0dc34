"""What kind each policy is."""

from __future__ import annotations

import pytest

from ssdgym.experiments.leaderboard.board import CLASSICS, entries_of, named_policy
from ssdgym.experiments.leaderboard.suites import load_suite
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
    assert (named_policy(policy).kind == "classic") is classic


@pytest.mark.parametrize("name", sorted(CLASSICS))
def test_classics__exist(name: str) -> None:
    assert registered(name) is not None


@pytest.mark.parametrize("name", ["wa", "memory", "latency", "traces", "passes"])
def test_entries__of_the_suites__each_once(name: str) -> None:
    suite = load_suite(name)
    entries = entries_of(suite)
    names = [entry.name for entry in entries]
    assert len(set(names)) == len(names)
    assert {entry.name for entry in entries if entry.kind == "bound"} == set(suite.ceilings)
