"""Search settings of `ppo` in environments by Optuna, train with the best, and compare with rules.

`python search_settings.py` draws the results in `docs/pictures/settings.tsv`, as `make figures` does. With
`--trials 5` it first adds missing results: it measures rules, tries settings in short trainings, trains with
the settings best in validation on other seeds, and measures the agents on seeds that no choice used.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import optuna
import torch
from credit_curves import LOOKS, draw_levels, draw_trainings, drawing
from improve_on_heuristics import UNSEEN
from matplotlib.figure import Figure

from ssdgym.agents.agent import Agent
from ssdgym.agents.playing.agents import Agent as AnyAgent
from ssdgym.agents.playing.agents import RandomAction, play
from ssdgym.agents.playing.files import source_of
from ssdgym.agents.training.cloning import first_picks
from ssdgym.agents.training.config import FIRST_PROPOSER, EnvironmentConfig, TrainConfig, make_environment
from ssdgym.agents.training.train import TrainingRun, train
from ssdgym.envs.placement import DEFAULT_VICTIMS
from ssdgym.envs.sb3 import SB3VecEnv
from ssdgym.experiments.report.style import save_figure
from ssdgym.types import Observation

FILE = Path(__file__).resolve().parents[1] / "pictures" / "settings.tsv"
VALIDATION = range(1_000_000, 1_000_004)
UNTIMED = {"timing": "none"}


class Task(NamedTuple):
    """The task in one environment.

    Attributes:
        rules: for the name of each rule, the arguments with which the environment proposes its choice first.
        horizon: host pages of a measured episode; the warm-up has half as many.
    """

    rules: Mapping[str, Mapping[str, Any]]
    horizon: int


def _idle(rule: str) -> dict[str, Any]:
    return {"ftl": {"gc": {"idle": rule}}}


MERGES = ("mmerge", "merge", "mmerge_fixed", "cheapest_plan")
LEVELLING = (
    *(f"dual_pool(threshold={number})" for number in (1, 2, 4, 16)),
    *(f"greedy_mp(threshold={number})" for number in (1, 2, 4)),
    *(f"rejuvenator(tau={number})" for number in (1, 2, 4)),
    *(f"wear_threshold(threshold={number})" for number in (1, 2, 4)),
)
PARALLEL = (
    *("greedy", "cost_benefit", "cost_benefit(exponent=0.5)"),
    *(f"ippbe(limit={number}, tau=0.75)" for number in (2, 4, 8)),
)
PLACEMENTS = ("sep_gc", "sepbit", "dac", "sfs", "fadac(inclusive=1)")
#: Arguments for all pairs of rules: one baseline of rewards, and the streams of the largest placement.
JOINT = {"streams": 6, "reward": {"baseline": f"{DEFAULT_VICTIMS}+sep_gc"}}
#: Rules that always take the same action, which no proposer proposes.
ALWAYS = {"action 0": 0, "action 1": 1}
#: The rule over one feature that `ssdgym tune stump-subftl` found on other workloads.
REGION_STUMP = "stump(feature=sector_writes, cut=0.25)"
TASKS = {
    "BackgroundGC": Task(
        {name: _idle(name) for name in ("blocking", *(f"threshold(blocks={n})" for n in range(3, 13)))}, 8192
    ),
    "SubpageRegion": Task({name: {} for name in ("region_rule", *ALWAYS, REGION_STUMP)}, 8192),
    "MergePlan": Task({name: {"proposers": [name]} for name in MERGES}, 8192),
    "WearLevel": Task(
        {name: {"workload": "hot90", "ftl": UNTIMED, "levelling": name} for name in LEVELLING}, 16_384
    ),
    "ParallelErase": Task({name: {"proposers": [name]} for name in PARALLEL}, 8192),
    "JointGC": Task(
        {
            f"{victims}+{placement}": {
                **JOINT,
                "proposers": [victims],
                "ftl": {**UNTIMED, "placement": placement},
            }
            for victims in ("greedy", DEFAULT_VICTIMS)
            for placement in PLACEMENTS
        },
        8192,
    ),
}
#: Number of environments; decisions that a clone learns from; decisions of a trial and between validations.
N_ENVS, CLONED, DECISIONS = 16, 8192, 16_384
COMMON = {"rollout_steps": 256, "batch_decisions": 1024, "epochs": 3}


class Row(NamedTuple):
    """A measurement: of a `rule`, of `random_action`, of a `trial`, in `validation`, or of a `training`.

    Attributes:
        name: name of the rule, or the settings as JSON.
        returns: returns of episodes on the unseen seeds; for validation and trials, mean returns.
    """

    environment: str
    kind: str
    name: str
    seed: int
    decisions: int
    cpu_seconds: float
    returns: tuple[float, ...] = ()

    @property
    def mean(self) -> float:
        """The mean return."""
        return sum(self.returns) / len(self.returns)


class Proposed:
    """An agent that takes always one action, or the first proposal; without it the first valid action."""

    def __init__(self, env: SB3VecEnv, always: int | None) -> None:
        self.env, self.always = env, always

    def act(self, observation: Observation, mask: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return the picks, int64 (n,)."""
        if self.always is not None:
            return np.full(len(mask), self.always)
        picks = first_picks(self.env.last_infos["proposed"])
        return np.where(picks < 0, mask.argmax(axis=1), picks)


