"""The figures of PEN: what their runs have in common, whatever comes out."""

from __future__ import annotations

import pytest

from ssdgym.experiments.papers.figures import figures, points_of, scale_of
from ssdgym.experiments.papers.samples import Point

FIGURES = {figure.figure: figure for figure in figures("pen")}
HEAVY = ("prn_1", "proj_1", "proj_2", "src1_1", "usr_1", "usr_2")


def points(number: str, scale: str) -> list[Point]:
    return points_of(FIGURES[number], scale_of(FIGURES[number], scale), None)


@pytest.mark.parametrize("scale", ["smoke", "small", "paper"])
def test_block_sizes__capacity_and_the_smallest_part_stay(scale: str) -> None:
    geometries = {point.place.variant: point.run.device.geometry for point in points("4", scale)}
    pages = {name: one.plane_pages for name, one in geometries.items()}
    assert list(pages) == ["72", "144", "288", "576"]
    assert len(set(pages.values())) == 1
    assert {one.partial_sizes[-1] for one in geometries.values()} == {9}


@pytest.mark.parametrize("scale", ["small", "paper"])
def test_capacity_lost__the_logical_space_shrinks_with_the_device(scale: str) -> None:
    devices = {point.place.variant: point.run.device for point in points("15c", scale)}
    whole = devices["0 %"]
    for name, device in devices.items():
        if name == "PEN":
            assert device == whole
            continue
        left = device.geometry.physical_pages / whole.geometry.physical_pages
        assert 100 * (1 - left) == pytest.approx(float(name.split()[0]), abs=0.4)
        assert device.logical_pages / device.geometry.physical_pages == pytest.approx(0.9, abs=0.005)


@pytest.mark.parametrize(("scale", "dies"), [("small", 4), ("paper", 32)])
def test_closed_loops__have_a_request_for_each_die(scale: str, dies: int) -> None:
    for number in ("12b", "search"):
        for point in points(number, scale):
            assert point.run.device.geometry.dies == dies
            assert dict(point.run.ftl)["queue_depth"] == dies


def test_traces__are_heavy_or_light() -> None:
    heavy, light, every = (FIGURES[number].workloads for number in ("3a", "3b", "4"))
    assert heavy == HEAVY == FIGURES["5"].workloads
    assert sorted((*heavy, *light)) == sorted(every)


def test_over_time__sixths_that_follow_each_other() -> None:
    for scale in ("smoke", "small", "paper"):
        runs = [point.run for point in points("15b", scale) if point.place.series == "pen"]
        parts = sorted({(run.warmup, run.host_pages) for run in runs})
        length = parts[0][1]
        assert parts == [(number * length, length) for number in range(6)]


def test_absolute_claims_on_what_is_assumed_are_not_judged() -> None:
    for number in ("3a", "5"):
        for panel in FIGURES[number].panels:
            for claim in panel.claims:
                assert (claim.not_comparable is not None) == (
                    claim.kind == "function" and claim.function == "value"
                )
