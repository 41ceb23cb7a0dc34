"""Train `ppo` from cost-benefit, as prior or as clone, and compare the agents with heuristics.

`python improve_on_heuristics.py --out results/improving` trains 25 agents one after another, half a minute
to two minutes of CPU time each; `--only wide` trains five of them. Finished work is not repeated. Writes
`results.csv` (every measured run), `improving.md` (the table) and `improving.svg` (the learning curves).
"""

from __future__ import annotations

import argparse
import csv
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import torch
from scipy import stats

from ssdgym.agents.agent import Agent
from ssdgym.agents.training.config import TrainConfig, make_environment
from ssdgym.agents.training.train import train
from ssdgym.agents.training.validation import EVALUATIONS, LAST_AGENT
from ssdgym.config.loading import load_config
from ssdgym.experiments.report.style import PALETTE, save_figure, styled
from ssdgym.experiments.runs.evaluate import run_all
from ssdgym.experiments.runs.spec import RunSpec

WORKLOADS = ("zipf99", "hot90")
#: Features of the clone lack the mark on cost-benefit's pick, so the clone learns which blocks are picked.
CLONED = {
    "scorer": {"start": "none", "sharpness": 1.0},
    "prior": {"policy": "cost_benefit", "clone_decisions": 65_536, "clone_confidence": 0.4},
    "start_kl": 0.01,
    "features": [
        *("valid_fraction", "log_benefit", "log_age", "log_age_closed", "wear", "gc_stream"),
        *("log_update_rate", "log_neighbour_rate", "host_pages", "open_room"),
    ],
}
STARTS = {"PPO from cost-benefit": {}, "PPO from a clone of it": CLONED, "PPO among 128 candidates": {}}
#: Trainings by the value of `--only`: workload, start of PPO, and name of the configuration that is changed.
Kinds = dict[tuple[str, str], str]
KINDS: dict[str, Kinds] = {
    "start": {(workload, "PPO from cost-benefit"): f"ppo-{workload}" for workload in WORKLOADS},
    "clone": {(workload, "PPO from a clone of it"): f"ppo-{workload}" for workload in WORKLOADS},
    "wide": {("hot90", "PPO among 128 candidates"): "ppo-hot90-wide"},
}
BASELINES = ("random_action", "greedy", "cost_benefit", "cost_benefit(exponent=0.5)")
#: Seeds of the evaluation; training and validation use other seeds.
UNSEEN = range(60_000, 60_008)
HOST_PAGES, WARMUP = 40_000, 20_000


def config_of(name: str, workload: str, start: str, seed: int, decisions: int | None) -> TrainConfig:
    """Return the training configuration of a name, with this workload, start, seed and length."""
    fields = load_config(TrainConfig, name, "training").model_dump()
    changes = STARTS[start]
    fields["seed"] = seed
    fields["total_decisions"] = decisions or fields["total_decisions"]
    if changes:
        fields["scorer"] |= changes["scorer"]
        fields["prior"] |= changes["prior"]
        fields["ppo"]["start_kl"] = changes["start_kl"]
        fields["environment"]["kwargs"]["features"] = changes["features"]
        if workload == "hot90":  # the clone explores as rarely as the prior of the configuration
            fields["prior"]["clone_confidence"] = 0.9
    return TrainConfig.model_validate(fields)


def folder_of(out: Path, workload: str, start: str, seed: int) -> Path:
    """Return the folder of an agent's training."""
    return out / workload / f"{start.replace(' ', '-')}-{seed}"


def train_all(out: Path, kinds: Kinds, seeds: Sequence[int], decisions: int | None) -> None:
    """Train the missing agents, seed by seed, so that an early end leaves equally many of each kind."""
    for seed in seeds:
        for (workload, start), name in kinds.items():
            folder = folder_of(out, workload, start, seed)
            if not (folder / "done").exists():
                config = config_of(name, workload, start, seed, decisions)
                train(config, folder, progress=False, overwrite=True)
                (folder / "done").touch()
                print(f"trained {folder}", flush=True)


