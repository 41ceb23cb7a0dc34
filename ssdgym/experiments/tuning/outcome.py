"""The outcome of a sweep: the state of every trial, the best of them, and the files about both."""

from __future__ import annotations

import csv
import io
import json
import math
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import ssdgym
from ssdgym.errors import SsdgymError
from ssdgym.experiments.results import Result, write_results
from ssdgym.experiments.tuning.config import Parameters, SweepConfig
from ssdgym.experiments.tuning.measuring import (
    ALL,
    StageRecord,
    TrialReport,
    last_report,
    records_of,
    stage_reports,
)
from ssdgym.experiments.tuning.trials import Trial
from ssdgym.files import writable_folder, write_bytes

_RECORD = "sweep.json"
_TRIALS = "trials"
_PARAMETERS = "parameters.json"


def trial_folder(folder: Path, number: int) -> Path:
    """Return the folder of a trial.

    Args:
        folder: that of its sweep.
        number: of the trial.
    """
    return folder / _TRIALS / f"{number:04d}"


def begin_trial(folder: Path, parameters: Parameters) -> None:
    """Begin the folder of a trial, or leave it as it is if it holds a trial of the same parameters.

    A search may come to other parameters when a sweep is resumed, where a trial that had failed succeeds.

    Args:
        folder: of the trial alone, made where missing.
        parameters: the swept fields.

    Raises:
        SsdgymError: the folder cannot be written.
    """
    path = folder / _PARAMETERS
    record = json.dumps(parameters, indent=2).encode()
    if path.exists() and path.read_bytes() != record:
        shutil.rmtree(folder)
    writable_folder(folder)
    if not path.exists():
        write_bytes(path, record)


def _record(sweep: SweepConfig) -> dict[str, Any]:
    """Return all that must be equal for a sweep to go on."""
    from ssdgym.engine.compiler.cache import engine_hash

    return {
        "sweep": sweep.model_dump(mode="json", exclude={"sizes", "description"}),
        "version": ssdgym.__version__,
        "engine_hash": engine_hash(),
    }


def begin(sweep: SweepConfig, folder: Path) -> None:
    """Begin a sweep.

    Args:
        sweep: which.
        folder: empty, or made.

    Raises:
        SsdgymError: the folder holds a sweep or other files, or cannot be written.
    """
    writable_folder(folder)
    path = folder / _RECORD
    if path.exists():
        raise SsdgymError(
            f"{folder}: already holds a sweep; go on with it by --resume {folder}, or choose another folder"
        )
    if any(folder.iterdir()):
        raise SsdgymError(f"{folder}: holds other files; choose a new or an empty folder with --out")
    write_bytes(path, json.dumps(_record(sweep), indent=2).encode())


def require_same_sweep(sweep: SweepConfig, folder: Path) -> None:
    """Check that a sweep can go on.

    Args:
        sweep: which.
        folder: that in which it was begun.

    Raises:
        SsdgymError: the folder holds no sweep, or another one.
    """
    path = folder / _RECORD
    try:
        there = json.loads(path.read_text(encoding="utf-8"))
        saved = {**there.pop("sweep"), **there}
    except FileNotFoundError as error:
        raise SsdgymError(
            f"{folder}: holds no sweep to go on with; correct --resume or leave it out"
        ) from error
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise SsdgymError(
            f"{path}: not the record of a sweep, or a damaged one; begin a new sweep"
        ) from error
    record = _record(sweep)
    for name, value in {**record.pop("sweep"), **record}.items():
        if saved.get(name) != value:
            raise SsdgymError(
                f"{folder}: holds a sweep with another {name}; resume it as it was begun, or choose another "
                "folder with --out"
            )
    writable_folder(folder)


BEST_AGENT = Path("best", "agent.zip")
TrialState = Literal["finished", "stopped early", "failed"]
Rows = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class TrialOutcome:
    """How a trial ended.

    Attributes:
        trial: which one.
        state: finished; stopped early by the scheduler; or failed.
        report: its last one; `None` if it failed before the first.
        error: of a failed one.
        stages: of a member of a population, each with its report, `None` where it was not measured.
    """

    trial: Trial
    state: TrialState
    report: TrialReport | None
    error: str = ""
    stages: Sequence[tuple[StageRecord, TrialReport | None]] = ()


