"""Experiments in which nothing is to be found: no claim of an effect may hold in them."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from ssdgym.experiments.papers.checks import CheckedClaim
from ssdgym.experiments.papers.samples import Sample
from tests.experiments.papers.claimed import VARIANTS, check, claim, samples

DRAWS = 200
WORKLOADS = tuple("abcdefgh")
STATISTICS = ("mean", "median", "each", "maximum", "minimum")
#: What two policies that do the same differ by, in the engine, where they break ties by other rules.
TIES = 0.003


def alike(
    rng: np.random.Generator, noise: float, seeds: int = 3, variants: tuple[str, ...] = ("",)
) -> list[Sample]:
    """Two policies that do the same, on eight traces of different size."""
    sizes = dict(zip(WORKLOADS, 10_000 * 2.0 ** np.arange(8), strict=True))
    return samples(
        {
            (name, workload, variant): list(sizes[workload] * (1 + noise * rng.standard_normal(seeds)))
            for name in ("small", "big")
            for workload in WORKLOADS
            for variant in variants
        }
    )


def verdicts(one: dict[str, Any], noise: float, **fields: Any) -> Counter[str]:
    rng, found = np.random.default_rng(1), Counter[str]()
    variants = tuple(fields.get("variants", ("",)))
    for _ in range(DRAWS):
        (checked,) = check(alike(rng, noise, variants=variants), one, workloads=WORKLOADS, **fields)
        found[checked.verdict] += 1
    return found


def holding(found: Counter[str]) -> int:
    return sum(count for verdict, count in found.items() if verdict.startswith(("holds", "direction")))


@pytest.mark.parametrize("statistic", STATISTICS)
def test_a_direction_never_holds(statistic: str) -> None:
    assert holding(verdicts(claim("direction", statistic=statistic), TIES)) == 0


@pytest.mark.parametrize("statistic", STATISTICS)
def test_a_change_never_holds(statistic: str) -> None:
    assert holding(verdicts(claim("change", change=-0.47, statistic=statistic), TIES)) == 0


@pytest.mark.parametrize("kind", ["share", "trend", "limit", "extreme"])
def test_other_claims_of_a_difference_never_hold(kind: str) -> None:
    variants = VARIANTS if kind in ("share", "trend") else {}
    assert holding(verdicts(claim(kind), TIES, **variants)) == 0


def test_the_largest_change_rarely_holds_where_noise_is_larger_than_what_is_claimed() -> None:
    """The best of eight, tested on the numbers that it was chosen by, would hold in nearly all of them."""
    assert holding(verdicts(claim("change", change=-0.05, statistic="maximum"), 0.05)) <= 0.05 * DRAWS
    assert holding(verdicts(claim("direction", statistic="maximum"), 0.05)) <= 0.05 * DRAWS


def test_on_one_trace_chance_is_as_rare() -> None:
    """Of three seeds all have the same sign by chance in one case of four."""
    assert holding(verdicts(claim("direction", workloads=("a",)), 0.05)) <= 0.05 * DRAWS


@pytest.mark.parametrize("statistic", STATISTICS)
def test_one_seed_has_no_verdict(statistic: str) -> None:
    def of(seeds: int) -> CheckedClaim:
        rng = np.random.default_rng(1)
        fields = claim("direction", statistic=statistic)
        return check(alike(rng, TIES, seeds), fields, workloads=WORKLOADS)[0]

    assert of(1).verdict == "one seed: no verdict"
    assert of(1).measured_text.endswith(" (no interval)")
    picks = statistic in ("maximum", "minimum")
    assert (of(2).verdict == "too few seeds: no verdict") == picks
