"""Claims on which no verdict is given, whatever was measured, and why."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ssdgym.experiments.papers.checks import check_claims
from ssdgym.experiments.papers.report import claim_lines
from ssdgym.experiments.papers.samples import Sample
from tests.experiments.papers.claimed import MEASURED, claim, figure

ASSUMED = [replace(sample, result=replace(sample.result, assumed="extent_bytes")) for sample in MEASURED]


def verdict(samples: list[Sample], scale: str, **reason: Any) -> str:
    one = figure(claim("value", not_comparable={"why": "nobody knows", **reason}))
    (checked,) = check_claims(one, one.panels[0], samples, scale)
    return checked.verdict


def test_the_reason_stands_beside_what_was_measured() -> None:
    one = figure(claim("value", not_comparable={"why": "nobody knows"}))
    (checked,) = check_claims(one, one.panels[0], MEASURED)
    assert checked.measured[0].value == pytest.approx((75 + 200) / 2)
    assert checked.as_dict()["verdict"] == "not comparable"
    assert checked.as_dict()["not_comparable"]["why"] == "nobody knows"
    (line,) = claim_lines("1", [checked])
    assert line.endswith(" times the paper's | not comparable: nobody knows")


def test_it_may_hold_for_some_scales_only() -> None:
    assert verdict(MEASURED, "small", scales=["smoke", "small"]) == "not comparable"
    assert verdict(MEASURED, "paper", scales=["smoke", "small"]) == "holds within a factor two"


def test_it_may_hold_for_synthetic_traces_only() -> None:
    assert verdict(ASSUMED, "paper", played="synthetic") == "not comparable"
    assert verdict(MEASURED, "paper", played="synthetic") == "holds within a factor two"


def test_what_was_not_measured_is_not_called_incomparable() -> None:
    assert verdict([], "paper") == "not measured"
