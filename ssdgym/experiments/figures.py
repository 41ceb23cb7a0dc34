"""Figures of results: write amplification with intervals, and latency percentiles.

Drawn without a display, in the colour-blind-safe palette of Okabe and Ito, "Color Universal Design", 2008.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from ssdgym.errors import SsdgymError
from ssdgym.experiments.comparison import (
    WRITE_AMPLIFICATION,
    on_task,
    policies_of,
    summarize,
    tasks_of,
)
from ssdgym.experiments.results import Result
from ssdgym.files import write_atomically

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999933")
MARKERS = "osD^vPX*"
HATCH = "//"
PERCENTILES = ("p50", "p95", "p99", "p99.9", "p99.99", "max")


def write_amplification_figure(results: Sequence[Result], path: Path, learned: Sequence[str] = ()) -> Path:
    """Bars of write amplification per workload and policy, with 95 % intervals; learned ones are hatched.

    Returns:
        ``path``, a PNG written whole or not at all.

    Raises:
        SsdgymError: there are no results, or the file cannot be written.
    """
    tasks, policies = _contents(results)
    figure = Figure(figsize=(max(6.4, 1.2 + 0.32 * len(tasks) * (len(policies) + 1)), 4.2))
    axes = figure.add_subplot()
    width = 1.0 / (len(policies) + 1)
    for index, policy in enumerate(policies):
        estimates = [summarize(on_task(results, task), policy, WRITE_AMPLIFICATION) for task in tasks]
        values = np.array([estimate.value for estimate in estimates])
        spread = np.array([[e.value - e.low, e.high - e.value] for e in estimates]).T
        axes.bar(
            np.arange(len(tasks)) + (index - (len(policies) - 1) / 2) * width,
            values,
            width,
            # Without an interval (a single seed) there is no bar to draw. Rounding may leave -1e-16.
            yerr=None if np.isnan(spread).any() else np.maximum(spread, 0.0),
            capsize=2,
            color=PALETTE[index % len(PALETTE)],
            hatch=HATCH if policy in learned else None,
            edgecolor="white",
            ecolor="black",
            label=policy,
        )
    axes.axhline(1.0, color="black", linewidth=0.8, linestyle=":")
    axes.set_xticks(np.arange(len(tasks)), [_task_label(task, tasks) for task in tasks])
    axes.set_ylabel("write amplification (flash pages / host pages)")
    axes.set_title("Write amplification: interquartile mean over seeds, 95 % interval", fontsize=10)
    axes.legend(fontsize=8, ncols=min(len(policies), 4), loc="upper center", bbox_to_anchor=(0.5, -0.12))
    return _save(figure, path)


def latency_figure(
    results: Sequence[Result], path: Path, operation: str = "write", learned: Sequence[str] = ()
) -> Path:
    """Latency percentiles per policy, one panel per workload, on a logarithmic axis.

    Args:
        operation: ``read`` or ``write``.
        learned: policies drawn with a heavier line.

    Raises:
        SsdgymError: no result has latencies of that operation, or the file cannot be written.
    """
    tasks, policies = _contents(results)
    if not any(result.measured(f"{operation}_latency_ns/p50") for result in results):
        raise SsdgymError(f"{path}: no result has {operation} latencies, run with event-driven timing")
    figure = Figure(figsize=(max(6.4, 4.0 * len(tasks)), 4.2))
    panels = figure.subplots(1, len(tasks), sharey=True, squeeze=False)[0]
    for axes, task in zip(panels, tasks, strict=True):
        for index, policy in enumerate(policies):
            _latency_curve(axes, on_task(results, task), operation, policy, index, policy in learned)
        axes.set_yscale("log")
        axes.set_title(_task_label(task, tasks), fontsize=10)
        axes.set_xticks(range(len(PERCENTILES)), PERCENTILES)
        axes.set_xlabel("percentile of requests")
        axes.grid(axis="y", alpha=0.3)
    panels[0].set_ylabel(f"{operation} latency (µs)")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, fontsize=8, ncols=min(len(policies), 7), loc="outside lower center")
    return _save(figure, path)


def _latency_curve(
    axes: Axes, results: Sequence[Result], operation: str, policy: str, index: int, heavy: bool
) -> None:
    names = [f"{operation}_latency_ns/{percentile}" for percentile in PERCENTILES]
    mine = [result for result in results if result.policy == policy]
    present = [
        position for position, name in enumerate(names) if mine and all(r.measured(name) for r in mine)
    ]
    values = [summarize(mine, policy, names[position]).value / 1_000 for position in present]
    axes.plot(
        present,
        values,
        color=PALETTE[index % len(PALETTE)],
        marker=MARKERS[index % len(MARKERS)],
        markersize=4,
        linewidth=2.5 if heavy else 1.2,
        label=policy,
    )


def _contents(results: Sequence[Result]) -> tuple[list[tuple[str, str, str]], list[str]]:
    if not results:
        raise SsdgymError("a figure needs at least one result, and there are none")
    return tasks_of(results), policies_of(results)


def _task_label(task: tuple[str, str, str], tasks: Sequence[tuple[str, str, str]]) -> str:
    """The workload, and the device beneath it where there are several."""
    device, _, workload = task
    return workload if len({other[0] for other in tasks}) == 1 else f"{workload}\n{device}"


def _save(figure: Figure, path: Path) -> Path:
    figure.set_layout_engine("constrained")
    canvas = FigureCanvasAgg(figure)
    write_atomically(path, lambda file: canvas.print_figure(file, format="png", dpi=150))
    return path
