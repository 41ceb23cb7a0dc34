"""Validations of a training run: measure, store and print them; the progress bar."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from ssdgym.agents.agent import Agent
from ssdgym.agents.playing.agents import Agent as AnyAgent
from ssdgym.agents.playing.agents import play
from ssdgym.envs.sb3 import SB3VecEnv
from ssdgym.errors import SsdgymError
from ssdgym.files import write_atomically

BEST_AGENT = "agent.zip"
LAST_AGENT = "agent-last.zip"
EVALUATIONS = "evaluations.csv"


def metric_of(metrics: Mapping[str, Any], name: str, where: str) -> float:
    """Return a metric; `name` joins nested names by `/`. Raise if it is not a number above 0."""
    value: Any = metrics
    for part in name.split("/"):
        value = value.get(part) if isinstance(value, Mapping) else None
    if not isinstance(value, (int, float)) or not value > 0:
        raise SsdgymError(
            f"{where}: a run has {name} = {value}, of which there is no logarithm; choose another metric."
        )
    return float(value)


#: A row of the table of validations, such as `stage`, `decisions`, `return_mean` and means of metrics.
Row = dict[str, Any]


class _Rate(ProgressColumn):
    """A column with decisions, or generations, per second."""

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text("" if speed is None else f"{speed:,.1f}/s" if speed < 10 else f"{speed:,.0f}/s")


def training_bar(visible: bool) -> Progress:
    """Return a progress bar on stderr, which prints only lines if stderr is not a terminal."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        _Rate(),
        TimeRemainingColumn(),
        console=Console(stderr=True, soft_wrap=True, markup=False),
        disable=not visible,
    )


def evaluation_line(row: Row, best: bool) -> str:
    """Return a line of progress that summarises a validation."""
    amplification = row.get("write_amplification")
    shown = f", write amplification {amplification:.3f}" if amplification is not None else ""
    return (
        f"{row['stage']}, {row['decisions']:,} decisions: validation return {row['return_mean']:.4g}{shown}"
        + (" (best so far)" if best else "")
    )


def validate(
    agent: AnyAgent, batches: Sequence[SB3VecEnv], first_seed: int, metric: str | None = None
) -> dict[str, float]:
    """Play one whole episode in every environment, without exploration; each batch begins at `first_seed`.

    Returns:
        `return_mean` and `return_min` (undiscounted), `reward_mean` per decision, and the mean of every
        metric that is a number. If `metric` is given, also `score`: minus the mean of the metric's logarithm.
    """
    episodes = [episode for env in batches for episode in play(agent, env, first_seed)]
    returns = [episode["episode"]["r"] for episode in episodes]
    decisions = sum(episode["episode"]["l"] for episode in episodes)
    row = {
        "return_mean": float(np.mean(returns)),
        "return_min": float(np.min(returns)),
        "reward_mean": float(np.sum(returns)) / decisions,
    }
    if metric is not None:
        values = [metric_of(episode.get("metrics", {}), metric, "evaluation.metric") for episode in episodes]
        row["score"] = -float(np.log(values).mean())
    return {**row, **mean_metrics(episodes)}


class Validations:
    """The validations of a run and its best agent, with their files.

    Args:
        out: existing folder of the run.
        score: function of a row; the first agent with the highest result is the best. The default returns
            the row's `score` if it has one, otherwise its `return_mean`.
        rows: earlier validations of a resumed run.
        best: best agent of a resumed run.
    """

    def __init__(
        self,
        out: Path,
        score: Callable[[Row], float] = lambda row: row["score" if "score" in row else "return_mean"],
        rows: Sequence[Row] = (),
        best: Agent | None = None,
    ) -> None:
        self.out, self.score, self.rows, self.best = out, score, list(rows), best

    @property
    def best_row(self) -> Row:
        """The row of the best agent."""
        return max(self.rows, key=self.score)

    def add(self, row: Row, agent: Agent) -> bool:
        """Add a validation, and copy the agent if it is the best so far; return whether it is the best."""
        self.rows.append(row)
        if self.best_row is not row:
            return False
        self.best = Agent(copy.deepcopy(agent.scorer), agent.card)
        return True

    def save(self, last: Agent) -> None:
        """Write the best agent, the last one and the table of validations."""
        assert self.best is not None, "the untrained start has been validated"
        self.best.save(self.out / BEST_AGENT)
        last.save(self.out / LAST_AGENT)
        table = pd.DataFrame(self.rows, dtype=object)  # Whole numbers stay whole in columns with empty cells.
        write_atomically(self.out / EVALUATIONS, table.to_csv(index=False, lineterminator="\n").encode())


def mean_metrics(episodes: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return the mean of every metric over the episodes in which it is a number."""
    metrics = [episode.get("metrics", {}) for episode in episodes]
    numbers: dict[str, list[float]] = {}
    for metric in metrics:
        for key, value in metric.items():
            if isinstance(value, (int, float)):
                numbers.setdefault(key, []).append(value)
    return {key: float(np.mean(values)) for key, values in numbers.items()}
