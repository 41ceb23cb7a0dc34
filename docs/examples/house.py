"""Draw the layers of ssdgym and the rooms of its engine: `python house.py` writes `house.svg`."""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.patches import Polygon, Rectangle

from ssdgym.experiments.report.style import PALETTE, save_figure, styled

#: The floors from the roof down; each has rooms, with a name and a purpose.
ABOVE = (
    (("bench", "measurements of speed"),),
    (("cli", "the command ssdgym"),),
    (("experiments", "grids, statistics, reports, sweeps"),),
    (("agents", "networks, training, the zoo: the only user of torch"),),
    (("baselines", "victim rules, placements, idle rules, merge rules"),),
    (("envs", "Gymnasium environments, rewards, features"),),
    (("simulator", "devices in Python: build, run, snapshot, metrics"),),
    (("policy", "what a policy is, and all that a rule may use"),),
    (("workloads", "generators, traces, synthetic traces"),),
)
ENGINE = (
    (("stepping", "one step of many devices, shared out to threads"),),
    (("page", "maps pages"), ("subpage", "maps parts of pages"), ("block", "maps blocks")),
    (("entries", "what is called from outside"), ("loop", "without time, and in time")),
    (("rounds", "how GC rounds begin"), ("allocation", "die and plane of a page")),
    (("blocks", "pool, open blocks, index"), ("erase", "legal sets, candidates, features")),
    (
        ("decisions", "who decides"),
        ("observation", "what is seen"),
        ("view", "for rules"),
        ("time", "events"),
    ),
    (("flash", "the only writer of pages"), ("operations", "stubs of the families")),
    (("core", "records, families, the door to numba"), ("compiler", "cache, linking, checks")),
)
BELOW = (
    (("config", "checked models of devices and experiments"),),
    (("requests", ""), ("files", ""), ("errors", ""), ("threads", "")),
)
HIGH, GAP = 0.9, 0.1
WALL, ROOM, INNER, ENGINE_WALL = "#455a64", "#eceff1", "#ffe0b2", "#fff3e0"


def draw_floor(
    axes: Axes, rooms: tuple[tuple[str, str], ...], top: float, left: float, right: float, colour: str
) -> float:
    """Draw rooms of the same width side by side, and return the height of their middle."""
    wide = (right - left - GAP * (len(rooms) - 1)) / len(rooms)
    middle = top - HIGH / 2
    for number, (name, purpose) in enumerate(rooms):
        x = left + number * (wide + GAP)
        axes.add_patch(
            Rectangle((x, top - HIGH), wide, HIGH, facecolor=colour, edgecolor=WALL, linewidth=0.6)
        )
        above = 0.18 if purpose else 0.0
        axes.text(x + wide / 2, middle + above, name, ha="center", va="center", weight="bold", size=9)
        axes.text(x + wide / 2, middle - 0.22, purpose, ha="center", va="center", size=7.5)
    return middle


def draw_way(axes: Axes, text: str, start: float, end: float, wall: float, out: float, colour: str) -> None:
    """Draw an arrow that leaves the house on one floor and enters it again on a lower one."""
    axes.plot([wall, wall + out, wall + out], [start, start, end], color=colour, linewidth=2)
    axes.annotate(
        "", (wall, end), (wall + out, end), arrowprops={"arrowstyle": "->", "color": colour, "lw": 2}
    )
    axes.text(
        wall + 1.6 * out,
        (start + end) / 2,
        text,
        rotation=90,
        ha="center",
        va="center",
        color=colour,
        size=10,
    )


@styled()
def draw_house(axes: Axes) -> None:
    """Draw the floors from the roof to the cellar, and the ways of a write and of an action through them."""
    floor, wide, middles = HIGH + GAP, 12.0, {}
    top = floor * (len(ABOVE) + len(ENGINE) + len(BELOW)) + 0.8
    axes.add_patch(
        Polygon([(-0.4, top), (wide / 2, top + 1.3), (wide + 0.4, top)], facecolor="#cfd8dc", edgecolor=WALL)
    )
    axes.text(wide / 2, top + 0.4, "ssdgym", ha="center", size=13, weight="bold")
    axes.add_patch(Rectangle((0, 0), wide, top, facecolor="white", edgecolor=WALL, linewidth=1.5))
    y = top - GAP
    for rooms in ABOVE:
        middles[rooms[0][0]] = draw_floor(axes, rooms, y, GAP, wide - GAP, ROOM)
        y -= floor
    high = floor * len(ENGINE) + 0.7
    axes.add_patch(
        Rectangle(
            (GAP, y - high + GAP), wide - 2 * GAP, high - GAP, facecolor=ENGINE_WALL, edgecolor=PALETTE[1]
        )
    )
    axes.text(wide / 2, y - 0.3, "engine: compiled", ha="center", va="center", weight="bold", size=9)
    y -= 0.5
    for rooms in ENGINE:
        middles[rooms[0][0]] = draw_floor(axes, rooms, y, 4 * GAP, wide - 4 * GAP, INNER)
        y -= floor
    y -= 2 * GAP
    for rooms in BELOW:
        draw_floor(axes, rooms, y, GAP, wide - GAP, ROOM)
        y -= floor
    draw_way(axes, "a write", middles["simulator"], middles["flash"], 0.0, -0.5, PALETTE[0])
    draw_way(axes, "an action", middles["envs"], middles["stepping"], wide, 0.5, PALETTE[2])
    axes.set(xlim=(-1, wide + 1), ylim=(-0.2, top + 1.5), aspect="equal")
    axes.axis("off")


def main() -> None:
    """Write the picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", default="docs/pictures/house.svg")
    out = Path(parser.parse_args().out)
    figure, axes = plt.subplots(figsize=(7.5, 10), layout="constrained")
    draw_house(axes)
    save_figure(figure, out)
    print(out)


if __name__ == "__main__":
    main()
