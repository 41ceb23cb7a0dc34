"""Kinds of claims: what each refuses, how it judges what was measured, and how it reads."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, get_args

import numpy as np
import pytest

from ssdgym.experiments.papers.claims import Verdict
from ssdgym.experiments.papers.config import AnyClaim
from ssdgym.experiments.papers.functions import FUNCTIONS
from ssdgym.experiments.papers.samples import Column, Compared
from ssdgym.experiments.statistics import Estimate
from tests.experiments.papers.claimed import VALUES, VARIANTS, claim, figure


@dataclass(frozen=True)
class Told(Compared):
    """Comparisons on two workloads whose statistics are told, in the order in which they are asked for."""

    told: Iterator[Estimate] = field(default_factory=lambda: iter(()))

    def estimate(self, statistic: Any) -> Estimate:
        return next(self.told)

    def carrier(self, side: float) -> str:
        return ""


def judge(fields: dict[str, Any], *measured: tuple[float, float, float]) -> Verdict:
    varied = VARIANTS if "trend" in fields.values() or "share" in fields.values() else {}
    (one,) = figure(fields, **varied).panels[0].claims
    told = (Estimate(*numbers) for numbers in measured)
    columns = tuple(Column({}, workload) for workload in "ab")
    found = one.find(Told(np.full((2, 2), -0.5), columns, exact=True, told=told))
    assert found is not None
    return found.verdict


def test_every_kind_is_tried_here() -> None:
    kinds = {
        kind.model_json_schema()["properties"]["kind"]["const"] for kind in get_args(get_args(AnyClaim)[0])
    }
    assert kinds == {claim(name)["kind"] for name in VALUES}
    assert set(FUNCTIONS) <= set(VALUES)


@pytest.mark.parametrize(
    ("change", "measured", "expected"),
    [
        (-0.5, (-0.4, -0.45, -0.35), "holds within a factor two"),
        (-0.5, (-0.25, -0.3, -0.2), "holds within a factor two"),
        (-0.5, (-0.24, -0.3, -0.2), "direction holds"),
        (-0.5, (-0.05, -0.06, -0.04), "direction holds"),
        (-0.5, (-0.049, -0.06, -0.04), "negligible"),
        (-0.3, (-0.7, -0.8, -0.6), "direction holds"),
        (-0.5, (-0.4, -0.9, 0.1), "does not hold"),
        (-0.5, (0.4, 0.3, 0.5), "does not hold"),
        (0.2, (0.3, 0.2, 0.4), "holds within a factor two"),
        (0.2, (0.3, np.nan, np.nan), "holds within a factor two"),
    ],
)
def test_a_change_holds_by_direction_and_by_magnitude(
    change: float, measured: tuple[float, float, float], expected: Verdict
) -> None:
    assert judge(claim("change", change=change), measured) == expected


@pytest.mark.parametrize(
    ("limit", "measured", "expected"),
    [
        (-0.8, (-0.85, -0.9, -0.81), "holds"),
        (-0.8, (-0.85, -0.9, -0.79), "direction holds, limit missed"),
        (-0.8, (-0.1, -0.2, 0.01), "does not hold"),
        (0.2, (0.1, 0.05, 0.15), "holds"),
        (0.2, (0.3, 0.25, 0.35), "direction holds, limit missed"),
    ],
)
def test_a_limit_holds_only_if_the_whole_interval_keeps_it(
    limit: float, measured: tuple[float, float, float], expected: Verdict
) -> None:
    assert judge(claim("limit", limit=limit), measured) == expected


def test_no_change_holds_within_its_width() -> None:
    assert judge(claim("unchanged"), (0.01, 0.0, 0.015)) == "holds"
    assert judge(claim("unchanged"), (0.01, 0.0, 0.03)) == "does not hold"


def test_a_direction_holds_if_the_interval_is_on_its_side() -> None:
    assert judge(claim("direction"), (-0.1, -0.2, -0.05)) == "direction holds"
    assert judge(claim("direction"), (-0.1, -0.2, 0.05)) == "does not hold"
    assert judge(claim("direction", direction="rises"), (-0.1, -0.2, -0.05)) == "does not hold"


def test_a_range_holds_if_both_ends_keep_within_it() -> None:
    assert judge(claim("between"), (-0.7, -0.75, -0.6), (-0.5, -0.6, -0.45)) == "holds"
    assert judge(claim("between"), (-0.7, -0.85, -0.6), (-0.5, -0.6, -0.45)) == "does not hold"
    assert judge(claim("between"), (-0.7, -0.75, -0.6), (-0.5, -0.6, -0.35)) == "does not hold"


@pytest.mark.parametrize(
    ("value", "expected"),
    [(1.02, "holds within a factor two"), (1.03, "does not hold"), (1.004, "does not hold")],
)
def test_a_value_is_compared_by_what_it_has_beyond_its_least(value: float, expected: Verdict) -> None:
    assert judge(claim("value", claimed=1.01, beyond=1), (value - 1e-9, np.nan, np.nan)) == expected
    assert judge(claim("value", claimed=1.01), (value, np.nan, np.nan)) == "holds within a factor two"


@pytest.mark.parametrize(
    ("value", "measured", "expected"),
    [
        (0.0, (0.0, 0.0, 0.0), "holds"),
        (2.0, (1.5, 1.0, 2.0), "holds"),
        (2.0, (1.5, 1.0, 2.5), "does not hold"),
    ],
)
def test_a_bound_holds_if_the_whole_interval_keeps_it(
    value: float, measured: tuple[float, float, float], expected: Verdict
) -> None:
    assert judge(claim("at_most", claimed=value), measured) == expected


@pytest.mark.parametrize(
    ("fields", "measured", "expected"),
    [
        ({}, (0.3, 0.1, 0.6), "holds within a factor two"),
        ({}, (0.2, 0.1, 0.6), "does not hold"),
        ({"within": 0.1}, (0.45, 0.42, 0.5), "holds"),
        ({"within": 0.1}, (0.45, 0.35, 0.5), "does not hold"),
        ({"within": 0.1}, (0.65, np.nan, np.nan), "does not hold"),
    ],
)
def test_a_share_holds_within_a_factor_two_or_a_width(
    fields: dict[str, Any], measured: tuple[float, float, float], expected: Verdict
) -> None:
    assert judge(claim("share", **fields), measured) == expected


def test_an_extreme_and_a_resemblance_hold_if_the_interval_does_not_reach_zero() -> None:
    for fields in (claim("extreme"), claim("resembles")):
        assert judge(fields, (-0.1, -0.2, -0.05)) == "holds"
        assert judge(fields, (-0.1, -0.2, 0.0)) == "does not hold"
    assert judge(claim("extreme", which="highest"), (0.1, 0.05, 0.2)) == "holds"
    assert judge(claim("extreme", which="highest"), (-0.1, -0.2, -0.05)) == "does not hold"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (claim("change", series="huge"), "claims.0.series 'huge', which is no device of it"),
        (claim("change", against="huge"), "claims.0.against 'huge', which is no device of it"),
        (claim("change", workloads=("c",)), "claims.0.workloads 'c', which is no workload of it"),
        (claim("change", variants=("c",)), "claims.0.variants 'c', which is no variant of it"),
        (claim("change", change=0), "claims a change of 0; give within"),
        (claim("limit", limit=0), "claims a limit of 0; give within"),
        (claim("change", limit=0.5), "give one of them"),
        (claim("between", low=0.5), "give low below high"),
        (claim("value", beyond=200), "give beyond below claimed"),
        (claim("value", least=200), "field least is unknown"),
        ({**claim("value"), "arguments": {"least": 2}}, "calls value: missing a required argument"),
        ({**claim("value"), "function": "mode"}, "has no function 'mode'; choose one of value, at_most"),
        (claim("change", against=()), "claims a change against nothing"),
        (claim("trend", against=("small", "big"), variants=()), "needs at least two variants"),
        (claim("trend"), "needs at least two variants"),
        (claim("share"), "claims.0.variants '4', which is no variant of it"),
        (claim("trend", against="huge"), "claims.0.against 'huge', which is no device of it"),
        (claim("extreme", workloads=("a", "b")), "an extreme in panels.0.claims.0 of all its workloads"),
        (claim("extreme", workloads=()), "an extreme in panels.0.claims.0 of all its workloads"),
    ],
)
def test_a_claim_that_cannot_be_checked_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        figure(fields)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"panels": ({"metric": "x", "unit": "1", "normalise_to": "huge"},)}, "is normalised to 'huge'"),
        ({"panels": ({"metric": "x", "unit": "1"},) * 2}, "two panels the same name"),
        ({"panels": ({"metric": "x"},)}, "has neither unit nor normalise_to"),
        (
            {"panels": ({"metric": "x", "unit": "1", "normalise_to": "big", "normalise_at": "c"},)},
            "normalise_at 'c', which is no variant",
        ),
        ({"panels": ({"metric": "x", "unit": "1", "normalise_at": "c"},)}, "without normalise_to"),
        ({"workloads_from": "configs", "fit": "address_space"}, "its workloads are generated; leave fit out"),
        ({"ftls": {"fgm": {}}}, "needs ftls where series is ftl, and nowhere else"),
        ({"series": "ftl"}, "needs ftls where series is ftl, and nowhere else"),
        ({"series": "ftl", "ftls": {"big": {}}}, "takes one device for all of them"),
        ({"workloads_from": "configs"}, "needs scales.smoke.lengths of 'a', which never ends"),
        ({"over_provisioning": {"c": 1.0}}, "over_provisioning 'c'"),
        ({"scales": {"smoke": {"seeds": 1, "workloads": ("c",)}}}, "scales.smoke.workloads"),
        ({"scales": {"smoke": {"seeds": 1, "devices": {"c": "small"}}}}, "scales.smoke.devices 'c'"),
        ({"also_at": ("c",)}, "also_at 'c', which is no variant of it"),
        ({"axis": "x", "variants": {"c": {}}, "also_at": ("c",)}, "all of its variants; leave some"),
    ],
)
def test_a_figure_that_contradicts_itself_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        figure(**fields)
