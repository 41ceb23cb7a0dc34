"""Workloads that are records of requests by byte and volume: traces and synthetic traces."""

from __future__ import annotations

from abc import abstractmethod
from functools import lru_cache, partial
from typing import Any, ClassVar, Literal

from pydantic import Field, PositiveInt

from ssdgym.errors import SsdgymError
from ssdgym.requests import WRITE
from ssdgym.workloads.base import WorkloadConfig
from ssdgym.workloads.chunks import ChunkedStream
from ssdgym.workloads.records.record import RecordSource
from ssdgym.workloads.records.replay import play, report_on
from ssdgym.workloads.records.survey import Survey, survey
from ssdgym.workloads.records.transforms import AnyTransformConfig, Transformed


class PlayedConfig(WorkloadConfig):
    """How records are played on a device: first the transforms in order, then pages, then loops."""

    #: Whether the records are drawn, by a seed, so that they can differ from what is published.
    is_drawn: ClassVar[bool] = False

    transforms: tuple[AnyTransformConfig, ...] = Field(
        (), description="Changes to the requests, in this order."
    )
    loops: PositiveInt | None = Field(1, description="How often the requests are played; null: for ever.")
    addresses: Literal["compact", "fold"] = Field(
        "compact",
        description="compact: the pages touched are numbered 0..n-1 in address order;"
        " fold: page numbers are taken modulo the logical pages of the device. Volumes lie one after"
        " the other.",
    )

    @property
    @abstractmethod
    def label(self) -> str:
        """What errors call the workload."""

    @abstractmethod
    def source(self, seed: int) -> RecordSource:
        """Return the records from the first on, the transforms not carried out.

        Raises:
            SsdgymError: they cannot be read or drawn.
        """

    @abstractmethod
    def depends_on(self, seed: int) -> tuple[tuple[int, ...], int]:
        """Return what the records depend on beside the configuration: the stamp of a file, and a seed."""

    def origin(self) -> dict[str, Any]:
        """Return the format of the records, and how many `skipped_lines` their file has.

        Raises:
            SsdgymError: the trace cannot be read.
        """
        return {"format": self.kind, "skipped_lines": 0}

    def published(self) -> dict[str, float]:
        """Return what is published of the records, by column of `RecordSummary`; nothing of a trace."""
        return {}

    @property
    def is_endless(self) -> bool:
        """See `WorkloadConfig`."""
        return self.loops is None

    def never_writes(self) -> bool:
        """See `WorkloadConfig`."""
        return False

    def writes_nothing(self) -> bool:
        """See `WorkloadConfig`."""
        source = self.records(0)
        while len(chunk := source.chunk()):
            if (chunk["op"] == WRITE).any():
                return False
        return True

    def records(self, seed: int = 0) -> RecordSource:
        """Return the records from the first on, the transforms carried out.

        Args:
            seed: not negative; traces do not use it.

        Raises:
            SsdgymError: the trace cannot be read, or a transform does not fit it.
        """
        source = self.source(seed)
        return Transformed(source, self.transforms) if self.transforms else source

    def touched_pages(self, page_size: int, seed: int = 0) -> int:
        """Return how many different pages the records touch.

        Args:
            page_size: bytes per page.
            seed: as in `records`.

        Raises:
            SsdgymError: the trace cannot be read.
        """
        return self._survey(page_size, seed).pages

    def open(self, logical_pages: int, page_size: int, seed: int) -> ChunkedStream:
        """See `WorkloadConfig`."""
        compact = None
        if self.addresses == "compact":
            known = self._survey(page_size, seed)
            if known.pages > logical_pages:
                raise SsdgymError(
                    f"{self.label}: the trace touches {known.pages} pages but the device has {logical_pages} "
                    "logical pages; use a larger device, or set addresses to fold."
                )
            compact = known.compact
        elif not len(self.records(seed).chunk()):
            raise _nothing_to_play(self)
        return play(
            self.records(seed),
            compact=compact,
            loops=self.loops,
            logical_pages=logical_pages,
            page_size=page_size,
            report=partial(self.report, logical_pages, page_size, seed),
        )

    def report(self, logical_pages: int, page_size: int, seed: int) -> dict[str, int]:
        """Return the facts of `RequestStream` about the records on a device.

        Args:
            logical_pages: of the device.
            page_size: bytes per page.
            seed: as in `records`.
        """
        return report_on(self._survey(page_size, seed), self.addresses, logical_pages)

    def _survey(self, page_size: int, seed: int) -> Survey:
        # What is done after the survey does not change it.
        plain = self.model_copy(update={"loops": 1, "addresses": "compact"}).model_dump_json()
        return _surveyed(type(self), plain, *self.depends_on(seed), page_size)


@lru_cache(maxsize=8)
def _surveyed(
    kind: type[PlayedConfig], text: str, stamp: tuple[int, ...], seed: int, page_size: int
) -> Survey:
    """Survey once per process and content; a reset opens its workload again every time."""
    config = kind.model_validate_json(text)
    known = survey(config.records(seed), page_size)
    if not known.requests:
        raise _nothing_to_play(config)
    for array in (known.starts, *known.ranges):
        array.flags.writeable = False
    return known


def _nothing_to_play(config: PlayedConfig) -> SsdgymError:
    return SsdgymError(
        f"{config.label}: the trace has no request that can be played; give one with requests, or fewer "
        "transforms."
    )
