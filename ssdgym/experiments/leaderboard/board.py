"""Models of `leaderboard.json`, from which all tables of a leaderboard are made.

The *best fixed pair* is the policy (victim rule and placement) of the suite with the lowest geometric mean of
the metric; it scores 0. A *bound* is a policy that uses the future; on each task the best bound scores 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Literal

from pydantic import ValidationError

from ssdgym.agents.zoo.described import agents_in
from ssdgym.config.loading import Config
from ssdgym.errors import SsdgymError
from ssdgym.experiments.leaderboard.suites import Split, SuiteConfig
from ssdgym.experiments.runs.config import agent_labels
from ssdgym.experiments.statistics import Estimate
from ssdgym.policy import get_policy

Kind = Literal["classic", "paper", "rule found", "learned", "learned, online", "bound"]
#: A task has a score if the best bound is lower than the best fixed pair by more than this share.
ROOM = 0.01
#: Kinds of learned policies: trained before the measurement, and learning on the device during it.
LEARNED = ("learned", "learned, online")


class Interval(Config):
    """A number with its 95 % interval; `low` and `high` are `None` if there is nothing to resample."""

    value: float
    low: float | None = None
    high: float | None = None

    @classmethod
    def of(cls, found: Estimate) -> Interval:
        """Return an estimate as a model for JSON, which has no NaN."""
        if math.isnan(found.low):
            return cls(value=found.value)
        return cls(value=found.value, low=found.low, high=found.high)


class Row(Config):
    """A row of a leaderboard: one policy, or the policies that one method has learned from training seeds.

    Attributes:
        score: interquartile mean of scores; `None` if no task has a score (`ROOM`).
        ratio: geometric mean of (metric / metric of the best fixed pair).
        rivals: geometric mean of (metric / metric of the task's best rival); `None` if there are no rivals.
        amplification: geometric mean of (write amplification / that of the best fixed pair); `None` if the
            metric is write amplification or a run has none.
        worst: the largest ratio of a task. The ratio of a task is the geometric mean over its runs.
    """

    name: str
    kind: Kind
    policies: tuple[str, ...]
    score: Interval | None
    ratio: Interval
    rivals: Interval | None = None
    amplification: Interval | None = None
    worst: float


class Task(Config):
    """A workload on a device.

    Attributes:
        ftl: FTL options that replace the device's own, as text; may be empty.
        values: values of the metric by policy, in order of the seeds; of `ceiling_metric` for bounds.
    """

    workload: str
    device: str
    ftl: str
    values: dict[str, tuple[float, ...]]

    def mean(self, policies: Sequence[str]) -> float:
        """Return the mean of the metric over all runs of the given policies."""
        return fmean(value for policy in policies for value in self.values[policy])


class SuiteBoard(Config):
    """The leaderboard of one suite.

    Attributes:
        metric: name of the scored metric. Smaller is better.
        ceiling_metric: name of the metric by which bounds are scored; `None`: `metric`.
        fixed: the best fixed pair over these tasks.
        ceilings: the bounds; may be empty.
        rivals: policies. The best of them on each task is a second reference for ratios; may be empty.
        version: version of ssdgym that made the runs.
        engine_hash: hash of the engine that made the runs. Equal hashes give bit-identical results.
        rows: one row per entry, the highest score first.
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
    tasks: tuple[Task, ...]

    def bound(self, task: Task) -> float:
        """Return the mean of the task's best bound; if there are no bounds, that of the best fixed pair."""
        return min((task.mean([one]) for one in self.ceilings), default=task.mean([self.fixed]))

    def is_scored(self, task: Task) -> bool:
        """Return whether the best bound is far enough (`ROOM`) below the best fixed pair for a score."""
        return self.bound(task) < (1 - ROOM) * task.mean([self.fixed])


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


#: Textbook rules; a policy that consists only of these has the kind `classic`.
CLASSICS = frozenset(
    {
        *("greedy", "cost_benefit", "fifo", "random", "d_choices", "windowed_greedy"),
        *("single", "sep_gc", "hot_cold"),
        *("blocking", "threshold"),
    }
)


@dataclass(frozen=True)
class Entry:
    """One row of a leaderboard before it is measured.

    Attributes:
        policies: one policy, or the policies that one method has learned, one per training seed.
    """

    name: str
    kind: Kind
    policies: tuple[str, ...]


def entries_of(suite: SuiteConfig, named: Sequence[Entry] = ()) -> list[Entry]:
    """Return the entries of a suite, and then those entries in `named` whose names the suite lacks."""
    entries = [
        *map(named_policy, dict.fromkeys((suite.baseline, *suite.policies))),
        *(Entry(rule, "rule found", (rule,)) for rule in suite.rules),
        *(Entry(one.name, "learned", tuple(agent_labels(one.agents))) for one in suite.agents if one.agents),
        *(
            Entry(one.name, "learned, online" if learns_online(one.policies[0]) else "learned", one.policies)
            for one in suite.agents
            if one.policies
        ),
        *(Entry(policy, "bound", (policy,)) for policy in suite.ceilings),
    ]
    names = {entry.name for entry in entries}
    return entries + [entry for entry in named if entry.name not in names]


def named_policy(policy: str) -> Entry:
    """Return the entry of one policy; a policy that contains an agent or learns online counts as learned."""
    found = get_policy(policy)
    kind: Kind = "paper"
    if found.alias is None and all(rule.name in CLASSICS for rule in found.parts):
        kind = "classic"
    if learns_online(policy):
        kind = "learned, online"
    if any(agents_in(policy)):
        kind = "learned"
    return Entry(policy, kind, (policy,))


def learns_online(policy: str) -> bool:
    """Return whether a policy contains a rule that learns while the device runs."""
    return any(rule.online for rule in get_policy(policy).parts)
