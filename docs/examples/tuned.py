"""Write two tables, the tuned settings and the results with them: `python tuned.py`.

Settings come from `configs/training`, from the scripts, and from `search_settings.py`. Results of agents, and
of heuristics on the same seeds, are read from other tables in the same folder, and from the file of
`search_settings.py`.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import credit_per_page
import numpy as np
import pandas as pd
import ppo_credit
import search_settings
from credit_curves import PRICES
from learning_curves import interval

from ssdgym.agents.training.config import TrainConfig, default_of
from ssdgym.config.loading import load_config

TABLES = Path(__file__).resolve().parents[1] / "tables"
#: Configurations, and the start of their rows in the table of results.
TRAININGS = {
    "ppo-zipf99": "**`ppo` from cost-benefit**",
    "ppo-hot90": "**`ppo` from cost-benefit**",
    "ppo-hot90-wide": "**`ppo` from cost-benefit, 128 candidates**",
}
SCRIPTS = {
    "credit_per_page.py": (credit_per_page.Args, "**DQN with credit**"),
    "ppo_credit.py": (ppo_credit.Args, "**PPO with credit**"),
}
HEAD = (
    *("settings", "environment", "workload", "decisions", "environments", "batch", "epochs", "learning rate"),
    *("discount", "λ", "measured", "result", "best heuristic", "random action", "over heuristic", "CPU s"),
)
#: Rows of results that are no heuristics: learners and random actions.
_OTHERS = re.compile(r"\*\*|`td_lifetime`|`random_action`|a stream at random|`\w+\.py`|$")


class Results(NamedTuple):
    """A table of results: for each row, its cells by workload."""

    rows: dict[str, dict[str, str]]

    @classmethod
    def read(cls, name: str) -> Results:
        """Read a table that has a column for each workload."""
        with (TABLES / f"{name}.csv").open(encoding="utf-8", newline="") as file:
            head, *rows = csv.reader(file)
        names = [column.strip("`") for column in head]
        return cls({row[0]: dict(zip(names, row, strict=True)) for row in rows})

    def row(self, begin: str, workload: str) -> str:
        """Return the cell of the row whose label starts with `begin`."""
        (found,) = (row[workload] for label, row in self.rows.items() if label.startswith(begin))
        return found

    def best(self, workload: str) -> str:
        """Return the heuristic with the least value, and its cell."""
        found = {label: row[workload] for label, row in self.rows.items() if not _OTHERS.match(label)}
        label = min(
            (label for label, cell in found.items() if cell), key=lambda one: float(found[one].split()[0])
        )
        return f"{label} {found[label]}"


def rows() -> Iterator[tuple[object, ...]]:
    """Yield the rows of the table."""
    results = Results.read("reach-ppo")
    for name, label in TRAININGS.items():
        config = load_config(TrainConfig, name, "training")
        ppo, workload = config.ppo, config.environment.kwargs["workload"]
        settings = (ppo.batch_decisions, ppo.epochs, ppo.learning_rate, ppo.gamma, ppo.gae_lambda)
        about = (f"`{name}`", "`EraseVictim-v0`", workload, f"{config.total_decisions:,}", config.n_envs)
        ends = (
            "write amplification",
            results.row(label, workload),
            results.best(workload),
            results.row("`random_action`", workload),
        )
        yield (*about, *settings, *ends, "", "")
    results = Results.read("reach-credit")
    for name, (kind, label) in SCRIPTS.items():
        for workload, price in PRICES.items():
            args = kind(workload=workload, price=price)
            settings = (
                args.batch_size,
                getattr(args, "epochs", ""),
                args.learning_rate,
                args.gamma,
                "one step",
            )
            about = (f"`{name} --price {price:g}`", "`Placement-v0`", workload)
            about += (f"{args.total_steps * args.num_envs:,}", args.num_envs)
            random = results.row("a stream at random", workload)
            ends = ("write amplification", results.row(label, workload), results.best(workload), random)
            yield (*about, *settings, *ends, "", "")


def searched() -> Iterator[tuple[object, ...]]:
    """Yield the rows of environments whose settings were searched; the measure is the return.

    Intervals of agents are over trainings; those of heuristics, and of differences to the best, over seeds.
    """
    measured = search_settings.read(search_settings.FILE)
    for name in dict.fromkeys(row.environment for row in measured):
        trainings = search_settings.of(measured, name, "training")
        (random,) = search_settings.of(measured, name, "random_action")
        rule, found = search_settings.best_rule(measured, name), json.loads(trainings[0].name)
        returns = np.array([row.returns for row in trainings])
        arguments = next(iter(search_settings.TASKS[name].rules.values()))
        workload = arguments.get("workload") or default_of(f"ssdgym/{name}-v0", "workload")
        start = f"a clone of `{found['rule']}`" if found["cloned"] else "scratch"
        yield (
            f"`ppo` from {start}, entropy {found['entropy_coefficient']:g}",
            *(f"`{name}-v0`", workload, f"{trainings[0].decisions:,}"),
            *(
                search_settings.N_ENVS,
                *(search_settings.COMMON[part] for part in ("batch_decisions", "epochs")),
            ),
            *(*(found[part] for part in ("learning_rate", "gamma", "gae_lambda")), "return"),
            _in_words(returns.mean(axis=1)),
            *(f"`{rule.name}` {_in_words(np.array(rule.returns))}", _in_words(np.array(random.returns))),
            _in_words(returns.mean(axis=0) - rule.returns),
            f"{np.mean([row.cpu_seconds for row in trainings]):.0f}",
        )


def _in_words(values: np.ndarray) -> str:
    """Return a mean with its 95 % interval."""
    digits = 1 if abs(values.mean()) < 1000 else 0
    mean, low, high = (round(float(one), digits) + 0.0 for one in (values.mean(), *interval(values)))
    return f"{mean:,.{digits}f} [{low:,.{digits}f}, {high:,.{digits}f}]"


def main() -> None:
    """Write the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=TABLES, help="folder")
    whole = pd.DataFrame([*rows(), *searched()], columns=pd.Index(HEAD), dtype=str)
    for name, columns in {"tuned": HEAD[:10], "tuned-reached": (*HEAD[:3], *HEAD[10:])}.items():
        path = parser.parse_args().out / f"{name}.csv"
        whole[list(columns)].to_csv(path, index=False, lineterminator="\n")
        print(path)


if __name__ == "__main__":
    main()
