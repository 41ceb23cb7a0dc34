"""Draw figure 11 of IPPBE: a plane that SSDsim aged to 75 %, and a plane of which writes filled 75 %.

`python ageing.py --out ippbe-ageing.svg` writes 75 % of the pages of a device, single pages at random.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure

from ssdgym.experiments.report.style import color_of, legend_below, save_figure, styled
from ssdgym.simulator import Simulator

AGE = 0.75


class Plane(NamedTuple):
    """The numbers of valid and of invalid pages of each block, (blocks,), and of all pages of a block."""

    valid: np.ndarray
    invalid: np.ndarray
    pages: int


def by_ssdsim(blocks: int, pages: int) -> Plane:
    """Return a plane as SSDsim ages it: the first pages of every block are invalid, the others free."""
    return Plane(np.zeros(blocks, int), np.full(blocks, round(AGE * pages)), pages)


def by_writes(device: str, workload: str) -> Plane:
    """Return the first plane of a new device after as many page writes as `AGE` of its physical pages."""
    simulator = Simulator(device, policy="greedy+single", ftl={"timing": "none"})
    geometry = simulator.device.geometry
    simulator.run(workload, host_pages=round(AGE * geometry.physical_pages), seed=1)
    blocks = simulator.state.sub_block[0][: geometry.blocks_per_plane * geometry.sub_blocks_per_block]
    invalid = blocks["invalid"].astype(int)
    return Plane(blocks["written"].astype(int) - invalid, invalid, geometry.pages_per_block)


def draw(planes: dict[str, Plane], path: Path) -> Path:
    """Draw the planes one below the other; return the path.

    Args:
        planes: the planes, by the name of what aged them.
        path: file of the picture.
    """
    with styled():
        figure = Figure(figsize=(9, 2.1 * len(planes)), layout="constrained")
        panels = figure.subplots(len(planes), sharex=True)
        for axes, (name, plane) in zip(panels, planes.items(), strict=True):
            blocks = np.arange(len(plane.valid))
            axes.bar(blocks, plane.valid, 1.0, color=color_of(0), label="valid")
            axes.bar(blocks, plane.invalid, 1.0, plane.valid, color=color_of(1), label="invalid")
            axes.set(ylim=(0, plane.pages), ylabel="pages")
            least = int(plane.valid[plane.invalid > 0].min())
            axes.set_title(f"{name}: the emptiest used block has {least} pages to move", loc="left")
        panels[-1].set(xlabel="block of the plane", xlim=(-0.5, len(blocks) - 0.5))
        legend_below(figure, *panels)
        return save_figure(figure, path)


def main() -> None:
    """Age a device both ways and draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="ippbe-mlc-small")
    parser.add_argument("--workload", default="uniform")
    parser.add_argument("--out", type=Path, default=Path("ippbe-ageing.svg"))
    chosen = parser.parse_args()
    real = by_writes(chosen.device, chosen.workload)
    planes = {"SSDsim": by_ssdsim(len(real.valid), real.pages), "writes": real}
    print(draw(planes, chosen.out))


if __name__ == "__main__":
    main()