class Row(NamedTuple):
    """One measured run; `training_seed` is 0 for baselines."""

    workload: str
    name: str
    training_seed: int
    seed: int
    write_amplification: float


def measure(file: Path) -> list[float]:
    """Return the write amplification of an agent on each unseen seed."""
    agent = Agent.load(file)
    config = TrainConfig.model_validate(agent.card.training)
    env = make_environment(config.environment, len(UNSEEN), horizon=HOST_PAGES, warmup=WARMUP)
    env.seed(UNSEEN[0])
    observation = env.reset()
    found: dict[int, float] = {}
    while len(found) < len(UNSEEN):
        observation, _, dones, infos = env.step(agent.act(observation))
        for i in np.flatnonzero(dones):
            found.setdefault(int(i), infos[i]["metrics"]["write_amplification"])
    env.close()
    return [found[i] for i in range(len(UNSEEN))]


def baselines(policies: Sequence[str], seeds: Sequence[int], host_pages: int, warmup: int) -> list[Row]:
    """Measure policies on seeds."""
    runs = [
        RunSpec("demo", workload, policy, seed, (("timing", "none"),), agent=_agent_of(policy))
        for workload in WORKLOADS
        for policy in policies
        for seed in seeds
    ]
    results = run_all([replace(run, host_pages=host_pages, warmup=warmup) for run in runs], 1)
    return [
        Row(run.workload, run.policy, 0, run.seed, result.metric("write_amplification"))
        for run, result in zip(runs, results, strict=True)
    ]


def in_validation(kinds: Kinds) -> list[Row]:
    """Measure policies in the validation episodes of the trainings, to which the curves belong."""
    (workload, start), name = next(iter(kinds.items()))
    evaluation = config_of(name, workload, start, 0, None).evaluation
    seeds = range(evaluation.first_seed, evaluation.first_seed + evaluation.episodes)
    kwargs = evaluation.kwargs
    return baselines(BASELINES[2:], seeds, kwargs["horizon"], kwargs["warmup"])


def _agent_of(policy: str) -> str | None:
    return policy if policy == "random_action" else None


def agents(out: Path, kinds: Kinds, seeds: Sequence[int]) -> list[Row]:
    """Measure the agents at the end of their training, even if an earlier one was better in validation."""
    return [
        Row(workload, start, seed, unseen, value)
        for workload, start in kinds
        for seed in seeds
        for unseen, value in zip(
            UNSEEN, measure(folder_of(out, workload, start, seed) / LAST_AGENT), strict=True
        )
    ]


def means_of(rows: Sequence[Row], workload: str, name: str) -> np.ndarray:
    """Return a method's means over the unseen seeds, one per training; for a baseline, all values."""
    found = [row for row in rows if (row.workload, row.name) == (workload, name)]
    if name in BASELINES:
        return np.array([row.write_amplification for row in found])
    trainings = sorted({row.training_seed for row in found})
    return np.array(
        [np.mean([row.write_amplification for row in found if row.training_seed == t]) for t in trainings]
    )


def half_interval(values: np.ndarray) -> np.ndarray:
    """Return half the width of the 95 % interval of the mean over the first axis (Student's t)."""
    number = len(values)
    return stats.t.ppf(0.975, number - 1) * values.std(axis=0, ddof=1) / math.sqrt(number)


def table(rows: Sequence[Row]) -> str:
    """Return the results as a table in Markdown."""
    lines = [f"| | {' | '.join(f'`{workload}`' for workload in WORKLOADS)} |", "|---|---:|---:|"]
    for name in (*BASELINES, *STARTS):
        cells = [cell(means_of(rows, workload, name)) for workload in WORKLOADS]
        if any(cells):
            lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def cell(values: np.ndarray) -> str:
    """Return mean and interval as text; empty without values."""
    if not len(values):
        return ""
    mean, half = values.mean(), half_interval(values)
    return f"{mean:.3f} [{mean - half:.3f}, {mean + half:.3f}]"


