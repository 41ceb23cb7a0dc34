"""Submissions to the leaderboard: who has sent which policy, and whether its numbers can be had again."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import Field

from ssdgym.agents.training.config import EnvironmentConfig
from ssdgym.config.loading import Config, load_config
from ssdgym.errors import SsdgymError
from ssdgym.experiments.leaderboard.board import SuiteBoard, read_board
from ssdgym.experiments.leaderboard.suites import SuiteConfig, load_suite
from ssdgym.experiments.report.tables import Entry, Table
from ssdgym.experiments.runs.config import agent_labels, expand
from ssdgym.experiments.runs.run import run_policy
from ssdgym.experiments.runs.spec import RunSpec, ftl_label
from ssdgym.files import write_between

#: The marks of a page between which the table of submissions is.
BEGIN, END = "<!-- submissions -->", "<!-- /submissions -->"


class SubmissionConfig(Config):
    """What is sent: a policy or an agent, and the `leaderboard.json` that was made with it."""

    who: str = Field(min_length=1, description="People, as tables have them.")
    code: str = Field(min_length=1, description="Where the code is: a link that stays, or a DOI.")
    suite: str = Field(description="Name of a suite in configs/suites, or path of a YAML file.")
    policy: str | None = Field(None, description="As `ssdgym leaderboard --policy` has it.")
    agent: str | None = Field(None, description="Or as `--agent` has it; a path counts from this file.")
    environment: EnvironmentConfig | None = Field(None, description="Of an agent that comes without one.")
    board: str = Field(description="Path of `leaderboard.json`, from this file.")

    @property
    def decider(self) -> str:
        """What is submitted, as it is written."""
        return str(self.policy or self.agent)


@dataclass(frozen=True)
class Checked:
    """A submission whose numbers have been had again.

    Attributes:
        label: what the leaderboard calls it.
        ratio: geometric mean over tasks and seeds of its metric in relation to that of the suite's baseline.
        worst: the largest of these ratios of a task.
        again: how many runs were carried out again.
    """

    submission: SubmissionConfig
    label: str
    version: str
    ratio: float
    worst: float
    again: int


def check_submission(
    path: Path, count: int, seed: int, *, trust: bool = False, advance: Callable[[int, int], None]
) -> Checked:
    """Check a submission: it is whole, on the tasks of its suite, and a sample of its runs is had again.

    Args:
        path: of the YAML file.
        count: tasks and seeds that are drawn; on each the policy and the suite's baseline are run.
        seed: of the draws.
        trust: whether code that comes with it may be executed.
        advance: called with the runs that are done, and their number.

    Raises:
        SsdgymError: something is missing, or a number is another one.
    """
    submission = load_config(SubmissionConfig, path, "submissions")
    if (submission.policy is None) == (submission.agent is None):
        raise SsdgymError(f"{path}: give exactly one of policy and agent.")
    suite, file = load_suite(submission.suite), path.parent / submission.board
    read = read_board(file)
    boards = [one for one in read.suites if one.suite == Path(submission.suite).stem]
    if not boards:
        raise SsdgymError(f"{file}: has no suite {submission.suite}; correct suite, or run it.")
    board = boards[0]
    for name, said, wanted in (
        ("splits", board.splits, ("test",)),
        ("host_pages", board.host_pages, suite.host_pages),
        ("warmup", board.warmup, suite.warmup),
    ):
        if said != wanted:
            raise SsdgymError(f"{file}: {name} is {said}, and the suite has {wanted}; run it as it is.")
    if len(board.seeds) < 2:
        raise SsdgymError(f"{file}: has one seed; run at least two.")
    label, runs = _runs(submission, path.parent, suite, board, trust)
    tasks = list(dict.fromkeys(key[:3] for key in runs))
    if sorted(tasks) != sorted((task.workload, task.device, task.ftl) for task in board.tasks):
        raise SsdgymError(f"{file}: its tasks are not those of the suite; run all of them.")
    ours, base = (_values(board, policy, file) for policy in (label, suite.baseline))
    drawn = np.random.default_rng(seed).permutation(ours.size)[:count]
    chosen = [divmod(int(one), len(board.seeds)) for one in drawn]
    for done, (number, place) in enumerate(chosen):
        advance(done, len(chosen))
        task = board.tasks[number]
        for policy, values in ((label, ours), (suite.baseline, base)):
            run = runs[task.workload, task.device, task.ftl, policy, board.seeds[place]]
            found, said = run_policy(run).metric(board.metric), values[number, place]
            if found != said:
                raise SsdgymError(
                    f"{file}: {policy} on {task.workload} ({task.device}), seed {board.seeds[place]}: says "
                    f"{board.metric} {said}, and has {found} here; make the leaderboard again."
                )
    advance(len(chosen), len(chosen))
    ratios = np.log(ours / base)
    worst = math.exp(ratios.mean(axis=1).max())
    return Checked(submission, label, board.version, math.exp(ratios.mean()), worst, len(chosen))


def _runs(
    submission: SubmissionConfig, folder: Path, suite: SuiteConfig, board: SuiteBoard, trust: bool
) -> tuple[str, dict[tuple[str, str, str, str, int], RunSpec]]:
    """Return the label of what is submitted, and all runs by workload, device, FTL, policy and seed."""
    text = submission.decider
    named: dict[str, Any] = {"policies": (text,)}
    if submission.agent is not None:
        beside = folder / text
        text = str(beside) if beside.is_file() else text
        named = {"policies": (), "agents": [text]}
        if submission.environment is not None:
            named["environment"] = submission.environment
    trusted = {text} if trust else set()
    label = text if submission.agent is None else next(iter(agent_labels([text], trusted=trusted)))
    experiment = suite.experiment(("test",), named, {"seeds": list(board.seeds)})
    return label, {
        (run.workload_name, run.device_name, ftl_label(run.ftl), run.policy, run.seed): run
        for run in expand(experiment, trusted=trusted)
    }


def _values(board: SuiteBoard, policy: str, file: Path) -> np.ndarray:
    """Return the metric of a policy, shape (tasks, seeds)."""
    try:
        values = np.array([task.values[policy] for task in board.tasks], float)
        assert values.shape == (len(board.tasks), len(board.seeds))
    except (KeyError, ValueError, AssertionError):
        raise SsdgymError(
            f"{file}: does not have a value of {policy} for every task and seed; run all of them."
        ) from None
    if not (np.isfinite(values) & (values > 0)).all():
        raise SsdgymError(f"{file}: has values of {policy} that are not positive numbers; run it again.")
    return values


def submissions_table(checked: Sequence[Checked]) -> Table:
    """Return who has sent what, the best of a suite first."""
    ordered = sorted(checked, key=lambda one: (one.submission.suite, one.ratio))
    return Table(
        "Submissions",
        "Metric in relation to the suite's baseline, geometric mean; less is better.",
        ("suite", "policy or agent", "× baseline", "worst task", "who", "code", "ssdgym"),
        tuple(tuple(_cells(one)) for one in ordered),
    )


def _cells(one: Checked) -> Iterator[Entry]:
    yield from (Entry(Path(one.submission.suite).stem), Entry(one.label))
    yield from (Entry(f"{number:.3f}", number=number) for number in (one.ratio, one.worst))
    yield from (Entry(one.submission.who), Entry(one.submission.code), Entry(one.version))


def write_submissions(page: Path, checked: Sequence[Checked]) -> Path:
    """Replace what a Markdown page has between the marks of submissions by their table."""
    return write_between(page, BEGIN, END, "\n".join([*submissions_table(checked).to_markdown(), ""]))
