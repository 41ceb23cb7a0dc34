"""Results made up for the tests of tables, figures and comparisons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ssdgym.experiments.results import Result
from ssdgym.experiments.runs.run import result_of
from ssdgym.experiments.runs.spec import RunSpec


def latencies(mean_ns: float) -> dict[str, float]:
    factors = {"mean": 1.0, "p50": 0.9, "p95": 2.0, "p99": 5.0, "p99.9": 20.0, "p99.99": 60.0, "max": 80.0}
    return {name: mean_ns * factor for name, factor in factors.items()}


def result(policy: str, seed: int, write_amplification: float, workload: str = "zipf") -> Result:
    metrics = {
        "write_amplification": write_amplification,
        "moved_bytes": round(100_000 * (write_amplification - 1)) * 4096,
        "erases": 1_563,
        "write_latency_ns": latencies(250_000.0 * write_amplification),
    }
    return Result("demo-mlc", "placement=sep_gc", workload, policy, seed, metrics=metrics)


def grid(offsets: dict[str, float], seeds: int = 5, workloads: tuple[str, ...] = ("zipf",)) -> list[Result]:
    """Results whose write amplification is 2 plus the policy's offset plus a hundredth per seed."""
    return [
        result(policy, seed, 2.0 + offset + 0.01 * seed, workload)
        for workload in workloads
        for policy, offset in offsets.items()
        for seed in range(seeds)
    ]


def grid_of_runs(runs: Sequence[RunSpec]) -> list[Result]:
    """Results of runs that nobody ran, with all that a result says of its run."""
    names = {name: 0.1 * rank for rank, name in enumerate(dict.fromkeys(run.policy for run in runs))}
    return [
        replace(
            result_of(run, {}, 0.0),
            metrics=result(run.policy, run.seed, 2.0 + names[run.policy] + 0.01 * (run.seed % 10)).metrics,
        )
        for run in runs
    ]