def curve(out: Path, workload: str, start: str, seeds: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Return the thousands of decisions at validations, (n,), and the write amplification there, (seeds, n).

    The first validation is that of the untrained network, after cloning if there was a clone.
    """
    every = []
    for seed in seeds:
        with (folder_of(out, workload, start, seed) / EVALUATIONS).open() as file:
            rows = list(csv.DictReader(file))
        first = max(i for i, row in enumerate(rows) if row["stage"] != "ppo")
        every.append([(int(row["decisions"]), float(row["write_amplification"])) for row in rows[first:]])
    decisions, values = np.array(every).transpose(2, 0, 1)
    return (decisions[0] - decisions[0, 0]) / 1000, values


@styled()
def draw(out: Path, kinds: Kinds, lines: Sequence[Row], seeds: Sequence[int]) -> Path:
    """Draw means and intervals over training seeds for each validation, and policies as lines."""
    shown = [one for one in WORKLOADS if one in {workload for workload, _ in kinds}]
    figure, grid = plt.subplots(1, len(shown), figsize=(4 * len(shown), 3.4), squeeze=False)
    panels = grid[0]
    for axes, workload in zip(panels, shown, strict=True):
        for style, name in zip(("--", ":"), BASELINES[2:], strict=True):
            level = means_of(lines, workload, name).mean()
            axes.axhline(level, color="0.45", linestyle=style, linewidth=0.9, label=name)
        for color, start in zip(PALETTE, STARTS, strict=False):
            if (workload, start) not in kinds:
                continue
            decisions, values = curve(out, workload, start, seeds)
            mean, half = values.mean(axis=0), half_interval(values)
            axes.plot(decisions, mean, color=color, marker="o", markersize=3, label=start)
            axes.fill_between(decisions, mean - half, mean + half, color=color, alpha=0.2, linewidth=0)
        axes.set_title(workload)
        axes.set_xlabel("thousands of decisions learned from")
        axes.margins(y=0.2)
        axes.grid(True)
    panels[0].set_ylabel("write amplification in validation")
    drawn = [axes.get_legend_handles_labels() for axes in panels]
    named = {name: line for lines_of, names in drawn for line, name in zip(lines_of, names, strict=True)}
    panels[0].legend(named.values(), named, loc="upper right", fontsize=6)
    figure.tight_layout()
    return save_figure(figure, out / "improving.svg")


def write(out: Path, rows: Sequence[Row]) -> None:
    """Write every measured value."""
    with (out / "results.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(Row._fields)
        writer.writerows(rows)


def main() -> None:
    """Train, evaluate, and write."""
    parser = argparse.ArgumentParser(formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("results/improving"))
    parser.add_argument("--seeds", type=int, default=5, help="training runs of each kind")
    parser.add_argument("--decisions", type=int, help="of a training run; default: as configured")
    parser.add_argument("--only", choices=KINDS, help="one kind of training; default: all")
    arguments = parser.parse_args()
    seeds = range(1, arguments.seeds + 1)
    torch.set_num_threads(1)
    chosen = [arguments.only] if arguments.only else list(KINDS)
    kinds = {kind: name for one in chosen for kind, name in KINDS[one].items()}
    train_all(arguments.out, kinds, seeds, arguments.decisions)
    rows = [*baselines(BASELINES, UNSEEN, HOST_PAGES, WARMUP), *agents(arguments.out, kinds, seeds)]
    write(arguments.out, rows)
    (arguments.out / "improving.md").write_text(table(rows), encoding="utf-8")
    print(table(rows), draw(arguments.out, kinds, in_validation(kinds), seeds), sep="\n")


if __name__ == "__main__":
    main()
