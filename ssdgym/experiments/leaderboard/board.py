"""What a leaderboard says, as `leaderboard.json` holds it: enough to make all its tables from."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from ssdgym.agents.zoo.described import agents_in
from ssdgym.config.loading import Config
from ssdgym.errors import SsdgymError
from ssdgym.experiments.leaderboard.suites import LearnedEntry, Split, SuiteConfig
from ssdgym.experiments.runs.config import agent_labels
from ssdgym.experiments.statistics import Estimate
from ssdgym.policy import get_policy

Kind = Literal["classic", "paper", "rule found", "learned", "learned, online", "bound"]
#: Kinds of what has learned: before it is measured, or on the measured device.
LEARNED = ("learned", "learned, online")


class Interval(Config):
    """A number with its 95 % interval; without limits where there is nothing to draw from."""

    value: float
    low: float | None = None
    high: float | None = None

    @classmethod
    def of(cls, found: Estimate) -> Interval:
        """Return an estimate as JSON can hold it."""
        if math.isnan(found.low):
            return cls(value=found.value)
        return cls(value=found.value, low=found.low, high=found.high)


class Size(Config):
    """What a decision of a learned policy costs.

    Attributes:
        multiply_adds: once per decision.
        multiply_adds_each: for every candidate.
        weight_bytes: of the weights, in single precision.
    """

    multiply_adds: int
    multiply_adds_each: int
    weight_bytes: int


class Task(Config):
    """A workload on a device, with changes of its FTL as text."""

    workload: str
    device: str
    ftl: str


class TaskRatio(Task):
    """The metric of a policy on one task relative to that of the best fixed pair.

    Attributes:
        ratio: geometric mean over all runs; below 1 where the policy is better.
        worse: how many of its runs are worse than that of the pair on the same seed.
    """

    ratio: float
    worse: int
    runs: int


class Loss(TaskRatio):
    """A task that a learned policy loses."""

    name: str


class Row(Config):
    """One policy, or the policies that one method has learned from several seeds.

    Attributes:
        rank: from 1 on; bounds have none.
        source: the paper or book, or what else its rules are from.
        score: interquartile mean; `None` where no task has room between the pair and the bound.
        ratio: geometric mean of the metric relative to the best fixed pair.
        rivals: relative to the best of the suite's rivals on each task; `None` without any.
        amplification: of write amplification relative to the best fixed pair, where another metric is scored.
        worst: the task where the metric is the largest in relation to the best fixed pair.
        improvement: probability that a run is better than one of the best fixed pair.
        won: on how many tasks none but the bounds is better.
        size: `None` for policies that are not learned.
    """

    rank: int | None
    name: str
    kind: Kind
    source: str
    policies: tuple[str, ...]
    score: Interval | None
    ratio: Interval
    rivals: Interval | None = None
    amplification: Interval | None = None
    worst: TaskRatio
    improvement: Interval
    won: int
    size: Size | None = None


class TaskBoard(Task):
    """One task.

    Attributes:
        scored: whether the bound is far enough below the best fixed pair for a score.
        fixed: mean of the metric of the best fixed pair over the seeds.
        bound: mean of the metric of the best bound.
        best: the row with the least mean, bounds left out.
        best_value: that mean.
        values: the metric by policy, in order of the seeds.
    """

    scored: bool
    fixed: float
    bound: float
    best: str
    best_value: float
    values: dict[str, tuple[float, ...]]


class SuiteBoard(Config):
    """The leaderboard of one suite.

    Attributes:
        metric: what is scored; less is better.
        ceiling_metric: what the bounds are scored by, where that is another one.
        fixed: the best fixed pair over these tasks, which scores 0.
        ceilings: the bounds of which the best on a task scores 1.
        rivals: the policies of which the best on a task is compared with, too.
        version: of ssdgym, by which the runs were made.
        engine_hash: of its engine; equal hashes promise equal bits.
        rows: by falling score.
        losses: by falling ratio.
    """

    suite: str
    description: str
    version: str
    engine_hash: str
    metric: str
    ceiling_metric: str | None = None
    splits: tuple[Split, ...]
    seeds: tuple[int, ...]
    host_pages: int
    warmup: int
    fixed: str
    ceilings: tuple[str, ...]
    rivals: tuple[str, ...]
    rows: tuple[Row, ...]
    losses: tuple[Loss, ...]
    tasks: tuple[TaskBoard, ...]

    def metric_of(self, policy: str) -> str:
        """Return what a policy is scored by."""
        return (policy in self.ceilings and self.ceiling_metric) or self.metric


class Leaderboard(Config):
    """Leaderboards of several suites, which may have been measured at different times."""

    suites: tuple[SuiteBoard, ...]


def read_board(path: Path) -> Leaderboard:
    """Read the `leaderboard.json` that `ssdgym leaderboard` wrote."""
    try:
        return Leaderboard.model_validate_json(path.read_bytes())
    except OSError as error:
        raise SsdgymError(f"{path}: cannot be read ({error.strerror or error}); correct the path.") from error
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"])) or "contents"
        raise SsdgymError(
            f"{path}: no leaderboard of this version of ssdgym ({field}: {first['msg']}); make it again."
        ) from error


#: Rules that every textbook has; a policy of nothing else is classic, any other is of the paper it is from.
CLASSICS = frozenset(
    {
        *("greedy", "cost_benefit", "fifo", "random", "d_choices", "windowed_greedy"),
        *("single", "sep_gc", "hot_cold"),
        *("blocking", "threshold"),
    }
)


@dataclass(frozen=True)
class Entry:
    """One row before it is measured.

    Attributes:
        source: the papers or books of its rules; classic ones are named only where there are no others.
        policies: one, or one for each seed of the training.
        size: what a decision of agents among its rules costs.
    """

    name: str
    kind: Kind
    source: str
    policies: tuple[str, ...]
    size: Size | None = None


def entries_of(suite: SuiteConfig, named: Sequence[Entry] = ()) -> list[Entry]:
    """Return the entries of a suite: baseline, policies, rules, bounds and what has learned."""
    entries = [
        *map(named_policy, dict.fromkeys((suite.baseline, *suite.policies))),
        *(Entry(rule, "rule found", "found on the split training", (rule,)) for rule in suite.rules),
        *(_players(one) for one in suite.agents if one.agents),
        *(
            replace(
                named_policy(one.policies[0]),
                name=one.name,
                kind="learned, online" if learns_online(one.policies[0]) else "learned",
                policies=one.policies,
            )
            for one in suite.agents
            if one.policies
        ),
        *(Entry(policy, "bound", source_of(policy), (policy,)) for policy in suite.ceilings),
    ]
    names = {entry.name for entry in entries}
    return entries + [entry for entry in named if entry.name not in names]


def _players(one: LearnedEntry) -> Entry:
    """Return the entry of agents that play the environment of a suite."""
    return Entry(one.name, "learned", "agents of this suite", tuple(agent_labels(one.agents)))


def named_policy(policy: str) -> Entry:
    """Return the entry of a policy: learned where an agent or an online learner is among its rules."""
    size = size_of(policy)
    kind: Kind = "classic" if is_classic(policy) else "paper"
    if size or learns_online(policy):
        kind = "learned" if size else "learned, online"
    return Entry(policy, kind, source_of(policy), (policy,), size)


def learns_online(policy: str) -> bool:
    """Return whether a policy has a rule that learns on the device it runs on."""
    return any(rule.online for rule in get_policy(policy).parts)


def is_classic(policy: str) -> bool:
    """Return whether a policy has nothing but rules of `CLASSICS`."""
    found = get_policy(policy)
    return found.alias is None and all(rule.name in CLASSICS for rule in found.parts)


def source_of(policy: str) -> str:
    """Return the papers or books that a policy is from."""
    found = get_policy(policy)
    if found.alias is not None:
        return found.source
    own = [rule for rule in found.parts if rule.name not in CLASSICS] or found.parts
    return "; ".join(dict.fromkeys(rule.source for rule in own))


def size_of(policy: str) -> Size | None:
    """Return what the decisions of the agents in a policy cost, of several together; `None` without any."""
    costs = [agent.cost for agent in agents_in(policy)]
    if not costs:
        return None
    return Size(
        multiply_adds=sum(cost.shared_multiply_adds for cost in costs),
        multiply_adds_each=sum(cost.candidate_multiply_adds for cost in costs),
        weight_bytes=sum(cost.weight_bytes for cost in costs),
    )
