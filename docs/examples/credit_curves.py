"""Train DQN and PPO with credit for each page on several seeds, and draw the learning curves.

`python credit_curves.py` draws the results in `docs/pictures/credit.tsv`, as `make figures` does. With
`--train 5` it first adds missing results: five trainings of each algorithm, and measurements of placements.
"""

from __future__ import annotations

import argparse
import csv
import itertools
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import credit_per_page
import matplotlib
import numpy as np
import ppo_credit
import torch
from learning_curves import interval
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ssdgym.experiments.report.style import save_figure, styled

DOCS = Path(__file__).resolve().parents[1]
FILE, TABLE = DOCS / "pictures" / "credit.tsv", DOCS / "tables" / "reach-credit.csv"
METHODS = {"DQN": credit_per_page, "PPO": ppo_credit}
#: The workloads, and for each the price measured with `sep_gc`.
PRICES = {"hot90": 10.0, "zipf80": 15.0}
#: Colours of text, of lines, and of the methods.
LOOKS = {
    "light": ("#1f2328", "#6e7781", ("#0072B2", "#D55E00")),
    "dark": ("#e6edf3", "#9198a1", ("#56B4E9", "#E69F00")),
}
#: Labels in the table that differ from the name; `{}` is the number of trainings.
LABELS = {
    "random": "a stream at random",
    "DQN": "**DQN with credit**, {} seeds",
    "PPO": "**PPO with credit**, {} seeds",
}
#: Number of streams of placements that do not have six.
STREAMS = {"sep_gc": "2", "td_lifetime": "8"}
#: A number of decisions, and the write amplification after this number of decisions.
Point = tuple[int, float]
#: Policies that are drawn as lines.
LINES = ("random", "sep_gc", "sepbit", "fadac(inclusive=1)", "td_lifetime")


class Row(NamedTuple):
    """A point of a learning curve; with 0 decisions, a result on test seeds, of a training or placement."""

    workload: str
    name: str
    seed: int
    decisions: int
    write_amplification: float


def read(path: Path) -> list[Row]:
    """Return the results that the file has."""
    if not path.exists():
        return []
    with path.open() as file:
        rows = list(csv.reader(file, delimiter="\t"))[1:]
    return [Row(workload, name, int(seed), int(at), float(value)) for workload, name, seed, at, value in rows]


def measure(seeds: int, path: Path, folder: Path, **settings: int) -> None:
    """Run the trainings, then the measurements on test seeds, that the file lacks, and add their results."""
    for seed, name, workload in itertools.product(range(1, seeds + 1), METHODS, PRICES):
        if not any(row[:3] == (workload, name, seed) and row.decisions for row in read(path)):
            args = _settings(workload, name, settings, seed)
            network, curve = METHODS[name].train(args)
            folder.mkdir(parents=True, exist_ok=True)
            torch.save(network, folder / f"{workload}-{name}-{seed}.pt")
            _add(path, [Row(workload, name, seed, *point) for point in curve])
    for workload, name in itertools.product(PRICES, ("random", *credit_per_page.PLACEMENTS, *METHODS)):
        _add(path, _measured(path, folder, workload, name, range(1, seeds + 1), settings))


def _settings(workload: str, name: str, settings: dict[str, int], seed: int = 0) -> Any:
    kind = METHODS.get(name, credit_per_page).Args
    return kind(workload=workload, price=PRICES[workload], seed=seed, **settings)


def _measured(
    path: Path, folder: Path, workload: str, name: str, seeds: Sequence[int], settings: dict[str, int]
) -> list[Row]:
    """Measure a placement, or the networks of a method, on seeds that the file lacks; return the results."""
    done = {row.seed for row in read(path) if row[:2] == (workload, name) and not row.decisions}
    lacking = [seed for seed in (seeds if name in METHODS else (0,)) if seed not in done]
    if not lacking:
        return []
    args = _settings(workload, name, settings)
    if name in credit_per_page.PLACEMENTS:
        found = credit_per_page.test_placement(args, name)[None]
    else:
        files = [folder / f"{workload}-{name}-{seed}.pt" for seed in lacking]
        networks = [None if name == "random" else torch.load(file, weights_only=False) for file in files]
        found = credit_per_page.test(args, networks)
    print(f"{workload} {name}: {found.mean(axis=1)}", flush=True)
    return [Row(workload, name, seed, 0, one.mean()) for seed, one in zip(lacking, found, strict=True)]


def _add(path: Path, rows: Sequence[Row]) -> None:
    """Write rows at the end of the file."""
    lines = ["\t".join(Row._fields)] * (not path.exists())
    lines += ["\t".join([*map(str, row[:4]), f"{row[4]:.4f}"]) for row in rows]
    with path.open("a") as file:
        file.writelines(line + "\n" for line in lines)


