"""Which features an environment observes, and how the engine is asked for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ssdgym.engine.core.kernel import is_own
from ssdgym.engine.core.observed import CANDIDATE, DECISION, FEATURE, OUTSIDE
from ssdgym.engine.decisions import Question
from ssdgym.envs.features.registry import RegisteredFeature, Setting, find_features, registered_features
from ssdgym.envs.features.space import Features
from ssdgym.errors import SsdgymError
from ssdgym.types import Feature

#: Begins the names of the columns that say which proposer has picked a candidate.
PROPOSED_BY = "proposed_by_"
#: Pages of a block that are looked at where a feature asks for the updates of its valid ones.
SAMPLED_PAGES = 4


@dataclass(frozen=True)
class Selection:
    """Features in the order of their columns.

    Attributes:
        candidates: features of a candidate.
        context: features of the decision and of the device.
        proposed: labels of the proposers with a column, which stand behind `candidates`.
        proposers: labels of all proposers.
    """

    candidates: tuple[RegisteredFeature, ...]
    context: tuple[RegisteredFeature, ...]
    proposed: tuple[str, ...] = ()
    proposers: tuple[str, ...] = ()

    @property
    def features(self) -> Features:
        """The columns by name and bounds."""
        marks = (Feature(PROPOSED_BY + label, f"1 for the pick of {label}") for label in self.proposed)
        return Features(
            (*(one.feature for one in self.candidates), *marks), tuple(one.feature for one in self.context)
        )

    @property
    def samples_pages(self) -> bool:
        """Whether updates of sampled pages have to be counted."""
        return any(one.samples_pages for one in self.candidates)

    def ask(self, question: Question, candidates: int) -> Question:
        """Return a question with these features, compiled at first use, and room to count candidates in.

        Args:
            question: without them.
            candidates: K.
        """
        behind = len(self.candidates)
        columns = [
            behind + self.proposed.index(label) if label in self.proposed else -1 for label in self.proposers
        ]
        return question._replace(
            candidate_features=_records(self.candidates),
            context_features=_records(self.context),
            proposed_columns=np.array(columns, np.int64),
            sampled_pages=SAMPLED_PAGES if self.samples_pages else 0,
            tallies=np.zeros(candidates, CANDIDATE),
            decision=np.zeros(1, DECISION),
            outside=np.zeros(1, OUTSIDE),
        )

    def explain(self, error: Exception) -> SsdgymError | None:
        """Return the error for what a function has raised, compiled with checks; None where none is so.

        Compiled code does not say where an index is out of range, so all features of other packages are
        named.
        """
        foreign = [one for one in (*self.candidates, *self.context) if not is_own(one.function)]
        if isinstance(error, SsdgymError) or not foreign:
            return None
        names = " or ".join(one.feature.name for one in foreign)
        reason = f"{type(error).__name__}, {error}" if str(error) else type(error).__name__
        return SsdgymError(f"feature {names} failed: {reason}; correct it.")

    def check(self, outside: np.ndarray) -> None:
        """Raise if a value was outside the bounds of its feature.

        Args:
            outside: (1,) OUTSIDE, as the engine has left it.

        Raises:
            SsdgymError: one was; names it.
        """
        column = int(outside["column"][0]) - 1
        if column < 0:
            return
        outside["column"] = 0
        feature = (*self.candidates, *self.context)[column].feature
        raise SsdgymError(
            f"feature {feature.name} has the value {outside['value'][0]:g}, outside its bounds "
            f"{feature.low:g} and {feature.high:g}; give it wider ones, or clip it."
        )


def select(asked: Any, setting: Setting, proposers: Sequence[str] = ()) -> Selection:
    """Choose features.

    Args:
        asked: `"default"`, which takes those that tell something in the setting; `"all"`; or a list of names,
            `"default"` among them for all of these.
        setting: devices and candidates.
        proposers: what the proposers are called.

    Raises:
        SsdgymError: it is none of these, or names what is not registered.
    """
    names = _expand(asked, setting, [PROPOSED_BY + label for label in proposers])
    marks = [name for name in names if name.startswith(PROPOSED_BY)]
    labels = [name.removeprefix(PROPOSED_BY) for name in marks]
    for label in labels:
        if label not in proposers:
            raise SsdgymError(
                f"features name {PROPOSED_BY}{label}, which is no proposer; there are {', '.join(proposers)}."
            )
    found = find_features([name for name in names if name not in marks])
    chosen = tuple(one for one in found if one.kind == "candidate")
    if not chosen and not labels:
        raise SsdgymError("features name none of candidates; give at least one, such as 'log_benefit'.")
    return Selection(
        chosen, tuple(one for one in found if one.kind != "candidate"), tuple(labels), tuple(proposers)
    )


def _expand(asked: Any, setting: Setting, marks: list[str]) -> list[str]:
    """Return the names that are asked for, each once."""
    if asked == "default":
        asked = ["default"]
    if asked == "all":
        return [*(one.feature.name for one in registered_features()), *marks]
    listed = isinstance(asked, Sequence) and not isinstance(asked, str)
    if not listed or not all(isinstance(name, str) for name in asked):
        raise SsdgymError(f"features must be 'default', 'all' or a list of names, not {asked!r:.60}.")
    names: list[str] = []
    for name in asked:
        names += _default(setting, marks) if name == "default" else [name]
    return list(dict.fromkeys(names))


def _default(setting: Setting, marks: list[str]) -> list[str]:
    return [*(one.feature.name for one in registered_features() if one.default(setting)), *marks]


def _records(chosen: Sequence[RegisteredFeature]) -> np.ndarray:
    """Return features for the engine, shape (F,) FEATURE; compiles at first use."""
    records = np.zeros(len(chosen), FEATURE)
    for record, one in zip(records, chosen, strict=True):
        record["address"] = one.address
        record["of_device"] = one.kind == "device"
        record["low"], record["high"] = one.feature.low, one.feature.high
    return records
