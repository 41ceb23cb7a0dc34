"""Base of traces and synthetic traces, which are replayed from records."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, NonNegativeInt, PositiveInt, model_validator

from ssdgym.config.fields import is_whole
from ssdgym.errors import SsdgymError, shown
from ssdgym.requests import WRITE
from ssdgym.workloads.base import (
    Loops,
    RequestStream,
    Share,
    StartAt,
    WorkloadConfig,
    WorkloadKey,
    drawn_start,
)
from ssdgym.workloads.traces.record import RecordIndex, RecordSource
from ssdgym.workloads.traces.replay import Played, Survey, survey
from ssdgym.workloads.traces.transforms import AnyTransformConfig, TransformConfig, Transformed

_WHOLE = (0.0, 1.0)
#: Fields that have no effect on the records of the window.
_NO_RECORDS = ("start", "loops", "addresses")


def _is_start(value: Any) -> Any:
    """Return the value of `start`; refuse other values with one error, while pydantic has one per type."""
    if value in (None, "first", "random") or (is_whole(value) and value >= 0):
        return value
    raise ValueError(f"must be first, random or the number of a request from 0 up, not {shown(value)}")


Start = Annotated[Literal["first", "random"] | NonNegativeInt | None, BeforeValidator(_is_start)]


class PlayedConfig(WorkloadConfig):
    """Fields that determine how records are replayed: transforms, window, start, loops and addresses."""

    #: Whether the records are drawn by a seed; if they are, statistics can be compared with published values.
    is_drawn: ClassVar[bool] = False

    transforms: tuple[AnyTransformConfig, ...] = Field(
        (), description="Changes to the requests, in this order."
    )
    window: tuple[Share, Share] = Field(
        _WHOLE,
        description="Start and end of the part that is replayed, as shares of the requests after the "
        "transforms. Page numbers are those of the whole trace.",
    )
    start: Start = Field(
        None,
        description="Request of the window that is replayed first: `first`, `random` (drawn by the seed), or "
        "its number from 0. Default: `random` for traces in environments, otherwise `first`.",
    )
    loops: PositiveInt | None = Field(
        1,
        description="Number of times that the window is replayed; null: no end. The first time begins at "
        "`start`, every other time at the first request of the window.",
    )
    addresses: Literal["compact", "fold"] = Field(
        "compact",
        description="compact: the n pages that the trace touches become the logical pages 0..n-1, in address"
        " order; fold: page numbers are taken modulo the logical pages of the device.",
    )

    @model_validator(mode="after")
    def _window_is_open(self) -> PlayedConfig:
        if self.window[0] >= self.window[1]:
            raise ValueError(f"needs window to begin before it ends, not {list(self.window)}")
        return self

    @property
    @abstractmethod
    def label(self) -> str:
        """Name of the workload in errors."""

    @abstractmethod
    def source(self, seed: int) -> RecordSource:
        """Return a source of all records, before the transforms."""

    @abstractmethod
    def depends_on(self, seed: int) -> tuple[tuple[int, ...], int]:
        """Return what determines the records besides the fields: stamps of files, and the seed, or 0."""

    def origin(self) -> dict[str, Any]:
        """Return facts about the file of the records: `format`, number of `skipped_lines` and others."""
        return {"format": self.kind, "skipped_lines": 0}

    def published(self) -> dict[str, float]:
        """Return the published statistics by field of `RecordSummary`; empty for a trace."""
        return {}

    @property
    def is_endless(self) -> bool:
        """See `WorkloadConfig`."""
        return self.loops is None

    def writes_nothing(self) -> bool:
        """See `WorkloadConfig`."""
        source = self.records(0)
        while len(chunk := source.chunk()):
            if (chunk["op"] == WRITE).any():
                return False
        return True

    @property
    def is_whole(self) -> bool:
        """Whether there are no transforms, and the window contains all records."""
        return not self.transforms and self.window == _WHOLE

    def with_start(self, start: StartAt) -> PlayedConfig:
        """See `WorkloadConfig`; records that are drawn by a seed get no start, since they differ anyway."""
        is_open = self.start is None and not self.is_drawn
        return self.model_copy(update={"start": start}) if is_open else self

    def records(self, seed: int = 0) -> RecordSource:
        """Return a source of all records of the window, after the transforms.

        Args:
            seed: seed of the records of a synthetic trace, at least 0.

        Raises:
            SsdgymError: the trace cannot be read, a transform does not fit it, or the window is empty.
        """
        if self.window == _WHOLE:
            source, transforms = self._begun(seed)
            return Transformed(source, transforms) if transforms else source
        index = self._index(seed)
        return index.part(*self._bounds(index))

    def _begun(self, seed: int) -> tuple[RecordSource, Sequence[TransformConfig]]:
        """Return a source of all records, and the transforms that it does not include."""
        return self.source(seed), self.transforms

    def _records_from_start(self, seed: int) -> RecordSource:
        """Return a source of the records of the window that begins at the request `start`."""
        if self.start in (None, "first"):
            return self.records(seed)
        index = self._index(seed)
        first, end = self._bounds(index)
        number = drawn_start(end - first, seed) if self.start == "random" else int(self.start or 0)
        if number >= end - first:
            raise SsdgymError(
                f"{self.label}: start is request {number}, and there are {end - first}; choose one before."
            )
        return index.part(first + number, end)

    def _bounds(self, index: RecordIndex) -> tuple[int, int]:
        """Return the number of the window's first record, and the number after its last record.

        If a window begins at the share at which another window ends, no record belongs to both.
        """
        first, end = (round(share * index.records) for share in self.window)
        if first == end:
            raise SsdgymError(
                f"{self.label}: window {list(self.window)} holds none of the {index.records} requests; "
                "make it wider."
            )
        return first, end

    def touched_pages(self, page_size: int, seed: int = 0) -> int:
        """Return the number of different pages that the records touch, in the window and outside it."""
        return self._whole()._survey(page_size, seed).pages

    def open(self, logical_pages: int, page_size: int, seed: int) -> RequestStream:
        """See `WorkloadConfig`."""
        compact = None
        if self.addresses == "compact":
            known = self._whole()._survey(page_size, seed)
            if known.pages > logical_pages:
                raise SsdgymError(
                    f"{self.label}: the trace touches {known.pages} pages but the device has {logical_pages} "
                    "logical pages; use a larger device, or set addresses to fold."
                )
            compact = known.compact
        elif not len(self.records(seed).chunk()):
            raise _nothing_to_play(self)
        sources = self._records_from_start(seed), self.records(seed)
        laps = partial(Played, *sources, compact, logical_pages, page_size)
        report = partial(self.report, logical_pages, page_size, seed)
        return RequestStream(Loops(laps, self.loops), report)

    def report(self, logical_pages: int, page_size: int, seed: int) -> dict[str, int]:
        """Return the facts of `RequestStream.report` about the window."""
        return self._survey(page_size, seed).report(self.addresses, logical_pages)

    def _whole(self) -> PlayedConfig:
        """Return the workload with all records in its window."""
        return self.model_copy(update={"window": _WHOLE})

    def _survey(self, page_size: int, seed: int) -> Survey:
        return _surveyed(WorkloadKey(self, _NO_RECORDS), *self.depends_on(seed), page_size)

    def _index(self, seed: int) -> RecordIndex:
        return _indexed(WorkloadKey(self._whole(), _NO_RECORDS), *self.depends_on(seed))


@lru_cache(maxsize=8)
def _surveyed(key: WorkloadKey[PlayedConfig], stamp: tuple[int, ...], seed: int, page_size: int) -> Survey:
    """Survey equal records only once per process, because every reset opens the workload again."""
    known = survey(key.workload.records(seed), page_size)
    if not known.requests:
        raise _nothing_to_play(key.workload)
    known.ranges.flags.writeable = False
    return known


@lru_cache(maxsize=8)
def _indexed(key: WorkloadKey[PlayedConfig], stamp: tuple[int, ...], seed: int) -> RecordIndex:
    """Index equal records only once per process."""
    return RecordIndex(key.workload.records(seed))


def _nothing_to_play(config: PlayedConfig) -> SsdgymError:
    return SsdgymError(
        f"{config.label}: the trace has no request that can be played; give one with requests, or fewer "
        "transforms."
    )
