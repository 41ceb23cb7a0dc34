"""Deviations of what a synthetic trace generates from what is published of its trace."""

from __future__ import annotations

import pytest

from ssdgym.workloads.traces.statistics import Deviation


def test_deviation__is_in_percent_of_the_published_value() -> None:
    assert Deviation("writes", generated=102, published=100).percent == pytest.approx(2.0)
    assert Deviation("bytes_read", generated=3.0, published=4.0).as_dict() == {
        "column": "bytes_read",
        "generated": 3.0,
        "published": 4.0,
        "deviation_percent": -25.0,
    }
