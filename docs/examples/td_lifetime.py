"""Draw what `td_lifetime` has learned: one of its tables for host pages, and its planned streams.

`python td_lifetime.py --out td_lifetime.svg` runs `hot90` on the device `suite` for a few seconds.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from ssdgym.experiments.report.style import save_figure, styled
from ssdgym.simulator import Simulator

POLICY = "cost_benefit(since_close=1)+td_lifetime"
#: The second of six tables of 16 x 16: rows are the time since the last write, columns the number of writes.
TABLE = 1


def learned(device: str, workload: str, host_pages: int) -> np.void:
    """Return the record that the rule keeps for the device."""
    simulator = Simulator(device, policy=POLICY, ftl={"timing": "none"})
    simulator.fill()
    simulator.run(workload, host_pages=host_pages, seed=1)
    return simulator.rule_memory()[0]


def draw(memory: np.void, path: Path) -> Path:
    """Draw a table and the planned streams; return the path.

    Args:
        memory: the result of `learned`.
        path: file of the picture.
    """
    weights = memory["weight"].reshape(2, 6, 16, 16)[0, TABLE]
    visited = memory["visits"].reshape(2, 6, 16, 16)[0, TABLE] > 0
    valid = memory["valid"].reshape(2, 24).sum(axis=0)
    with styled():
        figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
        limit = np.abs(weights[visited]).max()
        image = left.imshow(
            np.where(visited, weights, np.nan), origin="lower", cmap="coolwarm", vmin=-limit, vmax=limit
        )
        figure.colorbar(image, ax=left, label="weight, in log4 of a life")
        left.set(
            title="host pages: one of six tables", xlabel="writes, step", ylabel="time since last write, step"
        )
        values = -6 + 0.4 * (np.arange(24) + 0.5)
        right.bar(values, valid / valid.sum(), width=0.36)
        for bound in memory["bound"][: int(memory["streams"]) - 1]:
            right.axvline(-6 + 0.4 * int(bound), color="black", linestyle=":")
        right.set(
            title=f"{int(memory['streams'])} planned streams",
            xlabel="value of a life",
            ylabel="share of valid pages",
        )
        return save_figure(figure, path)


def main() -> None:
    """Run the device and draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="suite")
    parser.add_argument("--workload", default="hot90")
    parser.add_argument("--host-pages", type=int, default=600_000)
    parser.add_argument("--out", type=Path, default=Path("td_lifetime.svg"))
    chosen = parser.parse_args()
    print(draw(learned(chosen.device, chosen.workload, chosen.host_pages), chosen.out))


if __name__ == "__main__":
    main()
