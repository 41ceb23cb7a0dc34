"""Every figure of every paper names devices, FTLs and policies that go together, at each of its scales."""

from __future__ import annotations

import pytest

from ssdgym.experiments.papers.figures import figures, points_of, scale_of
from ssdgym.experiments.runs.evaluate import check_runs

PAPERS = ("speedupgc", "ippbe", "block-size", "subftl", "pen")


@pytest.mark.parametrize("scale", ["smoke", "small", "paper"])
@pytest.mark.parametrize("paper", PAPERS)
def test_runs__of_all_figures__could_be_run(paper: str, scale: str) -> None:
    runs = {}
    for figure in figures(paper, None):
        for point in points_of(figure, scale_of(figure, scale), None, "end_to_end"):
            runs.setdefault((repr(point.run.device), repr(point.run.ftl), point.run.policy), point.run)
    assert len(runs) > 5
    check_runs(list(runs.values()))
