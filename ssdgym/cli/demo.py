"""`ssdgym demo`: a placement that learns while the device runs, PPO from scratch, and what both are worth."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ssdgym.cli.console import compile_note, progress_bar, progress_note
from ssdgym.cli.evaluate import report
from ssdgym.cli.options import AsJson, Out
from ssdgym.errors import needing

if TYPE_CHECKING:
    from ssdgym.agents.training.config import TrainConfig
    from ssdgym.experiments.runs.spec import RunSpec

#: Processes for the comparison.
_WORKERS = 2
_VICTIMS = "cost_benefit(since_close=1)"
LEARNED = f"{_VICTIMS}+td_lifetime"
#: From one that separates nothing but relocated pages to the best of the classics and of the papers.
HEURISTICS = (
    "greedy+sep_gc",
    "cost_benefit+sep_gc",
    f"{_VICTIMS}+sep_gc",
    f"{_VICTIMS}+mida_hot",
    f"{_VICTIMS}+sepbit",
    f"{_VICTIMS}+dac",
    f"{_VICTIMS}+fadac",
    f"{_VICTIMS}+fadac(inclusive=1)",
)

#: Write amplification at some moments, by policy or by what has trained an agent.
Curves = Mapping[str, Sequence[tuple[int, float]]]


@dataclass(frozen=True)
class Demo:
    """A demonstration that fits into three minutes on two cores.

    Attributes:
        device: a small device at 15 % over-provisioning, with three free blocks for every policy.
        watched: policies that are watched from an empty memory on, under the names of the picture.
        phases: the workloads that are watched, one after the other on the same devices.
        window: host pages of a measurement while they are watched.
        windows: of each phase.
        workloads: of the comparison, those that the leaderboard keeps for its test.
        seeds: of the comparison.
        host_pages: per run, many times the device's logical space.
        warmup: host pages before them that are not measured.
        training: name of the PPO training in configs/training.
    """

    device: str = "demo-placement"
    watched: tuple[tuple[str, str], ...] = (
        ("greedy", "greedy+sep_gc"),
        ("sepbit", f"{_VICTIMS}+sepbit"),
        ("fadac", f"{_VICTIMS}+fadac(inclusive=1)"),
        ("td_lifetime", LEARNED),
    )
    phases: tuple[str, ...] = ("zipf99", "drifting")
    window: int = 4_096
    windows: int = 32
    workloads: tuple[str, ...] = ("zipf99", "hot90", "drifting", "synthetic:prn_0", "tpcc_wide")
    seeds: tuple[int, ...] = tuple(range(50_000, 50_008))
    host_pages: int = 150_000
    warmup: int = 60_000
    training: str = "ppo-scratch"

    def runs(self) -> list[RunSpec]:
        """Return the grid: the learner and every heuristic on every workload and seed."""
        from ssdgym.experiments.runs.spec import RunSpec

        timing = (("timing", "none"),)
        return [
            RunSpec(self.device, workload, policy, seed, timing, self.host_pages, warmup=self.warmup)
            for workload in self.workloads
            for policy in (LEARNED, *HEURISTICS)
            for seed in self.seeds
        ]


def demo(
    ppo: Annotated[bool, typer.Option(help="Train PPO, too, which needs the extra agents.")] = True,
    out: Out = Path("results/demo"),
    as_json: AsJson = False,
) -> None:
    """Watch a placement learn on a new device, train PPO for a minute, and compare with heuristics.

    `td_lifetime` starts without any training, on a device and workloads that nothing was fitted to. A win is
    claimed only where the 95 % interval excludes zero.

    Examples:

        ssdgym demo

        ssdgym demo --no-ppo
    """
    from ssdgym.config.loading import load_config
    from ssdgym.experiments.report.files import write_html_report
    from ssdgym.experiments.report.summary import verdicts
    from ssdgym.experiments.runs.evaluate import run_all
    from ssdgym.files import writable_folder

    if ppo:
        with needing("agents", "PPO (leave it out with --no-ppo) needs"):
            from ssdgym.agents.training.config import TrainConfig
            from ssdgym.agents.training.train import train
    writable_folder(out)
    plan = Demo()
    compile_note(quiet=as_json)
    steps = 3 if ppo else 2
    progress_note(
        f"1/{steps} learning on a new device: write amplification of {plan.window:,} host pages",
        quiet=as_json,
    )
    online = watch(plan, quiet=as_json)
    validated: Curves = {}
    if ppo:
        config = load_config(TrainConfig, plan.training, "training")
        progress_note(
            f"2/3 PPO on {config.environment.id}, {config.total_decisions:,} decisions", quiet=as_json
        )
        train(config, out / "training", progress=not as_json, overwrite=True)
        validated = validation(config, out / "training" / "evaluations.csv", _WORKERS)
    runs = plan.runs()
    progress_note(f"{steps}/{steps} comparing on {len(plan.seeds)} seeds, {len(runs)} runs", quiet=as_json)
    with progress_bar("runs", quiet=as_json) as advance:
        advance(0, len(runs))
        results = run_all(runs, _WORKERS, advance)
    picture = draw(online, validated, plan, out / "learning.png")
    page = write_html_report(results, out / "report.html", out, [LEARNED])
    report(results, [LEARNED], out, as_json=as_json, others=[picture, page])
    progress_note(verdicts(results, [LEARNED])[-1], quiet=as_json)


def watch(plan: Demo, seed: int = Demo.seeds[0], *, quiet: bool) -> Curves:
    """Return the write amplification of every window of host pages, by name of the policy."""
    from ssdgym.config.device import load_device
    from ssdgym.simulator import Simulator
    from ssdgym.workloads.stream import load_workload, open_on

    device = load_device(plan.device)
    simulators = {
        name: Simulator(device, policy=policy, ftl={"timing": "none"}) for name, policy in plan.watched
    }
    for simulator in simulators.values():
        simulator.fill()
    curves: dict[str, list[tuple[int, float]]] = {name: [] for name in simulators}
    total = plan.windows * len(plan.phases)
    with progress_bar("windows", quiet=quiet) as advance:
        for phase, workload in enumerate(plan.phases):
            model = load_workload(workload)
            chunks = {name: map(open_on(model, device, seed).next, repeat(1024)) for name in simulators}
            for number in range(1, plan.windows + 1):
                done = phase * plan.windows + number
                for name, simulator in simulators.items():
                    simulator.reset_metrics()
                    simulator.proceed(chunks[name], plan.window)
                    curves[name].append((done * plan.window, simulator.metrics()["write_amplification"]))
                line = ", ".join(f"{name} {curve[-1][1]:.2f}" for name, curve in curves.items())
                advance(done, total, line)
                if number & (number - 1) == 0:
                    progress_note(
                        f"{done * plan.window:>9,} host pages, {workload}, write amplification: {line}",
                        quiet=quiet,
                    )
    return curves


def validation(config: TrainConfig, file: Path, workers: int) -> Curves:
    """Return write amplification in validation over decisions, of PPO and of what it is held against."""
    import numpy as np

    from ssdgym.experiments.runs.evaluate import run_all
    from ssdgym.experiments.runs.spec import RunSpec

    with file.open(newline="") as rows:
        found = [(int(row["decisions"]), float(row["write_amplification"])) for row in csv.DictReader(rows)]
    curves = {"PPO": found}
    played, seeds = config.environment.kwargs, config.evaluation
    timing, lengths = (("timing", "none"),), (seeds.kwargs["horizon"], seeds.kwargs["warmup"])
    for policy in ("random_action", "greedy", "cost_benefit"):
        runs = [
            RunSpec(
                *(played["device"], played["workload"], policy, seeds.first_seed + k, timing, lengths[0]),
                warmup=lengths[1],
                agent=policy if policy == "random_action" else None,
            )
            for k in range(seeds.episodes)
        ]
        mean = float(np.mean([one.metric("write_amplification") for one in run_all(runs, workers)]))
        curves[policy] = [(decisions, mean) for decisions, _ in found]
    return curves


def draw(online: Curves, validated: Curves, plan: Demo, path: Path) -> Path:
    """Draw what was watched and, if there is any, the validation of PPO; return the path."""
    from matplotlib.figure import Figure

    from ssdgym.experiments.report.style import color_of, dashes_of, save_figure, styled

    with styled():
        figure = Figure(figsize=(9.6, 3.6), layout="constrained")
        shown = [online, *filter(None, (validated,))]
        panels: list[Any] = list(
            figure.subplots(1, len(shown), width_ratios=(2, 1)[: len(shown)], squeeze=False)[0]
        )
        left, right = panels[0], panels[-1]
        for axes, curves in zip(panels, shown, strict=True):
            for index, (name, curve) in enumerate(curves.items()):
                at, values = zip(*curve, strict=True)
                axes.plot(at, values, label=name, color=color_of(index), linestyle=dashes_of(index))
            axes.set_ylabel("write amplification")
            axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.18), ncols=4 if axes is left else 2)
        if validated:
            right.set_title("PPO on EraseVictim-v0, validation")
            right.set_xlabel("decisions")
        left.axvline(plan.windows * plan.window, color="black", linewidth=0.8, linestyle=":")
        left.set_title(f"on one device: {plan.phases[0]}, then {plan.phases[1]}")
        left.set_xlabel("host pages")
        return save_figure(figure, path)
