"""Repeat runs from the specifications in a file of results, and compare the results."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from ssdgym.errors import SsdgymError
from ssdgym.experiments.results import Result
from ssdgym.experiments.runs.evaluate import Progress, check_runs, run_locally
from ssdgym.experiments.runs.spec import RunSpec, read_spec, runs_of_spec

#: Columns by which results can be chosen.
CHOOSABLE = ("device", "ftl", "workload", "policy", "seed", "objective")
#: Columns that identify the version of the code that made a result.
_CODE = ("version", "engine_hash")


@dataclass(frozen=True)
class Difference:
    """A column in which a stored result and its repetition differ; `None` stands for an empty cell."""

    column: str
    stored: Any
    measured: Any


@dataclass(frozen=True)
class Replay:
    """A stored result and its repetition.

    Attributes:
        row: row of the result in the file, from 1.
        error: the error that prevented the repetition. `measured` is then None.
    """

    row: int
    stored: Result
    measured: Result | None
    error: Exception | None = None

    @property
    def differences(self) -> list[Difference]:
        """The columns that differ, without `version`, `engine_hash` and `spec`."""
        return [one for one in self._differing if one.column not in (*_CODE, "spec")]

    @property
    def reproduces(self) -> bool:
        """Whether the run was repeated without an error and `differences` is empty."""
        return self.measured is not None and not self.differences

    @property
    def other_code(self) -> list[Difference]:
        """Those of the columns `version` and `engine_hash` that differ; they can explain `differences`."""
        return [one for one in self._differing if one.column in _CODE]

    @property
    def _differing(self) -> list[Difference]:
        if self.measured is None:
            return []
        ours, theirs = self.stored.as_row(), self.measured.as_row()
        pairs = (Difference(name, ours.get(name), theirs.get(name)) for name in {**ours, **theirs})
        # 1, 1.0 and True are equal in Python, but a metric of another type has changed.
        return [
            one for one in pairs if type(one.stored) is not type(one.measured) or one.stored != one.measured
        ]

    @property
    def verdict(self) -> str:
        """The outcome as text: `reproduces`, the number of columns that differ, or the error."""
        if self.error is not None:
            return f"cannot be run: {self.error}"
        return f"differs in {len(self.differences)}" if self.differences else "reproduces"

    @property
    def names(self) -> dict[str, Any]:
        """The columns that identify the result in a table, with their values."""
        return {name: getattr(self.stored, name) for name in CHOOSABLE[:-1]}

    def as_dict(self) -> dict[str, Any]:
        """Return all fields, ready for JSON."""
        return {
            "row": self.row,
            **self.names,
            "reproduces": self.reproduces,
            "error": None if self.error is None else str(self.error),
            "differences": [vars(one) for one in self.differences],
            "other_code": [vars(one) for one in self.other_code],
        }


def choose(results: Sequence[Result], row: int | None, where: Iterable[str], source: str) -> int:
    """Return the row (from 1) of the one result that `row` or the conditions `where` choose.

    Conditions are texts such as `policy=greedy` or `policy=greedy,seed=100`; all of them must hold. Raise
    `SsdgymError` unless exactly one result is chosen. `source` names the results in messages.
    """
    conditions = _conditions(where)
    if row is not None:
        if conditions:
            raise SsdgymError("--row and --where both name a result: give one of the two")
        if not 1 <= row <= len(results):
            raise SsdgymError(f"--row {row}: {source} has the rows 1 to {len(results)}; choose one of them")
        return row
    found = [
        number
        for number, result in enumerate(results, start=1)
        if all(str(getattr(result, name)) == value for name, value in conditions.items())
    ]
    if len(found) == 1:
        return found[0]
    if not found:
        raise SsdgymError(f"{source}: none of its {len(results)} results fits; correct --where")
    rows = ", ".join(map(str, found[:5])) + (", ..." if len(found) > 5 else "")
    raise SsdgymError(
        f"{source}: {len(found)} results fit (rows {rows}); name one by --row, or by more conditions in "
        "--where"
    )


def _conditions(where: Iterable[str]) -> dict[str, str]:
    names = "|".join(CHOOSABLE)
    conditions: dict[str, str] = {}
    for text in where:
        # Values may contain commas and equal signs, as labels of policies and FTL options do.
        for part in re.split(rf",(?=(?:{names})=)", text):
            name, equals, value = part.partition("=")
            if not equals or name not in CHOOSABLE:
                raise SsdgymError(
                    f"--where {text!r}: write COLUMN=VALUE with a column of {', '.join(CHOOSABLE)}, "
                    "for example policy=greedy,seed=100"
                )
            if name in conditions:
                raise SsdgymError(f"--where {text!r}: {name} is given twice; give it once")
            conditions[name] = value
    return conditions


def sample(results: Sequence[Result], size: int, seed: int) -> list[int]:
    """Draw `size` results, or all if there are fewer; return their rows (from 1) in rising order."""
    return sorted(random.Random(seed).sample(range(1, len(results) + 1), min(size, len(results))))


def replay(
    results: Sequence[Result],
    rows: Sequence[int],
    source: str,
    workers: int = 1,
    progress: Progress | None = None,
    *,
    trust: bool = False,
) -> list[Replay]:
    """Repeat the runs of the given rows (from 1) as their specs say; return them in the order of `rows`."""
    jobs = [_job(results[row - 1], f"{source}, row {row}", trust=trust) for row in rows]
    for job in jobs:
        check_runs(job)
    done: dict[int, Replay] = {}
    with closing(run_locally(jobs, workers)) as outcomes:
        for number, found in outcomes:
            stored = results[rows[number] - 1]
            seed = int(json.loads(stored.spec)["seed"])  # the column `seed` may have been edited
            error = found if isinstance(found, Exception) else None
            again = [] if isinstance(found, Exception) else [one for one in found if one.seed == seed]
            done[number] = Replay(rows[number], stored, again[0] if again else None, error)
            if progress:
                progress(len(done), len(jobs))
    return [done[number] for number in range(len(jobs))]


def _job(result: Result, where: str, *, trust: bool) -> list[RunSpec]:
    if not result.spec:
        raise SsdgymError(
            f"{where}: does not say how it was run (its column 'spec' is empty); evaluate it anew"
        )
    return runs_of_spec(read_spec(result.spec, f"{where}: its column 'spec'"), where, trust=trust)
