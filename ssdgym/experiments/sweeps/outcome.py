"""The outcome of a sweep: the state of every trial, the best trial, and the files about both."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from ssdgym.errors import SsdgymError
from ssdgym.experiments.report.tables import NOTHING, Entry, Table
from ssdgym.experiments.results import Result, read_results, write_csv, write_results
from ssdgym.experiments.sweeps.config import SweepConfig
from ssdgym.experiments.sweeps.trials import ALL, RESULTS, Measurement, Trial, plan_trial, shown
from ssdgym.files import writable_folder, write_atomically

BEST_AGENT = Path("best", "agent.zip")
TrialState = Literal["finished", "stopped early", "failed"]


@dataclass(frozen=True)
class TrialOutcome:
    """The outcome of a trial.

    Attributes:
        number: number of the trial in the order in which Ray made them, from 0.
        trial: the trial with its parameters.
        state: finished; stopped early by the scheduler; or failed.
        found: the trial's last measurement; empty if the trial failed before it measured anything.
        results: results of the held-out runs of the last measurement.
        error: the error of a failed trial in one line; otherwise empty.
    """

    number: int
    trial: Trial
    state: TrialState
    found: Measurement
    results: Sequence[Result] = ()
    error: str = ""


def outcome_of(sweep: SweepConfig, number: int, result: Any) -> TrialOutcome:
    """Return the outcome of trial `number` of a sweep; `result` is Ray's `Result` of the trial."""
    trial = plan_trial(sweep, result.config)
    names = ("metric", "low", "high", "percent", "decisions")
    found = {name: result.metrics[name] for name in names if name in result.metrics}
    results = read_results(Path(result.checkpoint.path) / RESULTS) if result.checkpoint else ()
    if result.error:
        error = f"{last_line(result.error)} (traceback in {result.path}/error.txt)"
        return TrialOutcome(number, trial, "failed", found, results, error)
    state: TrialState = "finished" if found and found["percent"] >= ALL else "stopped early"
    return TrialOutcome(number, trial, state, found, results)


def last_line(error: object) -> str:
    """Return the last line of an error, which is the message; the lines before it are Ray's traceback."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1].removeprefix(f"{SsdgymError.__module__}.SsdgymError: ") if lines else repr(error)


@dataclass(frozen=True)
class SweepOutcome:
    """The outcome of a sweep."""

    sweep: SweepConfig
    folder: Path
    trials: Sequence[TrialOutcome]

    @property
    def ranked(self) -> list[TrialOutcome]:
        """The trials that did not fail: finished trials, then trials stopped early, both best first."""
        sign = 1.0 if self.sweep.mode == "min" else -1.0

        def key(outcome: TrialOutcome) -> tuple[bool, float]:
            found = outcome.found
            return outcome.state != "finished", sign * found["metric"] if found else math.inf

        return sorted((trial for trial in self.trials if trial.state != "failed"), key=key)

    @property
    def best(self) -> TrialOutcome | None:
        """The best finished trial; `None` if there is none."""
        return next((trial for trial in self.ranked if trial.state == "finished"), None)

    @property
    def best_agent(self) -> Path | None:
        """The file of the best trial's agent; `None` if the trials trained no agents."""
        best = self.best
        return self.folder / BEST_AGENT if best and best.trial.training is not None else None

    @property
    def command(self) -> str | None:
        """The command that measures the best trial on the suite's validation split, or else on new seeds.

        There are as many new seeds as the sweep has, but at least 8. `None` if no trial finished.
        """
        seeds = self.sweep.evaluation.all_seeds
        fresh = range(seeds[-1] + 1, seeds[-1] + 1 + max(8, len(seeds)))
        if self.best is None:
            return None
        return self.best.trial.command(self.best_agent, fresh, self.sweep.evaluation.suite)

    @property
    def results(self) -> list[Result]:
        """The results of all trials, in order; of results of the same run, only the first."""
        found: dict[tuple[str | int, ...], Result] = {}
        for outcome in self.trials:
            for result in outcome.results:
                key = (result.device, result.ftl, result.workload, result.policy, result.seed)
                found.setdefault(key, result)
        return list(found.values())

    def rows(self) -> list[dict[str, Any]]:
        """Return one row per trial, in the order of `trials`; missing values are `None`."""
        metric = self.sweep.metric
        return [
            {
                "trial": outcome.number,
                **outcome.trial.parameters,
                metric: outcome.found.get("metric"),
                f"{metric} low": _or_none(outcome.found.get("low", math.nan)),
                f"{metric} high": _or_none(outcome.found.get("high", math.nan)),
                **({"best at decisions": outcome.found.get("decisions")} if self._trains else {}),
                "percent": outcome.found.get("percent", 0),
                "state": outcome.state,
                "error": outcome.error,
            }
            for outcome in self.trials
        ]

    @property
    def files(self) -> list[Path]:
        """The paths of the files that `write` writes."""
        names = ["trials.md", "trials.csv", "results.parquet", "results.csv"]
        return [self.folder / name for name in names] + ([self.best_agent] if self.best_agent else [])

    def write(self) -> None:
        """Write the table of trials, the results and the best agent into the folder."""
        markdown, table = self.files[:2]
        write_atomically(markdown, self.markdown().encode())
        rows = pd.DataFrame(self.rows(), dtype=object)
        write_csv(table, rows.map(lambda cell: json.dumps(cell) if isinstance(cell, list | dict) else cell))
        write_results(self.results, self.folder / "results")
        if self.best_agent and self.best:
            spec = json.loads(self.best.results[0].spec)
            writable_folder(self.best_agent.parent)
            write_atomically(self.best_agent, Path(spec["agent"]["path"]).read_bytes())

    def markdown(self) -> str:
        """Return the table of trials as Markdown."""
        note = (
            "The metric is the geometric mean over the held-out workloads of its interquartile mean over "
            "seeds, with the 95 % interval. "
        )
        if self._trains:
            note += (
                "The measured agent of a trial is the one that was best in the trial's validation; at 0 "
                "decisions, training has not improved the untrained agent. "
            )
        note += "The metric has chosen the best trial, so measure this trial again on other seeds"
        how = f":\n\n    {self.command}\n" if self.command else ".\n"
        table = "\n".join(self.table.to_markdown())
        return f"# {self.sweep.description or 'Sweep'}\n\n{table}\n\n{note}{how}"

    @property
    def table(self) -> Table:
        """A table with a row per trial, the best first, and failed trials last."""
        names, metric = list(self.sweep.space), self.sweep.metric
        failed = [outcome for outcome in self.trials if outcome.state == "failed"]
        lines = []
        for outcome in [*self.ranked, *failed]:
            found, parameters = outcome.found, outcome.trial.parameters
            line = [Entry(str(outcome.number), number=outcome.number)]
            line += [Entry(shown(parameters[name])) for name in names]
            if found:
                line.append(Entry.of(found["metric"], found["low"], found["high"], shown))
                decisions = found.get("decisions", 0)
                trained = Entry(f"{decisions:,}" if decisions else "0: untrained", number=decisions)
            else:
                line.append(NOTHING)
                trained = NOTHING
            line += [trained] if self._trains else []
            lines.append((*line, Entry(f"{outcome.state} ({found.get('percent', 0)} %)")))
        if any(line[len(names) + 1].note for line in lines):
            metric += " [95 %]"
        decided = ["best at decisions"] if self._trains else []
        return Table("", "", ("trial", *names, metric, *decided, "state"), tuple(lines))

    @property
    def _trains(self) -> bool:
        return self.sweep.trial.kind == "agent"


def _or_none(value: float) -> float | None:
    return None if math.isnan(value) else value