def table(rows: list[Row]) -> list[list[str]]:
    """Return the table of results on test seeds; methods have a mean and 95 % interval over trainings."""
    cells = [["", "streams", *(f"`{workload}`" for workload in PRICES)]]
    for name in ("random", *credit_per_page.PLACEMENTS, *METHODS):
        found = [_ends(rows, workload, name) for workload in PRICES]
        label = LABELS.get(name, f"`{name}`").format(len(found[0]))
        cells.append([label, STREAMS.get(name, "6"), *map(_in_words, found)])
    return cells


def _ends(rows: list[Row], workload: str, name: str) -> np.ndarray:
    return np.array([row[4] for row in rows if row[:2] == (workload, name) and not row.decisions])


def _in_words(found: np.ndarray) -> str:
    """Return a mean as text, with its interval if there are enough values."""
    if not len(found):
        return "not measured"
    low, high = interval(found) if len(found) > 2 else (0.0, 0.0)
    return f"{found.mean():.3f}" + f" [{low:.3f}, {high:.3f}]" * (len(found) > 2)


@contextmanager
def drawing(look: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Draw text and axes within this context in a look; yield its colours of lines and of methods."""
    ink, grey, colours = LOOKS[look]
    names = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color")
    with styled(), matplotlib.rc_context(dict.fromkeys(names, ink)):
        yield grey, colours


def draw_levels(axes: Axes, levels: Mapping[str, float], near: float, grey: str) -> None:
    """Draw a line for each level, its name at the right. Levels less than `near` apart have one label."""
    beside: dict[str, float] = {}
    for name, level in sorted(levels.items(), key=lambda item: item[1]):
        axes.axhline(level, color=grey, linestyle="--", linewidth=0.8)
        close = next((label for label, other in beside.items() if level - other < near), "")
        beside[f"{close}, {name}".removeprefix(", ")] = beside.pop(close, level)
    for label, level in beside.items():
        axes.text(1.01, level, label, va="center", fontsize=7, transform=axes.get_yaxis_transform())


def draw_trainings(axes: Axes, curves: Sequence[Point], ends: Sequence[float], **look: Any) -> None:
    """Draw the mean of trainings over decisions with its 95 % interval, and a point for each final result."""
    at = sorted({decisions for decisions, _ in curves})
    values = [np.array([value for decisions, value in curves if decisions == one]) for one in at]
    axes.plot(at, [value.mean() for value in values], **look)
    if min(map(len, values)) > 2:
        low, high = zip(*map(interval, values), strict=True)
        axes.fill_between(at, low, high, color=look["color"], alpha=0.25, linewidth=0)
    if ends:
        axes.plot([max(at)] * len(ends), ends, "o", color=look["color"], markersize=3.5)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value / 1000:.0f}k")


def _draw_panel(axes: Axes, rows: list[Row], grey: str, colours: tuple[str, ...]) -> None:
    """Draw one workload: placements as lines, trainings as curves, results on test seeds as points."""
    levels = {name.partition("(")[0]: _ends(rows, rows[0].workload, name).mean() for name in LINES}
    draw_levels(axes, levels, 0.04 * levels["random"], grey)
    axes.set_ylim(0.9 * min(levels.values()), 1.15 * levels["random"])
    for name, colour in zip(METHODS, colours, strict=True):
        own = [row for row in rows if row.name == name]
        curves = [(row.decisions, row.write_amplification) for row in own if row.decisions]
        ends = [row.write_amplification for row in own if not row.decisions]
        draw_trainings(axes, curves, ends, color=colour, label=name)


def draw(rows: list[Row], look: str, path: Path) -> Path:
    """Draw the curves on a transparent ground; return the path."""
    with drawing(look) as (grey, colours):
        figure = Figure(figsize=(8, 3.4), layout="constrained", facecolor="none")
        for number, workload in enumerate(PRICES):
            axes = figure.add_subplot(1, len(PRICES), number + 1, facecolor="none")
            _draw_panel(axes, [row for row in rows if row.workload == workload], grey, colours)
            axes.set(title=workload, xlabel="decisions", ylabel="" if number else "write amplification")
        axes.legend(frameon=False)
        return save_figure(figure, path)


def main() -> None:
    """Add missing results, and write the table and both pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--train", type=int, default=0, metavar="SEEDS", help="train so many seeds of each")
    parser.add_argument("--file", type=Path, default=FILE, help="what was measured; pictures lie beside it")
    parser.add_argument("--table", type=Path, default=TABLE, help="table to write")
    parser.add_argument("--networks", type=Path, default=Path("results/credit"), help="folder for them")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    if chosen.train:
        measure(chosen.train, chosen.file, chosen.networks)
    rows = read(chosen.file)
    with chosen.table.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(table(rows))
    print(chosen.table)
    for look in LOOKS:
        print(draw(rows, look, chosen.file.with_name(f"credit-{look}.svg")))


if __name__ == "__main__":
    main()
