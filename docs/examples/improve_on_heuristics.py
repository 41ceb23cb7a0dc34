"""Train `fast_ppo` from cost-benefit on, and from a clone of it, and hold the agents against heuristics.

`python improve_on_heuristics.py --out results/improving` trains 20 agents one after another, about half a minute
of CPU time each; what is finished is not done again. Writes `results.csv` (write amplification of every agent
and baseline on every unseen seed), `improving.md` (the table) and `improving.svg` (the learning curves).
"""

from __future__ import annotations

import argparse
import csv
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import torch
from scipy import stats

from ssdgym.agents.agent import Agent
from ssdgym.agents.config import TrainConfig
from ssdgym.agents.environments import make_environment
from ssdgym.agents.train import BEST_AGENT, EVALUATIONS, LAST_AGENT, train
from ssdgym.config.loading import load_config
from ssdgym.experiments.report.style import PALETTE, save_figure, styled
from ssdgym.experiments.runs.evaluate import run_all
from ssdgym.experiments.runs.run_spec import RunSpec

WORKLOADS = ("zipf99", "hot90")
#: The clone has no column that names the pick of cost-benefit: it learns what such picks are like.
CLONED = {
    "scorer": {"start": "none", "sharpness": 1.0},
    "prior": {"policy": "cost_benefit", "clone_decisions": 65_536, "clone_confidence": 0.4, "kl": 0.01},
    "features": [
        *("valid_fraction", "log_benefit", "log_age", "log_age_closed", "wear", "gc_stream"),
        *("log_update_rate", "log_neighbour_rate", "host_pages", "open_room"),
    ],
}
STARTS = {"PPO from cost-benefit": {}, "PPO from a clone of it": CLONED}
BASELINES = ("random_action", "greedy", "cost_benefit", "cost_benefit(exponent=0.5)")
#: Seeds of the evaluation; training and validation draw others.
UNSEEN = range(60_000, 60_008)
HOST_PAGES, WARMUP = 40_000, 20_000


def config_of(workload: str, start: str, seed: int, decisions: int | None) -> TrainConfig:
    """Return the training of an agent."""
    fields = load_config(TrainConfig, f"fast_ppo-{workload}", "agents").model_dump()
    changes = STARTS[start]
    fields["seed"] = seed
    fields["total_decisions"] = decisions or fields["total_decisions"]
    if changes:
        fields["scorer"] |= changes["scorer"]
        fields["fast_ppo"]["prior"] |= changes["prior"]
        fields["environment"]["kwargs"]["features"] = changes["features"]
        if workload == "hot90":
            fields["fast_ppo"]["prior"]["clone_confidence"] = 0.9
    return TrainConfig.model_validate(fields)


def folder_of(out: Path, workload: str, start: str, seed: int) -> Path:
    """Return where the training of an agent is."""
    return out / workload / f"{start.replace(' ', '-')}-{seed}"


def train_all(out: Path, seeds: Sequence[int], decisions: int | None) -> None:
    """Train the agents that are not there, in turns, so that an early end leaves as many of each kind."""
    for seed in seeds:
        for workload in WORKLOADS:
            for start in STARTS:
                folder = folder_of(out, workload, start, seed)
                if not (folder / "done").exists():
                    train(config_of(workload, start, seed, decisions), folder, progress=False, overwrite=True)
                    (folder / "done").touch()
                    print(f"trained {folder}", flush=True)


def measure(file: Path, workload: str) -> list[float]:
    """Return the write amplification of an agent on each unseen seed."""
    agent = Agent.load(file)
    config = TrainConfig.model_validate(agent.card.training)
    env = make_environment(config.environment, len(UNSEEN), horizon=HOST_PAGES, warmup=WARMUP)
    env.seed(UNSEEN[0])
    observation, found = env.reset(), {}
    while len(found) < len(UNSEEN):
        observation, _, dones, infos = env.step(agent.act(observation))
        for i in np.flatnonzero(dones):
            found.setdefault(int(i), infos[i]["metrics"]["write_amplification"])
    env.close()
    return [found[i] for i in range(len(UNSEEN))]


def evaluate(out: Path, seeds: Sequence[int]) -> list[dict[str, object]]:
    """Measure baselines and agents, the best on validation seeds and the last ones."""
    rows: list[dict[str, object]] = []
    runs = []
    for workload in WORKLOADS:
        for policy in BASELINES:
            agent = policy if policy == "random_action" else None
            for seed in UNSEEN:
                run = RunSpec("demo", workload, policy, seed, (("timing", "none"),), agent=agent)
                runs.append(replace(run, host_pages=HOST_PAGES, warmup=WARMUP))
    for run, result in zip(runs, run_all(runs, 1), strict=True):
        value = result.metric("write_amplification")
        rows.append({"workload": run.workload, "name": run.policy, "training_seed": "", "seed": run.seed, "wa": value})
    for workload in WORKLOADS:
        for start in STARTS:
            for seed in seeds:
                for name in (BEST_AGENT, LAST_AGENT):
                    file = folder_of(out, workload, start, seed) / name
                    for unseen, value in zip(UNSEEN, measure(file, workload), strict=True):
                        title = start if name == BEST_AGENT else f"{start}, last"
                        rows.append(
                            {"workload": workload, "name": title, "training_seed": seed, "seed": unseen, "wa": value}
                        )
    return rows


def main() -> None:
    """Train."""
    parser = argparse.ArgumentParser(formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("results/improving"))
    parser.add_argument("--seeds", type=int, default=5, help="training runs of each kind")
    parser.add_argument("--decisions", type=int, help="of a training run; default: as configured")
    arguments = parser.parse_args()
    seeds = range(1, arguments.seeds + 1)
    torch.set_num_threads(1)
    train_all(arguments.out, seeds, arguments.decisions)


if __name__ == "__main__":
    main()
