"""The features that an environment observes, and their order in observations and in the engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium import spaces

from ssdgym.engine.core.handle import Memory
from ssdgym.engine.core.kernel import is_own
from ssdgym.engine.core.observed import (
    ANSWER_SEEN,
    BUNDLE_SEEN,
    CANDIDATE,
    DECISION,
    DIE_SEEN,
    FEATURE,
    PAGE_SEEN,
    PLAN_SEEN,
    SECTOR_SEEN,
    STREAM_SEEN,
    WAY_SEEN,
)
from ssdgym.engine.observation import ObservationSpec
from ssdgym.envs.features.registry import RegisteredFeature, Setting, find_features, registered_features
from ssdgym.errors import SsdgymError
from ssdgym.types import Feature


@dataclass(frozen=True)
class Features:
    """The features in an environment's observations, one for each column.

    Attributes:
        candidates: features of each candidate: the columns of the array `candidates`.
        context: features of the decision as a whole: the columns of the array `context`.
    """

    candidates: tuple[Feature, ...]
    context: tuple[Feature, ...]

    def names(self) -> dict[str, tuple[str, ...]]:
        """Return the names of the columns of `candidates` and of `context`, for an environment's metadata."""
        return {
            "candidates": tuple(feature.name for feature in self.candidates),
            "context": tuple(feature.name for feature in self.context),
        }

    def space(self, candidates: int) -> spaces.Dict:
        """Return the observation space for K `candidates`."""
        return spaces.Dict(
            candidates=_box(self.candidates, (candidates,)),
            context=_box(self.context, ()),
            action_mask=spaces.Box(0, 1, (candidates,), np.int8),
        )


def _box(features: tuple[Feature, ...], rows: tuple[int, ...]) -> spaces.Box:
    shape = (*rows, len(features))
    low = np.array([feature.low for feature in features], np.float32)
    high = np.array([feature.high for feature in features], np.float32)
    return spaces.Box(
        np.broadcast_to(low, shape).copy(), np.broadcast_to(high, shape).copy(), dtype=np.float32
    )


#: The column with this prefix and the label of a proposer is 1 for the candidate that it picks, else 0.
PROPOSED_BY = "proposed_by_"
#: The kinds of features of candidates, in the order of their columns. Each has an example for errors, two
#: fields of `ObservationSpec` (columns of proposers, records of candidates), and the type of these records.
_ROWS = {
    "candidate": ("log_benefit", "proposed_columns", "tallies", CANDIDATE),
    "stream": ("stream_valid", "stream_columns", "streams", STREAM_SEEN),
    "answer": ("answer_number", "answer_columns", "answers", ANSWER_SEEN),
    "way": ("way_number", "way_columns", "ways", WAY_SEEN),
    "plan": ("plan_cost", "proposed_columns", "plans", PLAN_SEEN),
}
#: Kinds of features of all contexts; kinds of features of some contexts, with the types of their records.
_SHARED = ("decision", "device")
_CONTEXT = {"page": PAGE_SEEN, "die": DIE_SEEN, "sector": SECTOR_SEEN, "bundle": BUNDLE_SEEN}
#: The kinds in the order in which the engine numbers features: `stream`, `page`, `answer`, `die`, and so on.
_LATER = zip(list(_ROWS)[1:], _CONTEXT, strict=True)
_NUMBERED = (("candidate",), _SHARED, *((kind,) for pair in _LATER for kind in pair))
#: Number of valid pages of a block whose updates are counted if a feature has `samples_pages`.
SAMPLED_PAGES = 4


