"""Base of traces and synthetic traces, whose records have addresses in bytes of volumes."""

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
#: Fields that do not change which records there are.
_NO_RECORDS = ("start", "loops", "addresses")


def _is_start(value: Any) -> Any:
    """Return the value of `start`; refuse a wrong one with one error, not with one per allowed type."""
    if value in (None, "first", "random") or (is_whole(value) and value >= 0):
        return value
    raise ValueError(f"must be first, random or the number of a request from 0 up, not {shown(value)}")


Start = Annotated[Literal["first", "random"] | NonNegativeInt | None, BeforeValidator(_is_start)]


class PlayedConfig(WorkloadConfig):
    """Fields that determine how records are replayed: transforms, window, start, loops and addresses."""

    #: Whether the records are drawn by a seed; their statistics then differ from the published ones.
    is_drawn: ClassVar[bool] = False

    transforms: tuple[AnyTransformConfig, ...] = Field(
        (), description="Changes to the requests, in this order."
    )
    window: tuple[Share, Share] = Field(
        _WHOLE,
        description="Start and end of the part that is played, as shares of the requests after the "
        "transforms. Page numbers are those of the whole trace.",
    )
    start: Start = Field(
        None,
        description="The request of the window that is played first: `first`, `random` (by the seed), or "
        "a number, counted from 0. Default: `random` for traces in environments, otherwise `first`.",
    )
    loops: PositiveInt | None = Field(
        1,
        description="Number of times the window is played; null: no end. The first time begins at `start`, "
        "every other time at the first request of the window.",
    )
    addresses: Literal["compact", "fold"] = Field(
        "compact",
        description="compact: the pages touched are numbered 0..n-1 in address order;"
        " fold: page numbers are taken modulo the logical pages of the device. Volumes lie one after"
        " the other.",
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
        """Return all records, before the transforms."""

    @abstractmethod
    def depends_on(self, seed: int) -> tuple[tuple[int, ...], int]:
        """Return what the records depend on besides this configuration: stamps of files, and the seed."""

    def origin(self) -> dict[str, Any]:
        """Return the format of the records, and the number of `skipped_lines` of their file."""
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
        """Whether all records are replayed unchanged."""
        return not self.transforms and self.window == _WHOLE

    def with_start(self, start: StartAt) -> PlayedConfig:
        """See `WorkloadConfig`; records that are drawn by a seed need no random start."""
        is_open = self.start is None and not self.is_drawn
        return self.model_copy(update={"start": start}) if is_open else self

    def records(self, seed: int = 0) -> RecordSource:
        """Return all records of the window, after the transforms.

        Args:
            seed: seed of the records, at least 0. Traces do not use it.

        Raises:
            SsdgymError: the trace cannot be read, a transform does not fit it, or the window is empty.
        """
        if self.window == _WHOLE:
            source, transforms = self._begun(seed)
            return Transformed(source, transforms) if transforms else source
        index = self._index(seed)
        return index.part(*self._bounds(index))

    def _begun(self, seed: int) -> tuple[RecordSource, Sequence[TransformConfig]]:
        """Return all records, and the transforms that are still to be applied to them."""
        return self.source(seed), self.transforms

    def _records_from_start(self, seed: int) -> RecordSource:
        """Return the records of the window from its start on."""
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
        """Return the number of the window's first record, and of the record after its last.

        Adjacent windows have no record in common.
        """
        first, end = (round(share * index.records) for share in self.window)
        if first == end:
            raise SsdgymError(
                f"{self.label}: window {list(self.window)} holds none of the {index.records} requests; "
                "make it wider."
            )
        return first, end

    def touched_pages(self, page_size: int, seed: int = 0) -> int:
        """Return the number of different pages that all records touch, inside and outside the window."""
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
        """Return the facts of `RequestStream.report` about the records on a device."""
        return self._survey(page_size, seed).report(self.addresses, logical_pages)

    def _whole(self) -> PlayedConfig:
        """Return the same workload without a window; all its pages get numbers in compact addresses."""
        return self.model_copy(update={"window": _WHOLE})

    def _survey(self, page_size: int, seed: int) -> Survey:
        return _surveyed(WorkloadKey(self, _NO_RECORDS), *self.depends_on(seed), page_size)

    def _index(self, seed: int) -> RecordIndex:
        return _indexed(WorkloadKey(self._whole(), _NO_RECORDS), *self.depends_on(seed))


@lru_cache(maxsize=8)
def _surveyed(key: WorkloadKey[PlayedConfig], stamp: tuple[int, ...], seed: int, page_size: int) -> Survey:
    """Survey records only once per process and content, because every reset opens its workload again."""
    known = survey(key.workload.records(seed), page_size)
    if not known.requests:
        raise _nothing_to_play(key.workload)
    known.ranges.flags.writeable = False
    return known


@lru_cache(maxsize=8)
def _indexed(key: WorkloadKey[PlayedConfig], stamp: tuple[int, ...], seed: int) -> RecordIndex:
    """Index records only once per process and content."""
    return RecordIndex(key.workload.records(seed))


def _nothing_to_play(config: PlayedConfig) -> SsdgymError:
    return SsdgymError(
        f"{config.label}: the trace has no request that can be played; give one with requests, or fewer "
        "transforms."
    )
