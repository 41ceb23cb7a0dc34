"""Compare rules that level wear: `python wear_levelling.py` prints the table of docs/levelling.md."""

from __future__ import annotations

import argparse
from itertools import product
from typing import Any

import numpy as np

from ssdgym.simulator import Simulator

WORKLOADS: dict[str, Any] = {
    "uniform": "uniform",
    "zipf": "zipf99",
    "hot and cold": {"kind": "hot_cold", "hot_fraction": 0.1, "hot_access": 0.99},
}
#: Victim rules, and levelling rules. The thresholds allow blocks to differ by some ten erases.
VICTIMS = ("greedy", "cost_benefit(since_close=1)")
RULES = (
    "first_freed",
    "least_worn",
    "dual_pool(threshold=8)",
    "swl(threshold=8)",
    "rejuvenator(tau=16)",
    "progressive(endurance=300)",
    "greedy_mp(threshold=8)",
    "wear_threshold(threshold=16)",
)
#: Student's factor of a 95 % interval, by the number of seeds.
_FACTORS = {2: 12.71, 3: 4.30, 4: 3.18, 5: 2.78, 8: 2.36}


#: Outstanding requests on a timed device.
QUEUE_DEPTH = 4


def measure(policy: str, workload: Any, seed: int, host_pages: int) -> tuple[float, ...]:
    """Return variation and maximum of the erases of blocks, write amplification, and mean latency."""
    simulator = Simulator("demo", ftl={"timing": "none"}, policy=policy)
    simulator.fill()
    metrics = simulator.run(workload, host_pages=host_pages, seed=seed)
    wear = metrics["wear"]
    assert metrics["lost_pages"] == 0
    spread = wear["std_erases"] / wear["mean_erases"]
    latency_us = measure_latency(policy, workload, seed, host_pages // 4)
    return spread, wear["max_erases"], metrics["write_amplification"], latency_us


def measure_latency(policy: str, workload: Any, seed: int, host_pages: int) -> float:
    """Return the mean write latency in microseconds, after a warm-up with as many host pages."""
    simulator = Simulator("demo", ftl={"timing": "event", "queue_depth": QUEUE_DEPTH}, policy=policy)
    simulator.fill()
    metrics = simulator.run(workload, host_pages=host_pages, warmup=host_pages, seed=seed)
    return metrics["write_latency_ns"]["mean"] / 1000


def main() -> None:
    """Print the table: means over seeds, with half the width of their 95 % intervals."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, choices=sorted(_FACTORS), default=4)
    parser.add_argument("--host-pages", type=int, default=400_000, help="without time; a quarter in time")
    asked = parser.parse_args()
    columns = "variation of erases | most erases | write amplification | mean write latency, us"
    print(f"| workload | victims | rule | {columns} |\n|---|---|---|---|---|---|---|")
    for (name, workload), victims, rule in product(WORKLOADS.items(), VICTIMS, RULES):
        runs = [measure(f"{victims}+{rule}", workload, k, asked.host_pages) for k in range(asked.seeds)]
        means, spreads = np.mean(runs, axis=0), np.std(runs, axis=0, ddof=1)
        half = _FACTORS[asked.seeds] * spreads / asked.seeds**0.5
        cells = [f"{means[k]:.{d}f} ± {half[k]:.{d}f}" for k, d in enumerate((3, 0, 3, 0))]
        print(f"| {name} | `{victims}` | `{rule}` | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
