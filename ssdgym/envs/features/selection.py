"""Which features an environment observes, and how the engine is asked for them."""

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
from ssdgym.engine.questions import Question
from ssdgym.envs.features.registry import RegisteredFeature, Setting, find_features, registered_features
from ssdgym.errors import SsdgymError
from ssdgym.types import Feature


@dataclass(frozen=True)
class Features:
    """The columns of a kind of decision.

    Attributes:
        candidates: of every candidate.
        context: of the decision as a whole.
    """

    candidates: tuple[Feature, ...]
    context: tuple[Feature, ...]

    def names(self) -> dict[str, tuple[str, ...]]:
        """Return the names of the columns by part of the observation, for an environment's metadata."""
        return {
            "candidates": tuple(feature.name for feature in self.candidates),
            "context": tuple(feature.name for feature in self.context),
        }

    def space(self, candidates: int) -> spaces.Dict:
        """Return the space of the observations with so many candidates."""
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


#: Begins the names of the columns that say which proposer has picked a candidate.
PROPOSED_BY = "proposed_by_"
#: The kinds of features that candidates have, each with one to name.
_ROWS = {
    "candidate": "log_benefit",
    "stream": "stream_valid",
    "answer": "answer_number",
    "way": "way_number",
    "plan": "plan_cost",
}
#: Pages of a block that are looked at where a feature asks for the updates of its valid ones.
SAMPLED_PAGES = 4


@dataclass(frozen=True)
class Selection:
    """Features in the order of their columns.

    Attributes:
        candidates: features of an erase set.
        streams: features of a write stream, whose columns stand behind those.
        answers: features of how far an idle die goes, whose columns stand behind those.
        context: features of the decision and of the device.
        pages: features of the page that is placed, which stand behind those.
        dies: features of an idle die, which stand behind those.
        ways: features of where data of a region goes, whose columns stand behind those.
        sectors: features of this data, which stand behind those of dies.
        plans: features of a way to merge blocks, whose columns stand behind those.
        bundles: features of the bundle whose blocks are merged, which stand behind those of sectors.
        proposed: labels of the proposers with a column, which stand behind `plans`.
        proposers: labels of all proposers of erase sets, or of ways to merge blocks.
        stream_proposers: labels of all proposers of streams.
        answer_proposers: labels of all proposers of how far an idle die goes.
        way_proposers: labels of all proposers of where data of a region goes.
    """

    candidates: tuple[RegisteredFeature, ...]
    streams: tuple[RegisteredFeature, ...]
    context: tuple[RegisteredFeature, ...]
    pages: tuple[RegisteredFeature, ...]
    answers: tuple[RegisteredFeature, ...] = ()
    dies: tuple[RegisteredFeature, ...] = ()
    ways: tuple[RegisteredFeature, ...] = ()
    sectors: tuple[RegisteredFeature, ...] = ()
    plans: tuple[RegisteredFeature, ...] = ()
    bundles: tuple[RegisteredFeature, ...] = ()
    proposed: tuple[str, ...] = ()
    proposers: tuple[str, ...] = ()
    stream_proposers: tuple[str, ...] = ()
    answer_proposers: tuple[str, ...] = ()
    way_proposers: tuple[str, ...] = ()

    @property
    def features(self) -> Features:
        """The columns by name and bounds."""
        marks = (Feature(PROPOSED_BY + label, f"1 for the pick of {label}") for label in self.proposed)
        context = (*self.context, *self.pages, *self.dies, *self.sectors, *self.bundles)
        return Features((*(one.feature for one in self._rows), *marks), tuple(one.feature for one in context))

    @property
    def _rows(self) -> tuple[RegisteredFeature, ...]:
        """The features of candidates in the order of their columns."""
        return (*self.candidates, *self.streams, *self.answers, *self.ways, *self.plans)

    @property
    def _all(self) -> tuple[RegisteredFeature, ...]:
        """All features, in the order in which the engine numbers them."""
        shared = (*self.candidates, *self.context, *self.streams, *self.pages)
        return (*shared, *self.answers, *self.dies, *self.ways, *self.sectors, *self.plans, *self.bundles)

    @property
    def watchers(self) -> tuple[str, ...]:
        """The rules whose records the features read, each once."""
        return tuple(dict.fromkeys(one.watcher for one in self._all if one.watcher))

    @property
    def samples_pages(self) -> bool:
        """Whether updates of sampled pages have to be counted."""
        return any(one.samples_pages for one in self.candidates)

    def ask(
        self, question: Question, candidates: int, memories: Mapping[str, Memory] | None = None
    ) -> Question:
        """Return a question with these features, compiled at first use, and room to count candidates in.

        Args:
            question: without them.
            candidates: K.
            memories: records of the rules that watch, by name.
        """
        memories = memories or {}
        return question._replace(
            candidate_features=_records(self.candidates, memories),
            context_features=_records(self.context, memories),
            stream_features=_records(self.streams, memories),
            page_features=_records(self.pages, memories),
            proposed_columns=self._columns_of(self.proposers),
            stream_columns=self._columns_of(self.stream_proposers),
            sampled_pages=SAMPLED_PAGES if self.samples_pages else 0,
            tallies=np.zeros(candidates, CANDIDATE),
            decision=np.zeros(1, DECISION),
            streams=np.zeros(candidates, STREAM_SEEN),
            page=np.zeros(1, PAGE_SEEN),
            answer_features=_records(self.answers, memories),
            die_features=_records(self.dies, memories),
            answer_columns=self._columns_of(self.answer_proposers),
            answers=np.zeros(candidates, ANSWER_SEEN),
            die=np.zeros(1, DIE_SEEN),
            way_features=_records(self.ways, memories),
            sector_features=_records(self.sectors, memories),
            way_columns=self._columns_of(self.way_proposers),
            ways=np.zeros(candidates, WAY_SEEN),
            sector=np.zeros(1, SECTOR_SEEN),
            plan_features=_records(self.plans, memories),
            bundle_features=_records(self.bundles, memories),
            plans=np.zeros(candidates, PLAN_SEEN),
            bundle=np.zeros(1, BUNDLE_SEEN),
        )

    def _columns_of(self, proposers: Sequence[str]) -> np.ndarray:
        """Return the column that marks what each proposer has picked, or -1, int64 (proposers,)."""
        behind = len(self._rows)
        return np.array(
            [behind + self.proposed.index(one) if one in self.proposed else -1 for one in proposers], np.int64
        )

    def explain(self, error: Exception) -> SsdgymError | None:
        """Return the error for what a function has raised, compiled with checks; None where none is so.

        Compiled code does not say where an index is out of range, so all features of other packages are
        named.
        """
        foreign = [one for one in self._all if not is_own(one.function)]
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
        feature = self._all[column].feature
        raise SsdgymError(
            f"feature {feature.name} has the value {outside['value'][0]:g}, outside its bounds "
            f"{feature.low:g} and {feature.high:g}; give it wider ones, or clip it."
        )


