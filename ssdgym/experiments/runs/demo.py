"""The demonstration: which device, workloads and seeds `ssdgym demo` learns and compares on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ssdgym.experiments.analysis.tasks import HELD_OUT
from ssdgym.experiments.runs.run_spec import RunSpec

LEARNED = "learned"
HEURISTICS = ("random", "fifo", "greedy", "d_choices", "windowed_greedy", "cost_benefit")


@dataclass(frozen=True)
class Demo:
    """A comparison that fits into minutes on two cores.

    Attributes:
        training: name of the training configuration in configs/agents.
        device: a small device at 10 % over-provisioning.
        workloads: skewed ones; uniform writes leave nothing to learn.
        held_out: those of them that the agent was not trained on; zipf99_rw, whose writes are those of
            zipf99, does not count.
        tuned: a heuristic with a parameter set better than its textbook value for these workloads, so that
            the agent is not only held against untuned opponents.
        seeds: none of them is used in training or validation.
        host_pages: per run, many times the device's logical space.
        warmup: host pages before them that are not measured.
        ftl: relocated pages have a stream of their own for everybody, because a separate stream is worth
            more than any victim rule. The closed loop keeps a few requests outstanding, as a host does.
    """

    training: str = "ppo-demo"
    device: str = "demo"
    workloads: tuple[str, ...] = ("zipf99", "hot90", "zipf99_rw", "zipf80", "hot80")
    held_out: tuple[str, ...] = ("zipf80", "hot80")
    tuned: tuple[str, ...] = ("cost_benefit(exponent=0.5)",)
    seeds: tuple[int, ...] = tuple(range(50_000, 50_008))
    host_pages: int = 150_000
    warmup: int = 30_000
    ftl: tuple[tuple[str, str | int], ...] = (("placement", "sep_gc"), ("queue_depth", 8))

    def runs(self, agent: Path, objective: str) -> list[RunSpec]:
        """Return the grid: the agent, every heuristic and the tuned one on every workload and seed."""
        return [
            RunSpec(
                device=self.device,
                workload=workload,
                policy=policy,
                seed=seed,
                ftl=self.ftl,
                host_pages=self.host_pages,
                warmup=self.warmup,
                agent=agent if policy == LEARNED else None,
                objective=objective if policy == LEARNED else "",
                label=workload + HELD_OUT if workload in self.held_out else workload,
            )
            for workload in self.workloads
            for policy in (LEARNED, *HEURISTICS, *self.tuned)
            for seed in self.seeds
        ]
