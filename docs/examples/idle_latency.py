"""Print what each idle rule does to latencies and to write amplification, as a table in Markdown.

`python docs/examples/idle_latency.py` runs `configs/experiments/idle.yaml` and `idle-free.yaml`, 96 runs of a
fraction of a second.
"""

from __future__ import annotations

from collections.abc import Sequence

from ssdgym.experiments.report.comparison import summarize
from ssdgym.experiments.results import Result
from ssdgym.experiments.runs.config import expand, load_experiment
from ssdgym.experiments.runs.evaluate import run_all

#: For each heading: the metric, the divisor that converts its unit, and the number of decimals.
COLUMNS = {
    "write amplification [95 %]": ("write_amplification", 1.0, 2),
    "write p99 (ms)": ("write_latency_ns/p99", 1e6, 1),
    "write p99.9 (ms)": ("write_latency_ns/p99.9", 1e6, 1),
    "read p99 (ms)": ("read_latency_ns/p99", 1e6, 2),
    "read p99.9 (ms)": ("read_latency_ns/p99.9", 1e6, 2),
}


def row(results: Sequence[Result], policy: str, name: str) -> str:
    """Return the line of one policy: interquartile means over the seeds, with their intervals."""
    cells = [name]
    for metric, unit, digits in COLUMNS.values():
        found = summarize(results, policy, metric)
        value, low, high = (f"{number / unit:,.{digits}f}" for number in (found.value, found.low, found.high))
        cells.append(f"{value} [{low}, {high}]")
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Run both experiments and print the table."""
    free, collecting = (run_all(expand(load_experiment(name))) for name in ("idle-free", "idle"))
    lines = ["no collection at all", *dict.fromkeys(result.policy for result in collecting)]
    print(f"| idle rule | {' | '.join(COLUMNS)} |")
    print("|---|" + "---:|" * len(COLUMNS))
    print(row(free, free[0].policy, lines[0]))
    for policy in lines[1:]:
        print(row(collecting, policy, f"`{policy.removeprefix('greedy+')}`"))


if __name__ == "__main__":
    main()