def select(
    asked: Any,
    setting: Setting,
    proposers: Sequence[str] = (),
    stream_proposers: Sequence[str] = (),
    answer_proposers: Sequence[str] = (),
    way_proposers: Sequence[str] = (),
) -> Selection:
    """Choose features.

    Args:
        asked: `"default"`, which takes those that vary in the setting; `"all"`; or a list of names,
            `"default"` among them for all of these.
        setting: devices, candidates and kinds of decisions.
        proposers: what the proposers of erase sets, or of ways to merge blocks, are called.
        stream_proposers: what those of streams are called.
        answer_proposers: what those of how far an idle die goes are called.
        way_proposers: what those of where data of a region goes are called.

    Raises:
        SsdgymError: it is none of these, or names what is not registered or does not apply here.
    """
    labels_of_all = (*proposers, *stream_proposers, *answer_proposers, *way_proposers)
    names = _expand(asked, setting, [PROPOSED_BY + label for label in labels_of_all])
    marks = [name for name in names if name.startswith(PROPOSED_BY)]
    labels = [name.removeprefix(PROPOSED_BY) for name in marks]
    for label in labels:
        if label not in labels_of_all:
            known = ", ".join(labels_of_all)
            raise SsdgymError(f"features name {PROPOSED_BY}{label}, which is no proposer; there are {known}.")
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
        example = next(name for kind, name in _ROWS.items() if kind in setting.described)
        raise SsdgymError(f"features name none of candidates; give at least one, such as {example!r}.")
    return Selection(
        candidates=_of(found, "candidate"),
        streams=_of(found, "stream"),
        context=_of(found, "decision", "device"),
        pages=_of(found, "page"),
        proposed=tuple(labels),
        proposers=tuple(proposers),
        stream_proposers=tuple(stream_proposers),
        answers=_of(found, "answer"),
        dies=_of(found, "die"),
        answer_proposers=tuple(answer_proposers),
        ways=_of(found, "way"),
        sectors=_of(found, "sector"),
        way_proposers=tuple(way_proposers),
        plans=_of(found, "plan"),
        bundles=_of(found, "bundle"),
    )


def _of(features: Sequence[RegisteredFeature], *kinds: str) -> tuple[RegisteredFeature, ...]:
    return tuple(one for one in features if one.kind in kinds)


def _expand(asked: Any, setting: Setting, marks: list[str]) -> list[str]:
    """Return the names that are asked for, each once."""
    if asked == "default":
        asked = ["default"]
    if asked == "all":
        return [*(one.feature.name for one in _described(setting)), *marks]
    listed = isinstance(asked, Sequence) and not isinstance(asked, str)
    if not listed or not all(isinstance(name, str) for name in asked):
        raise SsdgymError(f"features must be 'default', 'all' or a list of names, not {asked!r:.60}.")
    names: list[str] = []
    for name in asked:
        names += _default(setting, marks) if name == "default" else [name]
    return list(dict.fromkeys(names))


def _default(setting: Setting, marks: list[str]) -> list[str]:
    return [*(one.feature.name for one in _described(setting) if one.default(setting)), *marks]


def _described(setting: Setting) -> list[RegisteredFeature]:
    """Return the features of what decisions of the setting are about."""
    known = registered_features()
    return [one for one in known if one.kind in setting.described and one.fits(setting)]


def _records(chosen: Sequence[RegisteredFeature], memories: Mapping[str, Memory]) -> np.ndarray:
    """Return features for the engine, shape (F,) FEATURE; compiles at first use."""
    records = np.zeros(len(chosen), FEATURE)
    for record, one in zip(records, chosen, strict=True):
        record["address"] = one.address_on(memories.get(one.watcher, Memory()))
        record["of_device"] = one.kind == "device"
        record["low"], record["high"] = one.feature.low, one.feature.high
    return records
