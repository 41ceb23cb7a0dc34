"""Write the table of the first pass of recorded traces, and of the next three: `python passes.py`.

`SSDGYM_TRACES` names the folder of the traces, which ssdgym does not contain. The script takes a minute.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ssdgym.experiments.runs.evaluate import run_all
from ssdgym.experiments.runs.spec import RunSpec

TABLE = Path(__file__).resolve().parents[1] / "tables" / "passes.csv"
SPARE = (0.07, 0.15, 0.28)
#: Placements; results are relative to the first.
PLACEMENTS = ("sepbit", "mida_hot", "dac", "fadac(inclusive=1)", "sep_gc", "td_lifetime")
AGENTS = ("agent:placement-v1", "agent:placement-v2")


class Trace(NamedTuple):
    """A trace whose addresses are taken modulo the size of the device.

    Attributes:
        fields: fields of its workload.
        pages: number of host pages of one pass.
    """

    fields: dict[str, Any]
    pages: int


TRACES = {
    "w92": Trace({"path": "cloudphysics-w92.csv.gz"}, 214_508),
    "prn_0": Trace({"path": "msr-prn_0-nosize.csv.gz", "skip_bad": 1}, 62_530),
}


def measured(trace: Trace, *, later: bool) -> np.ndarray:
    """Return write amplification, (placements, amounts of spare space), of the first or the next passes."""
    runs = [
        RunSpec(
            {"base": "suite", "name": "suite", "capacity.over_provisioning": spare},
            {"kind": "trace", "loops": None, "addresses": "fold", **trace.fields},
            f"cost_benefit(since_close=1)+{name}",
            100,
            (("timing", "none"),),
            host_pages=3 * trace.pages if later else trace.pages,
            warmup=trace.pages if later else 0,
            preconditioning="uniform",
        )
        for name in (*PLACEMENTS, *AGENTS)
        for spare in SPARE
    ]
    found = [result.metric("write_amplification") for result in run_all(runs, 1)]
    return np.array(found).reshape(-1, len(SPARE))


def main() -> None:
    """Write the table: geometric mean and worst over spare space, relative to the first placement."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=TABLE)
    chosen = parser.parse_args()
    rows = [["placement"], *([f"`{name}`"] for name in (*PLACEMENTS, *AGENTS))]
    for name, trace in TRACES.items():
        for heading, later in (("first pass", False), ("next three", True)):
            found = measured(trace, later=later)
            ratios = found / found[0]
            rows[0].append(f"{name}, {heading}")
            for row, own in zip(rows[1:], ratios, strict=True):
                row.append(f"{np.exp(np.log(own).mean()):.3f} ({own.max():.3f})")
    with chosen.out.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)


if __name__ == "__main__":
    main()
