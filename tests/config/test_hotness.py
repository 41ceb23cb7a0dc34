"""The table of hotness: how long its rows are, when they are halved, and what is counted."""

from __future__ import annotations

import pytest

from ssdgym.config.device import load_device, with_ftl
from ssdgym.config.gc import HotnessConfig


def test_rows__without_fields__are_what_they_have_been() -> None:
    hotness = HotnessConfig()
    assert (hotness.counters_of(10**9), hotness.period_of(10**9)) == (65536, 65536)
    assert (hotness.counts, hotness.scatter) == ("writes", "page")
    assert (hotness.counts.code, hotness.scatter.code) == (0, 0)


@pytest.mark.parametrize(("logical_pages", "counters"), [(1, 1), (60, 1), (61, 2), (6000, 100)])
def test_rows__in_proportion__have_a_counter_for_so_many_logical_pages(
    logical_pages: int, counters: int
) -> None:
    hotness = HotnessConfig(pages_per_counter=60)
    assert hotness.counters_of(logical_pages) == hotness.period_of(logical_pages) == counters


def test_rows__in_proportion_with_a_period__keep_the_period() -> None:
    hotness = HotnessConfig(pages_per_counter=60, decay_period=7)
    assert (hotness.counters_of(120), hotness.period_of(120)) == (2, 7)


def test_rows__given_both_ways__are_refused() -> None:
    with pytest.raises(ValueError, match="gives both counters and pages_per_counter; leave one of them out"):
        HotnessConfig(counters=512, pages_per_counter=60)


def test_rows__changed_the_other_way__forget_the_first() -> None:
    fixed = load_device({"base": "demo", "ftl.hotness.counters": 512})
    scaled = with_ftl(fixed, {"hotness.pages_per_counter": 60})
    assert scaled.ftl.hotness == HotnessConfig(pages_per_counter=60)
    assert with_ftl(scaled, {"hotness.counters": 9}).ftl.hotness == HotnessConfig(counters=9)


def test_rows__written_out_with_every_field__are_read_again() -> None:
    device = load_device({"base": "demo", "ftl.hotness.pages_per_counter": 60})
    assert load_device(device.model_dump(mode="json")) == device