@dataclass(frozen=True)
class SweepOutcome:
    """How a sweep ended.

    Attributes:
        sweep: its configuration.
        folder: where its files are.
        trials: one for each trial, in order.
    """

    sweep: SweepConfig
    folder: Path
    trials: Sequence[TrialOutcome]

    @property
    def ranked(self) -> list[TrialOutcome]:
        """The trials that did not fail, the best first, the earliest of equals; those stopped early last."""
        sign = 1.0 if self.sweep.mode == "min" else -1.0

        def key(outcome: TrialOutcome) -> tuple[bool, float]:
            assert outcome.report is not None  # a trial without one has failed
            return outcome.state != "finished", sign * outcome.report.metric

        return sorted((trial for trial in self.trials if trial.state != "failed"), key=key)

    @property
    def best(self) -> TrialOutcome | None:
        """The best finished trial; `None` if there is none."""
        return next((trial for trial in self.ranked if trial.state == "finished"), None)

    @property
    def best_agent(self) -> Path | None:
        """The file of the best trial's agent; `None` where heuristics were swept."""
        best = self.best
        return self.folder / BEST_AGENT if best and best.trial.training is not None else None

    @property
    def command(self) -> str | None:
        """How to measure the best trial on as many seeds that have not chosen it."""
        seeds = self.sweep.evaluation.all_seeds
        fresh = range(seeds[-1] + 1, seeds[-1] + 1 + max(8, len(seeds)))
        return self.best.trial.command(self.best_agent, fresh) if self.best else None

    @property
    def results(self) -> list[Result]:
        """The results of all trials, in order; of heuristics that were drawn twice, once."""
        found: dict[tuple[str | int, ...], Result] = {}
        for outcome in self.trials:
            for result in outcome.report.results if outcome.report else ():
                key = (result.device, result.ftl, result.workload, result.policy, result.seed)
                found.setdefault(key, result)
        return list(found.values())

    def rows(self) -> list[dict[str, Any]]:
        """Return one row per trial, in order, with `None` where there is nothing.

        A row has the trial's number, the swept fields, the metric with its interval, the percent that are
        done, the state and the error.
        """
        return [self._row(outcome) for outcome in self.trials]

    def stage_rows(self) -> list[dict[str, Any]]:
        """Return one row per stage of every member of a population, in order; otherwise none.

        A row has the trial's number, the stage, the percent and the decisions by its end, the trial that it
        has copied, if it has, the swept fields and the metric with its interval.
        """
        return [
            {
                "trial": outcome.trial.number,
                "stage": record.number,
                "percent": record.percent,
                "decisions": record.decisions,
                "copied trial": record.copied(outcome.trial.number),
                **record.parameters,
                **self._measured(report),
            }
            for outcome in self.trials
            for record, report in outcome.stages
        ]

    def _measured(self, report: TrialReport | None) -> dict[str, Any]:
        metric = self.sweep.metric
        return {
            metric: report.metric if report else None,
            f"{metric} low": _or_none(report.low if report else math.nan),
            f"{metric} high": _or_none(report.high if report else math.nan),
        }

    def _row(self, outcome: TrialOutcome) -> dict[str, Any]:
        report = outcome.report
        return {
            "trial": outcome.trial.number,
            **outcome.trial.parameters,
            **self._measured(report),
            **({self._decisions: report.trained_for if report else None} if self._trains else {}),
            "percent": report.percent if report else 0,
            "state": outcome.state,
            "error": outcome.error,
        }

    @property
    def files(self) -> list[Path]:
        """The files that `write` writes."""
        names = ["trials.md", "trials.csv", "results.parquet", "results.csv"]
        names += ["stages.csv"] if self.stage_rows() else []
        return [self.folder / name for name in names] + ([self.best_agent] if self.best_agent else [])

    def write(self) -> None:
        """Write the table of trials, the results and the best agent into the folder.

        Raises:
            SsdgymError: the folder cannot be written.
        """
        markdown, table = self.files[:2]
        write_bytes(markdown, self.markdown().encode())
        write_bytes(table, _csv_text(self.rows()).encode())
        write_results(self.results, self.folder / "results")
        if rows := self.stage_rows():
            write_bytes(self.folder / "stages.csv", _csv_text(rows).encode())
        if self.best_agent and self.best and self.best.report and self.best.report.agent:
            writable_folder(self.best_agent.parent)
            write_bytes(self.best_agent, self.best.report.agent.read_bytes())

    def markdown(self) -> str:
        """Return the table of trials as Markdown."""
        heading, lines = self.table()
        cells = [heading, ["---"] * len(heading), *lines]
        text = "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in cells)
        note = (
            "The metric is the mean over the held-out workloads of its interquartile mean over seeds, with "
            "the 95 % interval. It has chosen the best trial, so measure that one again on other seeds"
        )
        if self._is_population:
            note += (
                ". Every trial was measured at the end of its last stage, for which its parameters hold; "
                "stages.csv has those before, and which trial each has copied"
            )
        elif self._trains:
            note += (
                ". Of each trial the agent was measured that its own validation found best: where that is "
                "at 0 decisions, training has not improved the untrained start"
            )
        how = f":\n\n    {self.command}\n" if self.command else ".\n"
        return f"# {self.sweep.description or 'Sweep'}\n\n{text}\n\n{note}{how}"

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Return a heading and a line per trial, the best first, those that failed last."""
        names = list(self.sweep.space)
        failed = [outcome for outcome in self.trials if outcome.state == "failed"]
        lines = [
            [
                str(outcome.trial.number),
                *(str(outcome.trial.parameters[name]) for name in names),
                _with_interval(outcome.report),
                *([_best_at(outcome.report)] if self._trains else []),
                f"{outcome.state} ({outcome.report.percent if outcome.report else 0} %)",
            ]
            for outcome in [*self.ranked, *failed]
        ]
        decisions = [self._decisions] if self._trains else []
        return ["trial", *names, f"{self.sweep.metric} [95 %]", *decisions, "state"], lines

    @property
    def _decisions(self) -> str:
        """What the column of decisions is called: a member of a population is measured as it is now."""
        return "decisions" if self._is_population else "best at decisions"

    @property
    def _is_population(self) -> bool:
        return self.sweep.scheduler.kind == "pbt"

    @property
    def _trains(self) -> bool:
        return self.sweep.base.kind == "agent"


def outcome_of(trial: Trial, metric: str, folder: Path, error: str) -> TrialOutcome:
    """Return how a trial has ended.

    Args:
        trial: which one.
        metric: of the sweep.
        folder: that of the sweep.
        error: of a failed one, or empty.

    Raises:
        SsdgymError: its store is damaged.
    """
    own = trial_folder(folder, trial.number)
    report = last_report(trial, metric, own)
    if not error and report is None:
        error = f"it left no record in {own}; all nodes must share that folder"
    percent = report.percent if report else 0
    state: TrialState = "failed" if error else "finished" if percent >= ALL else "stopped early"
    stages = (
        zip(records_of(own), stage_reports(trial, metric, own), strict=True) if trial.in_population else ()
    )
    return TrialOutcome(trial, state, report, error, tuple(stages))


def _with_interval(report: TrialReport | None) -> str:
    if report is None:
        return "-"
    interval = "" if math.isnan(report.low) else f" [{report.low:.6g}, {report.high:.6g}]"
    return f"{report.metric:.6g}{interval}"


def _best_at(report: TrialReport | None) -> str:
    """Return how many decisions had trained the agent that was measured."""
    if report is None or report.trained_for is None:
        return "-"
    return f"{report.trained_for:,}" if report.trained_for else "0: untrained"


def _or_none(value: float) -> float | None:
    return None if math.isnan(value) else value


def _csv_text(rows: Rows) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(rows[0]), lineterminator="\n")
    writer.writeheader()
    for row in rows:
        lists = {name: json.dumps(value) for name, value in row.items() if isinstance(value, list | dict)}
        writer.writerow({**row, **lists})
    return text.getvalue()
