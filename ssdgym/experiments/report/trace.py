"""A figure of a trace: times and addresses, request sizes, gaps between arrivals, and skew of writes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, LogNorm, to_rgba
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import EngFormatter, NullFormatter, PercentFormatter

from ssdgym.experiments.report.style import PALETTE, save_figure
from ssdgym.requests import READ, WRITE
from ssdgym.types import FloatArray
from ssdgym.workloads.traces.distributions import Distribution
from ssdgym.workloads.traces.record import RecordSource, volume_pages, volume_starts
from ssdgym.workloads.traces.replay import Arrivals
from ssdgym.workloads.traces.statistics import UNIT_BYTES, RecordSummary

OPERATIONS = {READ: ("reads", PALETTE[0]), WRITE: ("writes", PALETTE[1])}
_TIME_BINS, _ADDRESS_BINS = 240, 160
_CURVE_POINTS = 2_000


def trace_figure(summary: RecordSummary, source: RecordSource, title: str, path: Path) -> Path:
    """Draw four panels: requests over time and address, their sizes, gaps between arrivals, write skew."""
    figure = Figure(figsize=(10.0, 7.2))
    panels = figure.subplots(2, 2)
    _draw_addresses(panels[0, 0], summary, source)
    _draw_sizes(panels[0, 1], summary)
    _draw_gaps(panels[1, 0], summary)
    _draw_skew(panels[1, 1], summary)
    figure.suptitle(title, fontsize=10)
    figure.set_layout_engine("constrained")
    return save_figure(figure, path)


def _draw_addresses(axes: Axes, summary: RecordSummary, source: RecordSource) -> None:
    last_page = volume_pages(source.volumes, UNIT_BYTES)
    in_time = summary.duration_ns > 0
    width = summary.duration_ns / 1e9 if in_time else float(summary.requests)
    height_gib = max(last_page, 1) * UNIT_BYTES / 2**30
    maps = _address_maps(source, width, height_gib, in_time)
    for op, (name, color) in OPERATIONS.items():
        if maps[op].any():
            shades = LinearSegmentedColormap.from_list(name, [to_rgba(color, 0.25), to_rgba(color)])
            axes.imshow(
                np.ma.masked_equal(maps[op].T, 0),
                cmap=shades,
                norm=LogNorm(1, max(maps[op].max(), 2)),
                extent=(0, width, 0, height_gib),
                origin="lower",
                aspect="auto",
                interpolation="none",
            )
    handles = [Line2D([], [], color=color, marker="s", linestyle="") for _, color in OPERATIONS.values()]
    axes.legend(handles, [name for name, _ in OPERATIONS.values()], fontsize=8, loc="upper right")
    axes.set_xlabel("time (s)" if in_time else "request number (all arrive at the same time)")
    layout = "over each other" if source.volumes.overlay else "one after the other"
    axes.set_ylabel(f"address, volumes {layout} (GiB)")
    axes.set_title("Requests over time and address (darker: more)", fontsize=10)


def _address_maps(
    source: RecordSource, width: float, height_gib: float, in_time: bool
) -> dict[int, FloatArray]:
    """Count requests of each operation per bin of time in s (or request number) and of address in GiB."""
    starts = volume_starts(source.volumes, UNIT_BYTES).astype(np.float64) * UNIT_BYTES
    maps = {op: np.zeros((_TIME_BINS, _ADDRESS_BINS)) for op in OPERATIONS}
    arrivals, first_ns, requests = Arrivals(), None, 0
    while len(records := source.chunk()):
        arrival_ns = arrivals(records["time_ns"])
        first_ns = int(arrival_ns[0]) if first_ns is None else first_ns
        number = np.arange(requests, requests + len(records))
        requests += len(records)
        x = (arrival_ns - first_ns) / 1e9 if in_time else number
        y = (starts[records["volume"]] + records["offset_bytes"]) / 2**30
        for op, counts in maps.items():
            mine = records["op"] == op
            counts += np.histogram2d(
                x[mine], y[mine], bins=counts.shape, range=((0, width), (0, height_gib))
            )[0]
    return maps


def _draw_sizes(axes: Axes, summary: RecordSummary) -> None:
    for sizes, (name, color) in zip(
        (summary.read_sizes, summary.write_sizes), OPERATIONS.values(), strict=True
    ):
        if sizes.total:
            _draw_shares(axes, sizes, name, color)
            axes.legend(fontsize=8, loc="lower right")
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter(lambda size, position: f"{size / 1024:g}")
    axes.set_xlabel("request size (KiB)")
    axes.set_ylabel("requests of at most this size")
    axes.set_title("Request sizes", fontsize=10)


def _draw_gaps(axes: Axes, summary: RecordSummary) -> None:
    axes.set_xlabel("time from one request to the next")
    axes.set_ylabel("gaps of at most this length")
    axes.set_title("Times between arrivals; those of 0 lie left of the axis", fontsize=10)
    if not summary.max_gap_ns:
        _write_text(axes, "all requests arrive at the same time")
        return
    gaps = summary.gaps
    _draw_shares(axes, Distribution(gaps.values, gaps.counts), None, PALETTE[2], scale=1e-9)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(EngFormatter("s"))
    axes.xaxis.set_minor_formatter(NullFormatter())


def _draw_shares(axes: Axes, seen: Distribution, label: str | None, color: str, scale: float = 1.0) -> None:
    """Draw the cumulative share of values; values of 0 lie left of a logarithmic axis."""
    shares = np.cumsum(seen.counts) / seen.total
    positive = seen.values > 0
    zeros = 0.0 if positive[0] else shares[0]
    x = seen.values[positive] * scale
    axes.step(np.append(x[:1], x), np.append(zeros, shares[positive]), where="post", color=color, label=label)
    axes.set_ylim(0, 1.02)
    axes.yaxis.set_major_formatter(PercentFormatter(1))
    axes.grid(alpha=0.3)


def _draw_skew(axes: Axes, summary: RecordSummary) -> None:
    axes.set_xlabel("written pages of 4 KiB, most written first")
    axes.set_ylabel("page writes that go to them")
    axes.set_title("Skew of writes", fontsize=10)
    if not len(summary.skew.writes):
        _write_text(axes, "nothing is written")
        return
    pages, writes = summary.skew.curve()
    points = np.unique(np.linspace(0, len(pages) - 1, min(len(pages), _CURVE_POINTS)).astype(np.int64))
    axes.plot(pages[points], writes[points], color=PALETTE[1])
    axes.plot([0, 1], [0, 1], color="black", linewidth=0.8, linestyle=":")
    axes.xaxis.set_major_formatter(PercentFormatter(1))
    axes.yaxis.set_major_formatter(PercentFormatter(1))
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1.02)
    axes.grid(alpha=0.3)


def _write_text(axes: Axes, text: str) -> None:
    axes.text(0.5, 0.5, text, ha="center", va="center", transform=axes.transAxes, fontsize=9)