def config_of(name: str, settings: Mapping[str, Any], seed: int, decisions: int) -> TrainConfig:
    """Return the training configuration with some settings."""
    ppo = {**COMMON, **settings}
    rule, cloned = ppo.pop("rule"), ppo.pop("cloned")
    teacher = rule if rule.startswith("stump(") else FIRST_PROPOSER
    prior = {"policy": teacher, "clone_decisions": CLONED} if cloned else {}
    kwargs = {**TASKS[name].rules[rule], "horizon": 4 * TASKS[name].horizon}
    return TrainConfig.model_validate(
        {
            "algorithm": "ppo",
            "environment": {"id": f"ssdgym/{name}-v0", "kwargs": kwargs},
            "n_envs": N_ENVS,
            "total_decisions": decisions,
            "checkpoint_decisions": DECISIONS,
            "seed": seed,
            "scorer": {"start": "none", "sharpness": 1.0},
            "prior": prior,
            "ppo": ppo | {"start_kl": 0.01 if cloned else 0.0},
            "evaluation": {
                "episodes": len(VALIDATION),
                "first_seed": VALIDATION[0],
                "kwargs": lengths(name),
            },
        }
    )


def lengths(name: str) -> dict[str, int]:
    """Return the lengths of a measured episode."""
    return {"horizon": TASKS[name].horizon, "warmup": TASKS[name].horizon // 2}


def environment_of(name: str, rule: str, number: int) -> SB3VecEnv:
    """Return `number` environments whose first proposal is the rule's choice, for measured episodes."""
    kwargs = {**TASKS[name].rules[rule], **lengths(name)}
    return make_environment(EnvironmentConfig(id=f"ssdgym/{name}-v0", kwargs=kwargs), number)


def returns(name: str, rule: str, agent: AnyAgent | None, seeds: range) -> tuple[float, ...]:
    """Return the returns of episodes of an agent, or, without an agent, of the rule."""
    with closing(environment_of(name, rule, len(seeds))) as env:
        if agent is None and rule.startswith("stump("):
            agent = source_of(rule).build(env.vector_env)
        player = agent or Proposed(env, ALWAYS.get(rule))
        return tuple(float(episode["episode"]["r"]) for episode in play(player, env, seeds[0]))


def trained(
    name: str, settings: Mapping[str, Any], seed: int, decisions: int
) -> tuple[list[Row], Agent, float]:
    """Train; return the validations, the best agent (possibly the untrained one), and CPU seconds."""
    begun, curve = time.process_time(), []

    def note(run: TrainingRun) -> None:
        curve[:] = [
            Row(name, "validation", "", seed, row["decisions"], 0.0, (row["return_mean"],))
            for row in run.validations.rows
            if row["stage"] == "ppo"
        ]

    with TemporaryDirectory() as folder:
        file = train(config_of(name, settings, seed, decisions), Path(folder), progress=False, report=note)
        return curve, Agent.load(file), time.process_time() - begun


def search(path: Path, name: str, trials: int, seeds: int) -> None:
    """Measure rules, try settings and train with the best; add missing results to the file."""
    task = TASKS[name]
    if not of(read(path), name, "trial"):
        rules = [rule for rule in task.rules if rule not in ALWAYS]
        best = max(rules, key=lambda rule: sum(returns(name, rule, None, VALIDATION)))
        for rule in task.rules:
            _add(path, [Row(name, "rule", rule, 0, 0, 0.0, returns(name, rule, None, UNSEEN))])
        _add(path, [Row(name, "random_action", best, 0, 0, 0.0, returns(name, best, RandomAction(), UNSEEN))])
        study = optuna.create_study(sampler=optuna.samplers.TPESampler(n_startup_trials=3, seed=0))
        for number in range(trials):
            trial, first = study.ask(), 100 + 2 * number
            settings = {"rule": best, **drawn(trial)}
            both = [trained(name, settings, seed, DECISIONS) for seed in (first, first + 1)]
            found = tuple(curve[-1].mean for curve, *_ in both)
            seconds = sum(seconds for *_, seconds in both)
            row = Row(name, "trial", json.dumps(settings), first, DECISIONS, seconds, found)
            study.tell(trial, -row.mean)
            _add(path, [row])
    for seed in range(1, seeds + 1):
        rows = read(path)
        if all(row.seed != seed for row in of(rows, name, "training")):
            settings = best_settings(rows, name)
            curve, agent, seconds = trained(name, settings, seed, 4 * DECISIONS)
            found = returns(name, settings["rule"], agent, UNSEEN)
            about = (json.dumps(settings), seed, 4 * DECISIONS, seconds, found)
            _add(path, [Row(name, "training", *about), *curve])


def drawn(trial: optuna.Trial) -> dict[str, Any]:
    """Return the settings that a trial tries."""
    return {
        "cloned": trial.suggest_categorical("cloned", [True, False]),
        "learning_rate": float(f"{trial.suggest_float('learning_rate', 3e-4, 1e-2, log=True):.2g}"),
        "gamma": trial.suggest_categorical("gamma", [0.9, 0.99, 0.998]),
        "gae_lambda": trial.suggest_categorical("gae_lambda", [0.9, 0.98]),
        "entropy_coefficient": trial.suggest_categorical("entropy_coefficient", [0.0, 0.003]),
    }


def best_settings(rows: Sequence[Row], name: str) -> dict[str, Any]:
    """Return the settings of the trial that is best in validation."""
    found: dict[str, Any] = json.loads(max(of(rows, name, "trial"), key=lambda row: row.mean).name)
    return found


def of(rows: Sequence[Row], name: str, kind: str) -> list[Row]:
    """Return the rows of one kind for one environment."""
    return [row for row in rows if (row.environment, row.kind) == (name, kind)]


def read(path: Path) -> list[Row]:
    """Return the results that the file has."""
    lines = path.read_text(encoding="utf-8").splitlines()[1:] if path.exists() else []
    rows = [line.split("\t") for line in lines]
    return [
        Row(*row[:3], int(row[3]), int(row[4]), float(row[5]), tuple(map(float, row[6].split())))
        for row in rows
    ]


def _add(path: Path, rows: Sequence[Row]) -> None:
    """Write rows at the end of the file."""
    lines = [] if path.exists() else ["\t".join(Row._fields)]
    for row in rows:
        found = " ".join(f"{value:.6g}" for value in row.returns)
        lines.append("\t".join([*map(str, row[:5]), f"{row.cpu_seconds:.1f}", found]))
    with path.open("a", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in lines)


def best_rule(rows: Sequence[Row], name: str) -> Row:
    """Return the rule that is best on the unseen seeds."""
    return max(of(rows, name, "rule"), key=lambda row: row.mean)


def draw(rows: Sequence[Row], look: str, path: Path) -> Path:
    """Draw the trainings of all environments beside the best rule and random actions; return the path."""
    names = list(dict.fromkeys(row.environment for row in rows))
    across, down = 3, -(-len(names) // 3)
    with drawing(look) as (grey, colours):
        figure = Figure(figsize=(8, 2.2 * down), layout="constrained", facecolor="none")
        for number, name in enumerate(names):
            axes = figure.add_subplot(down, across, number + 1, facecolor="none")
            curves = [(row.decisions, row.mean) for row in of(rows, name, "validation")]
            ends = [row.mean for row in of(rows, name, "training")]
            draw_trainings(axes, curves, ends, color=colours[0])
            rule, (random,) = best_rule(rows, name), of(rows, name, "random_action")
            levels = {re.sub(r"\(.*?\)", "", rule.name): rule.mean, "random": random.mean}
            span = np.ptp([*axes.get_ylim(), *levels.values()])
            draw_levels(axes, levels, 0.08 * span, grey)
            axes.yaxis.set_major_formatter(lambda y, _: f"{y:,.0f}" if abs(y) < 10_000 else f"{y / 1000:,g}k")
            axes.set(title=name, xlabel="decisions", ylabel="" if number % across else "return")
        return save_figure(figure, path)


def main() -> None:
    """Add missing results, and draw both pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--file", type=Path, default=FILE, help="what was measured")
    parser.add_argument("--only", choices=list(TASKS), help="one environment")
    parser.add_argument("--trials", type=int, default=0, help="settings that are tried in each environment")
    parser.add_argument("--seeds", type=int, default=5, help="trainings with the best")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    if chosen.trials:
        for name in [chosen.only] if chosen.only else TASKS:
            search(chosen.file, name, chosen.trials, chosen.seeds)
    for look in LOOKS:
        print(draw(read(chosen.file), look, chosen.file.with_name(f"{chosen.file.stem}-{look}.svg")))


if __name__ == "__main__":
    main()
