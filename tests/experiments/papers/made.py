"""A small figure on a trace that is made up, and its results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ssdgym.experiments.papers.config import FigureConfig, ScaleConfig
from ssdgym.experiments.papers.figures import points_of
from ssdgym.experiments.papers.samples import Sample
from ssdgym.experiments.runs.evaluate import run_all
from ssdgym.experiments.runs.spec import RunSpec

SMALL = ScaleConfig(seeds=2)
PAGES = [*range(800), *[page for _ in range(3) for page in range(0, 800, 3)]]


def tiny_figure(**fields: Any) -> FigureConfig:
    """A figure of two policies on a trace called `made`."""
    return FigureConfig(
        **{
            "paper": "a paper",
            "figure": "7",
            "title": "Pages relocated",
            "devices": ("tiny",),
            "policies": ("greedy", "fifo"),
            "workloads": ("made",),
            "preconditioning": "repeat",
            "series": "policy",
            "panels": (
                {
                    "metric": "write_amplification",
                    "unit": "1",
                    "normalise_to": "fifo",
                    "claims": (
                        {
                            "kind": "change",
                            "said": "greedy writes less",
                            "source": "section 1",
                            "series": "greedy",
                            "against": "fifo",
                            "change": -0.1,
                        },
                    ),
                },
            ),
            "departures": ("the trace is made up",),
            "scales": {"smoke": {"seeds": 2}},
            **fields,
        }
    )


def runs_of(figure: FigureConfig, scale: ScaleConfig, traces: Path | None) -> list[RunSpec]:
    return [point.run for point in points_of(figure, scale, traces)]


def measured(figure: FigureConfig, scale: ScaleConfig, traces: Path) -> list[Sample]:
    points = points_of(figure, scale, traces)
    results = run_all([point.run for point in points], workers=1)
    return [point.with_result(result) for point, result in zip(points, results, strict=True)]
