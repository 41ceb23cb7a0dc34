"""Train the agents of the zoo that learn by gradients, and write results on a test split to their cards.

`python pretrained.py --out results/zoo` trains five seeds of each agent in its folder (finished work is not
repeated), measures them and heuristics on workloads and seeds that no training has seen, and writes the
table. With `--zoo FOLDER` it also writes the agents: one per seed, and the best in validation without seed.
"""

from __future__ import annotations

import argparse
import csv
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ssdgym.agents.agent import Agent
from ssdgym.agents.training.validation import BEST_AGENT, EVALUATIONS
from ssdgym.experiments.leaderboard.suites import load_suite
from ssdgym.experiments.runs.evaluate import run_all
from ssdgym.experiments.runs.spec import RunSpec
from ssdgym.experiments.statistics import Estimate, geometric_mean_ratio

TABLE = Path(__file__).resolve().parents[1] / "tables" / "reach-zoo.csv"
#: Seeds of the measured runs; training and validation use other seeds.
UNSEEN = (100, 101)
EXPONENTS = (0.5, 0.7, 1.0, 1.4)
#: Workloads of the test split: random draws, drifting popularity, a program, a volume.
WORKLOADS = ("zipf99", "hot90", "drifting", "varmail_wide", "synthetic:prn_0")
HOST_PAGES, WARMUP = 40_000, 20_000


class Kind(NamedTuple):
    """The test of one training, and the heuristics to compare with.

    Attributes:
        policy: policy in which `{}` stands for the agent or the heuristic.
        rivals: names of the heuristics.
    """

    device: str
    policy: str
    rivals: tuple[str, ...]


KINDS = {
    "victim-ppo-v1": Kind(
        "demo",
        "{}+sep_gc",
        (
            "greedy",
            *(f"cost_benefit(exponent={exponent:g})" for exponent in EXPONENTS),
            *(f"cost_benefit(exponent={exponent:g}, since_close=1)" for exponent in EXPONENTS),
        ),
    ),
}


class Measured(NamedTuple):
    """Write amplifications of one kind of training.

    Attributes:
        rivals: those of each heuristic, by name, (runs, workloads).
        agents: those of the agents, (trainings, runs, workloads).
    """

    rivals: dict[str, np.ndarray]
    agents: np.ndarray

    @property
    def best(self) -> str:
        """The heuristic with the least geometric mean, chosen after the measurement, which favours it."""
        return min(self.rivals, key=lambda name: np.log(self.rivals[name]).mean())

    def ratio(self, trainings: slice) -> Estimate:
        """Return the geometric mean relative to the best heuristic, and its interval over runs, workloads."""
        return geometric_mean_ratio(self.agents[trainings] / self.rivals[self.best], WORKLOADS)

    def card(self, trainings: slice) -> dict[str, float]:
        """Return the measurements on the card of an agent, to four digits."""
        found, worst = self.ratio(trainings), (self.agents[trainings] / self.rivals[self.best]).mean((0, 1))
        values = {"": found.value, ", low": found.low, ", high": found.high, ", worst": worst.max()}
        count = f", {len(self.agents[trainings])} trainings" if len(self.agents[trainings]) > 1 else ""
        return {f"test × {self.best}{count}{end}": round(float(value), 4) for end, value in values.items()}


def train(name: str, seed: int, out: Path) -> Path:
    """Train an agent in a separate process, unless its folder exists; return the folder."""
    folder = out / f"{name}-seed{seed}"
    if not (folder / "done").exists():
        command = ["train", name, "--seed", str(seed), "--out", str(folder), "--overwrite"]
        subprocess.run([sys.executable, "-m", "ssdgym", *command], check=True)
        (folder / "done").touch()
    return folder


def measure(kind: Kind, files: Sequence[Path], suite: str) -> Measured:
    """Run agents and heuristics on the workloads of a suite's test split."""
    kept = load_suite(suite).splits["test"]
    assert all(workload in kept for workload in WORKLOADS), "they are kept from training"
    policies = [*(f"agent:{file.resolve()}" for file in files), *kind.rivals]
    runs = [
        RunSpec(
            kind.device,
            workload,
            kind.policy.format(policy),
            seed,
            (("timing", "none"),),
            host_pages=HOST_PAGES,
            warmup=WARMUP,
        )
        for policy in policies
        for seed in UNSEEN
        for workload in WORKLOADS
    ]
    found = np.array([result.metric("write_amplification") for result in run_all(runs, 1)])
    of_policy = dict(zip(policies, found.reshape(len(policies), len(UNSEEN), -1), strict=True))
    rivals = {name: of_policy[name] for name in kind.rivals}
    return Measured(rivals, np.array([of_policy[policy] for policy in policies[: len(files)]]))


def best_of(folders: Sequence[Path]) -> int:
    """Return the number of the training with the best validation."""
    scores = []
    for folder in folders:
        with (folder / EVALUATIONS).open(encoding="utf-8") as file:
            scores.append(max(float(row["score"]) for row in csv.DictReader(file)))
    return int(np.argmax(scores))


def put_into_zoo(name: str, folders: Sequence[Path], measured: Measured, zoo: Path) -> None:
    """Write the agents, with their measurements on their cards."""
    named = [(f"{name}-seed{number + 1}", number) for number in range(len(folders))]
    for label, number in [*named, (name, best_of(folders))]:
        agent = Agent.load(folders[number] / BEST_AGENT)
        results = measured.card(slice(number, number + 1)) | measured.card(slice(None))
        card = agent.card.model_copy(update={"results": results})
        print(Agent(agent.scorer, card).save(zoo / f"{label}.zip"))


def rows_of(name: str, measured: Measured) -> Iterator[tuple[str, ...]]:
    """Yield the rows of the table: the agent, then heuristics, the best first."""
    own = measured.ratio(slice(None))
    values = [f"{value:.3f}" for value in measured.agents.mean((0, 1))]
    trained = f"**{name}**, {len(measured.agents)} trainings"
    yield (trained, *values, f"{own.value:.3f} [{own.low:.3f}, {own.high:.3f}]")
    order = sorted(measured.rivals, key=lambda one: np.log(measured.rivals[one]).mean())
    for rival in order:
        ratio = measured.rivals[rival] / measured.rivals[measured.best]
        values = [f"{value:.3f}" for value in measured.rivals[rival].mean(0)]
        yield (f"`{rival}`", *values, f"{np.exp(np.log(ratio).mean()):.3f}")


def main() -> None:
    """Train, measure, and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("results/zoo"))
    parser.add_argument("--seeds", type=int, default=5, help="trainings of each")
    parser.add_argument("--only", choices=list(KINDS), help="one of them; the table is not written then")
    parser.add_argument("--zoo", type=Path, help="folder for the agents")
    parser.add_argument("--table", type=Path, default=TABLE)
    chosen = parser.parse_args()
    rows = [("", *(f"`{workload}`" for workload in WORKLOADS), "× best heuristic")]
    for name in [chosen.only] if chosen.only else KINDS:
        folders = [train(name, seed, chosen.out) for seed in range(1, chosen.seeds + 1)]
        files = [folder / BEST_AGENT for folder in folders]
        measured = measure(KINDS[name], files, Agent.load(files[0]).card.suite)
        rows += rows_of(name, measured)
        if chosen.zoo:
            put_into_zoo(name, folders, measured, chosen.zoo)
    print("\n".join(" | ".join(row) for row in rows))
    if not chosen.only:
        with chosen.table.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(rows)


if __name__ == "__main__":
    main()
