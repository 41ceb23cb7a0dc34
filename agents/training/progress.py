"""Progress of a training: what is measured, printed and validated."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import IO, Any

import numpy as np
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

from ssdgym.agents.playing.agents import Agent, play
from ssdgym.envs.sb3 import SB3VecEnv
from ssdgym.errors import SsdgymError


def metric_of(metrics: Mapping[str, Any], name: str, where: str) -> float:
    """Return a metric that has a logarithm.

    Args:
        metrics: of a run.
        name: of the metric, nested names joined by `/`.
        where: what an error begins with.

    Raises:
        SsdgymError: the run has none of that name, or it has no logarithm.
    """
    value: Any = metrics
    for part in name.split("/"):
        value = value.get(part) if isinstance(value, Mapping) else None
    if not isinstance(value, (int, float)) or not value > 0:
        raise SsdgymError(
            f"{where}: a run has {name} = {value}, of which there is no logarithm; choose another metric."
        )
    return float(value)


#: A row of the table of evaluations: `stage`, `decisions`, `return_mean` and the means of metrics.
Row = dict[str, Any]


class _Rate(ProgressColumn):
    """Decisions, or generations, per second."""

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text("" if speed is None else f"{speed:,.1f}/s" if speed < 10 else f"{speed:,.0f}/s")


def training_bar(visible: bool) -> Progress:
    """Return a bar on stderr; where that is no terminal, only lines show.

    Args:
        visible: whether anything is to be shown.
    """
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        _Rate(),
        TimeRemainingColumn(),
        console=Console(stderr=True, soft_wrap=True),
        disable=not visible,
    )


def evaluation_line(row: Row, best: bool) -> str:
    """Return a line about an evaluation.

    Args:
        row: of the table of evaluations.
        best: whether the agent is the best so far.
    """
    amplification = row.get("write_amplification")
    shown = f", write amplification {amplification:.3f}" if amplification is not None else ""
    return (
        f"{row['stage']}, {row['decisions']:,} decisions: validation return {row['return_mean']:.4g}{shown}"
        + (" (best so far)" if best else "")
    )


def write_rows(file: IO[bytes], rows: list[Row]) -> None:
    """Write the table of evaluations as CSV.

    Args:
        file: to write to.
        rows: of the table; its columns are those of all rows.
    """
    text = io.StringIO()
    columns = list(dict.fromkeys(name for row in rows for name in row))
    writer = csv.DictWriter(text, fieldnames=columns, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    file.write(text.getvalue().encode())


def validate(
    agent: Agent, batches: Sequence[SB3VecEnv], first_seed: int, metric: str | None = None
) -> dict[str, float]:
    """Play one whole episode in every environment, without exploration.

    Args:
        agent: the one to evaluate.
        batches: of n environments each.
        first_seed: seed of environment 0 of each batch; environment i has `first_seed + i`.
        metric: whose geometric mean is the score, nested names joined by `/`; less is better.

    Returns:
        `return_mean` and `return_min`, undiscounted, `reward_mean` per decision, and the mean of every metric
        that is a number; where a metric is named, `score`: minus the mean of its logarithm.

    Raises:
        SsdgymError: the episodes have no such metric.
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


def score_of(row: Mapping[str, Any]) -> float:
    """Return what the best agent is chosen by: the score of a validation, or else the mean return."""
    return float(row.get("score", row["return_mean"]))


def mean_metrics(episodes: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return the mean of every metric that is a plain number, over the episodes in which it is one.

    Args:
        episodes: their infos.
    """
    metrics = [episode.get("metrics", {}) for episode in episodes]
    numbers: dict[str, list[float]] = {}
    for metric in metrics:
        for key, value in metric.items():
            if isinstance(value, (int, float)):
                numbers.setdefault(key, []).append(value)
    return {key: float(np.mean(values)) for key, values in numbers.items()}
