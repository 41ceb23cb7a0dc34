"""Draw the picture of the README, the first part of `ssdgym demo`, for light and for dark pages.

`python demo_picture.py` takes some seconds, and writes `demo-light.svg` and `demo-dark.svg`.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib
from matplotlib.figure import Figure

from ssdgym.cli.demo import PHASES, WINDOW, WINDOWS, watch
from ssdgym.experiments.report.style import save_figure, styled

#: Colours of text and axes, and of the curves in the order of `WATCHED`.
LOOKS = {
    "light": ("#1f2328", ("#8c959f", "#CC79A7", "#0072B2", "#D55E00")),
    "dark": ("#e6edf3", ("#8c959f", "#CC79A7", "#56B4E9", "#E69F00")),
}


def draw(curves: dict[str, list[float]], look: str, path: Path) -> Path:
    """Draw the curves on a transparent background; return the path.

    Args:
        curves: write amplification of each window of host pages, by name of the policy.
        look: one of `LOOKS`.
        path: file of the picture.
    """
    ink, colours = LOOKS[look]
    names = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color")
    with styled(), matplotlib.rc_context(dict.fromkeys(names, ink)):
        figure = Figure(figsize=(8, 3.2), layout="constrained", facecolor="none")
        axes = figure.add_subplot(facecolor="none")
        for (name, curve), colour in zip(curves.items(), colours, strict=True):
            at = [WINDOW * number for number in range(1, len(curve) + 1)]
            axes.plot(at, curve, color=colour, label=name, linewidth=2.4 if name == "td_lifetime" else 1.4)
        change = at[-1] / 2
        axes.axvline(change, color=ink, linewidth=0.8, linestyle=":")
        top = axes.get_ylim()[1]
        axes.text(change * 0.99, top, PHASES[0], ha="right", va="top")
        axes.text(change * 1.01, top, PHASES[1], ha="left", va="top")
        axes.xaxis.set_major_formatter("{x:,.0f}")
        axes.set(xlabel="host pages written", ylabel="write amplification", xlim=(0, 2 * change))
        figure.legend(frameon=False, loc="outside upper center", ncols=len(curves))
        return save_figure(figure, path)


def main() -> None:
    """Run the devices and draw both pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--windows", type=int, default=WINDOWS, help="of each workload")
    parser.add_argument("--seed", type=int, default=50_000)
    parser.add_argument("--out", type=Path, default=Path())
    chosen = parser.parse_args()
    curves = watch(chosen.windows, chosen.seed)
    for look in LOOKS:
        print(draw(curves, look, chosen.out / f"demo-{look}.svg"))


if __name__ == "__main__":
    main()
