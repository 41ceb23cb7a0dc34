"""`ssdgym demo`: learn garbage collection, then compare with the classic heuristics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ssdgym.cli.console import compile_note, progress_bar, progress_note
from ssdgym.cli.evaluate import report
from ssdgym.cli.learning import learning
from ssdgym.cli.options import AsJson, Out

if TYPE_CHECKING:
    from ssdgym.agents.training.config import TrainConfig
    from ssdgym.experiments.results import Result
    from ssdgym.experiments.runs.spec import RunSpec

LEARNED = "learned"
#: Any of the candidates: what is better than that has been learned.
BASELINE = "random_action"
HEURISTICS = ("random", "fifo", "greedy", "d_choices", "windowed_greedy", "cost_benefit")


@dataclass(frozen=True)
class Demo:
    """A comparison that fits into minutes on two cores.

    Attributes:
        training: name of the training configuration in configs/training.
        device: a small device at 10 % over-provisioning.
        workloads: skewed ones; uniform writes leave nothing to learn.
        held_out: those of them that the agent was not trained on; zipf99_rw, whose writes are those of
            zipf99, does not count.
        tuned: a heuristic with a parameter set better than its textbook value for these workloads, so that
            the agent is not only held against untuned opponents.
        seeds: none of them is used in training or validation.
        host_pages: per run, many times the device's logical space.
        warmup: host pages before them that are not measured.
        ftl: relocated pages have a stream of their own for every policy, because a separate stream is worth
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
        """Return the grid: the agent, random actions and every heuristic on every workload and seed.

        Args:
            agent: its file.
            objective: what it was trained for.
        """
        from ssdgym.experiments.report.comparison import HELD_OUT
        from ssdgym.experiments.runs.spec import RunSpec

        deciders: dict[str, Path | str] = {LEARNED: agent, BASELINE: BASELINE}
        return [
            RunSpec(
                device=self.device,
                workload=workload,
                policy=policy,
                seed=seed,
                ftl=self.ftl,
                host_pages=self.host_pages,
                warmup=self.warmup,
                agent=deciders.get(policy),
                objective=objective if policy == LEARNED else "",
                label=workload + HELD_OUT if workload in self.held_out else workload,
            )
            for workload in self.workloads
            for policy in (LEARNED, BASELINE, *HEURISTICS, *self.tuned)
            for seed in self.seeds
        ]


def demo(
    decisions: Annotated[
        int | None, typer.Option(min=1, help="Decisions to train for; default: as configured.")
    ] = None,
    host_pages: Annotated[int, typer.Option(min=1, help="Host pages per evaluated run.")] = 150_000,
    seeds: Annotated[int, typer.Option(min=2, help="How many held-out seeds.")] = 8,
    workers: Annotated[int, typer.Option(min=1, help="Processes for the evaluation.")] = 2,
    out: Out = Path("results/demo"),
    as_json: AsJson = False,
) -> None:
    """Train a small agent, then compare it with six heuristics on workload seeds it has never seen.

    All policies write relocated pages to a separate stream. A win is claimed only where the 95 % interval
    excludes zero; otherwise the output says that the agent does not beat the best heuristic.

    Examples:

        ssdgym demo

        ssdgym demo --decisions 20000 --seeds 3 --host-pages 50000 --out quick
    """
    from ssdgym.files import writable_folder

    writable_folder(out)
    train, TrainConfig, load_config = learning()
    first = Demo.seeds[0]
    plan = Demo(seeds=tuple(range(first, first + seeds)), host_pages=host_pages)
    config = load_config(TrainConfig, plan.training, "training")
    if decisions is not None:
        config = config.model_copy(update={"total_decisions": decisions})
    compile_note(quiet=as_json)
    progress_note(f"1/2 training: {_plan_of(config)}", quiet=as_json)
    agent = train(config, out / "training", progress=not as_json, overwrite=True)
    runs = plan.runs(agent, objective=str(config.environment.kwargs.get("objective", "")))
    progress_note(f"2/2 comparing on {seeds} held-out seeds, {len(runs)} runs", quiet=as_json)
    report(_run(runs, workers, quiet=as_json), [LEARNED], out, as_json=as_json)
    progress_note(f"learned: trained by {_how_trained(agent)}", quiet=as_json)


def _plan_of(config: TrainConfig) -> str:
    """Say what the training consists of."""
    search = config.cross_entropy.generations
    first = f"a search by {search * config.n_envs:,} whole episodes, then " if search else ""
    return f"{first}{config.algorithm.upper()} for {config.total_decisions:,} decisions"


def _how_trained(agent: Path) -> str:
    from ssdgym.agents.agent import Agent

    return Agent.load(agent).card.how_trained


def _run(runs: Sequence[RunSpec], workers: int, *, quiet: bool) -> list[Result]:
    """Carry out the runs with a progress bar, and keep nothing."""
    from ssdgym.experiments.runs.evaluate import check_runs, run_all

    check_runs(runs)
    compile_note(quiet=quiet)
    with progress_bar("runs", quiet=quiet) as advance:
        advance(0, len(runs))
        return run_all(runs, workers, advance)
