"""What the bundled merge rules choose, given the figures of all candidates."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ssdgym.engine.core.records import CASE, PLAN
from ssdgym.policy import available_rules, get_policy

LEVELS = 3


def choice(policy: str, costs: list[int], forbidden: tuple[int, ...] = ()) -> int:
    """Return the candidate a rule takes: Merge, M-Merges at depths 0 to 3, and by Algorithm 1."""
    plans, case = np.zeros(len(costs), PLAN), np.zeros(1, CASE)
    plans["cost_ns"], plans["allowed"] = costs, 1
    plans["allowed"][list(forbidden)] = 0
    case["candidates"], case["levels"] = len(costs), LEVELS
    rule: Any = get_policy(policy).main
    return int(rule.function(plans.view(np.recarray), case.view(np.recarray), rule.values))


def test_bundled_merge_rules__all_with_their_source() -> None:
    rules = {
        name: rule
        for name, rule in available_rules("merge").items()
        if rule.function.__module__.startswith("ssdgym.baselines.")
    }
    assert list(rules) == ["cheapest_plan", "merge", "mmerge", "mmerge_fixed"]
    for rule in rules.values():
        assert rule.source and rule.compiled and rule.function.__doc__


@pytest.mark.parametrize(
    ("policy", "costs", "forbidden", "chosen"),
    [
        ("merge", [100, 1, 1, 1, 1, 1], (), 0),
        ("mmerge", [100, 1, 1, 1, 1, 99], (), 5),
        ("mmerge", [100, 1, 1, 1, 1, 100], (), 0),
        ("mmerge", [100, 1, 1, 1, 1, 2], (5,), 0),
        ("mmerge_fixed", [100, 1, 1, 1, 99, 1], (), 4),
        ("mmerge_fixed", [100, 1, 1, 1, 100, 1], (), 0),
        ("mmerge_fixed", [100, 1, 1, 1, 2, 1], (4,), 0),
        ("mmerge_fixed(depth=1)", [100, 1, 99, 1, 1, 1], (), 2),
        ("mmerge_fixed(depth=6)", [100, 1, 1, 1, 99, 1], (), 4),
        ("cheapest_plan", [100, 90, 80, 70, 60, 60], (), 4),
        ("cheapest_plan", [100, 90, 80, 70, 60, 60], (4, 5), 3),
        ("cheapest_plan", [60, 90, 80, 70, 60, 60], (), 0),
    ],
)
def test_choice(policy: str, costs: list[int], forbidden: tuple[int, ...], chosen: int) -> None:
    assert choice(policy, costs, forbidden) == chosen
