"""Draw the standings of a leaderboard as a forest plot: `python standings.py`."""

from __future__ import annotations

import argparse
from pathlib import Path

from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter, ScalarFormatter

from ssdgym.experiments.leaderboard.board import Leaderboard, read_board
from ssdgym.experiments.leaderboard.text import summarized
from ssdgym.experiments.report.style import save_figure, styled

DOCS = Path(__file__).parents[1]
#: Colours of each look: text; marks of learned policies, of heuristics, of bounds.
LOOKS = {
    "light": ("#222222", "#c2410c", "#1d4ed8", "#6b7280"),
    "dark": ("#d8d8d8", "#fb923c", "#7aa2ff", "#9ca3af"),
}


def draw(board: Leaderboard, look: str, path: Path) -> Path:
    """Draw, for each suite, every policy's metric relative to the best fixed pair; return the path.

    Args:
        board: standings of one suite or more.
        look: one of `LOOKS`.
        path: file of the picture.
    """
    ink, learned, heuristic, bound = LOOKS[look]
    suites = [(suite.suite, summarized(suite)) for suite in board.suites]
    heights = [len(rows) + 1.2 for _, rows in suites]
    with styled():
        figure = Figure(figsize=(9, 0.21 * sum(heights) + 0.6), layout="constrained", facecolor="none")
        panels = figure.subplots(
            len(suites), sharex=True, gridspec_kw={"height_ratios": heights}, squeeze=False
        )
        for axes, (name, rows) in zip(panels[:, 0], suites, strict=True):
            for place, row in enumerate(rows):
                color = learned if "learned" in row.kind else bound if row.kind == "bound" else heuristic
                ratio = row.ratio
                axes.plot([ratio.low, ratio.high], [place, place], color=color, linewidth=1.6)
                axes.plot([ratio.value], [place], "o" if color == learned else "s", color=color, markersize=5)
            axes.set_yticks(range(len(rows)), [row.name for row in rows], fontsize=7)
            axes.set_ylim(len(rows) - 0.4, -0.6)
            axes.set_title(name, loc="left", fontsize=9, color=ink, fontweight="bold")
            axes.axvline(1, color=ink, linewidth=0.8)
            axes.set_xscale("log")
            axes.xaxis.set_major_formatter(ScalarFormatter())
            axes.xaxis.set_minor_formatter(NullFormatter())
            axes.set_xticks([0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.2, 1.5, 2])
            axes.set_facecolor("none")
            axes.tick_params(colors=ink)
            for spine in axes.spines.values():
                spine.set_color(ink)
        words = "metric of the suite relative to the best fixed pair: less is better; bars: 95 % intervals"
        figure.supxlabel(f"{words}; circles: learned", color=ink, fontsize=8)
    save_figure(figure, path)
    return path


def main() -> None:
    """Draw both looks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--read", type=Path, default=DOCS / "leaderboard" / "leaderboard.json")
    parser.add_argument("--out", type=Path, default=DOCS / "pictures", help="folder")
    parser.add_argument("--name", default="standings", help="of the pictures; -light and -dark follow it")
    chosen = parser.parse_args()
    for look in LOOKS:
        print(draw(read_board(chosen.read), look, chosen.out / f"{chosen.name}-{look}.svg"))


if __name__ == "__main__":
    main()