@dataclass(frozen=True)
class Selection:
    """The features that an environment observes, in the order of its argument `features`.

    Attributes:
        chosen: the features, of all kinds.
        proposed: labels of the proposers with a column that marks their picks, after those of the features.
        proposers: labels of all proposers, by the kind of candidate that they pick.
    """

    chosen: tuple[RegisteredFeature, ...]
    proposed: tuple[str, ...]
    proposers: Mapping[str, Sequence[str]]

    def of(self, *kinds: str) -> tuple[RegisteredFeature, ...]:
        """Return the features of the given kinds."""
        return tuple(one for one in self.chosen if one.kind in kinds)

    @property
    def features(self) -> Features:
        """The features in the order of the columns of observations."""
        marks = (Feature(PROPOSED_BY + label, f"1 for the pick of {label}") for label in self.proposed)
        context = (*self.of(*_SHARED), *(one for kind in _CONTEXT for one in self.of(kind)))
        return Features((*(one.feature for one in self._rows), *marks), tuple(one.feature for one in context))

    @property
    def _rows(self) -> tuple[RegisteredFeature, ...]:
        """The features of single candidates, in the order of their columns in observations."""
        return tuple(one for kind in _ROWS for one in self.of(kind))

    @property
    def trackers(self) -> tuple[str, ...]:
        """The names of the trackers whose records the features read, without repetitions."""
        return tuple(dict.fromkeys(one.tracker for one in self.chosen if one.tracker))

    def ask(self, spec: ObservationSpec, candidates: int, memories: Mapping[str, Memory]) -> ObservationSpec:
        """Return a copy of `spec` with these features, which are compiled, and with scratch arrays.

        `memories` contains the layouts of records of trackers, by the tracker's name.
        """
        fields: dict[str, Any] = {"context_features": _records(self.of(*_SHARED), memories)}
        for kind, (_, columns, scratch, described) in _ROWS.items():
            fields[f"{kind}_features"] = _records(self.of(kind), memories)
            fields[scratch] = np.zeros(candidates, described)
            if kind in self.proposers or columns not in fields:
                fields[columns] = self._columns_of(self.proposers.get(kind, ()))
        for kind, described in _CONTEXT.items():
            fields[f"{kind}_features"] = _records(self.of(kind), memories)
            fields[kind] = np.zeros(1, described)
        return spec._replace(
            sampled_pages=SAMPLED_PAGES if any(one.samples_pages for one in self.chosen) else 0,
            decision=np.zeros(1, DECISION),
            keys=np.zeros(candidates, np.int64),
            **fields,
        )

    def _columns_of(self, proposers: Sequence[str]) -> np.ndarray:
        """Return the column that marks the picks of each proposer, or -1 if none does, int64 (proposers,)."""
        behind = len(self._rows)
        return np.array(
            [behind + self.proposed.index(one) if one in self.proposed else -1 for one in proposers], np.int64
        )

    def explain(self, error: Exception) -> SsdgymError | None:
        """Return the error to raise after an exception in a feature from another package; otherwise None.

        Compiled code does not report which function used a wrong index, so the error names all features of
        other packages. Return None if there are none, or if `error` is an SsdgymError.
        """
        foreign = [one for one in self.chosen if not is_own(one.function)]
        if isinstance(error, SsdgymError) or not foreign:
            return None
        names = " or ".join(one.feature.name for one in foreign)
        reason = f"{type(error).__name__}, {error}" if str(error) else type(error).__name__
        return SsdgymError(f"feature {names} failed: {reason}; correct it.")

    def check(self, outside: np.ndarray) -> None:
        """Raise SsdgymError if `outside`, (1,) OUTSIDE, records a value outside the bounds of its feature."""
        column = int(outside["column"][0]) - 1
        if column < 0:
            return
        numbered = [one for kinds in _NUMBERED for one in self.of(*kinds)]
        feature = numbered[column].feature
        raise SsdgymError(
            f"feature {feature.name} has the value {outside['value'][0]:g}, outside its bounds "
            f"{feature.low:g} and {feature.high:g}; give it wider ones, or clip it."
        )


def select(wanted: Any, setting: Setting, proposers: Mapping[str, Sequence[str]] | None = None) -> Selection:
    """Return the selection of features that an environment's argument `features` describes.

    Args:
        wanted: `"default"` for the features whose `default` is true in the setting, `"all"` for those that
            apply to the setting, or a list of names, which may include `"default"`.
        setting: the devices, candidates and kinds of decisions of the environment.
        proposers: labels of the proposers by the kind of candidate that they pick: `candidate`, `stream`,
            `answer`, `way` or `plan`.

    Raises:
        SsdgymError: `wanted` has another form, names a feature that is unknown or does not apply to the
            setting, or names no feature of candidates.
    """
    proposers = proposers or {}
    known = [label for labels in proposers.values() for label in labels]
    names = _expand(wanted, setting, [PROPOSED_BY + label for label in known])
    marks = [name for name in names if name.startswith(PROPOSED_BY)]
    labels = [name.removeprefix(PROPOSED_BY) for name in marks]
    for label in labels:
        if label not in known:
            raise SsdgymError(
                f"features name {PROPOSED_BY}{label}, which is no proposer; there are {', '.join(known)}."
            )
    found = find_features([name for name in names if name not in marks])
    for one in found:
        if one.kind not in setting.described:
            raise SsdgymError(
                f"features name {one.feature.name}, a feature of a {one.kind}, and this environment has none."
            )
        if not one.fits(setting):
            raise SsdgymError(
                f"features name {one.feature.name}, which means nothing on devices of this FTL; leave it out."
            )
    if not labels and not any(one.kind in _ROWS for one in found):
        example = next(row[0] for kind, row in _ROWS.items() if kind in setting.described)
        raise SsdgymError(f"features name none of candidates; give at least one, such as {example!r}.")
    return Selection(tuple(found), tuple(labels), proposers)


def _expand(wanted: Any, setting: Setting, marks: list[str]) -> list[str]:
    """Return the names of the features that `wanted` stands for, each once."""
    if wanted == "default":
        wanted = ["default"]
    if wanted == "all":
        return [*(one.feature.name for one in _described(setting)), *marks]
    listed = isinstance(wanted, Sequence) and not isinstance(wanted, str)
    if not listed or not all(isinstance(name, str) for name in wanted):
        raise SsdgymError(f"features must be 'default', 'all' or a list of names, not {wanted!r:.60}.")
    names: list[str] = []
    default = [*(one.feature.name for one in _described(setting) if one.default(setting)), *marks]
    for name in wanted:
        names += default if name == "default" else [name]
    return list(dict.fromkeys(names))


def _described(setting: Setting) -> list[RegisteredFeature]:
    """Return the registered features that apply to a setting."""
    known = registered_features()
    return [one for one in known if one.kind in setting.described and one.fits(setting)]


def _records(chosen: Sequence[RegisteredFeature], memories: Mapping[str, Memory]) -> np.ndarray:
    """Compile features, and return their records for the engine, shape (F,) FEATURE."""
    records = np.zeros(len(chosen), FEATURE)
    for record, one in zip(records, chosen, strict=True):
        record["address"] = one.address_on(memories.get(one.tracker, Memory()))
        record["of_device"] = one.kind == "device"
        record["low"], record["high"] = one.feature.low, one.feature.high
    return records
