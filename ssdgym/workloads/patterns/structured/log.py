"""A log: appends that go round and round, and a few pages of metadata that are written in place."""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field, PositiveInt

from ssdgym.requests import WRITE, Requests
from ssdgym.types import IntegerArray
from ssdgym.workloads.base import Share
from ssdgym.workloads.chunks import CHUNK
from ssdgym.workloads.kinds import workload_kind
from ssdgym.workloads.patterns.structured.base import StructuredConfig, requests_of

METADATA, DATA = 0, 1


@workload_kind
class LogConfig(StructuredConfig):
    """Appends to a log that wraps, and its metadata; hints: 0 metadata, 1 the log."""

    kind: Literal["log"] = "log"
    append_pages: PositiveInt = Field(4, description="Pages of an append.")
    metadata_access: Share = Field(0.1, description="Share of the writes that go to the metadata.")
    metadata_pages: PositiveInt = Field(8, description="Pages of the metadata, written with equal odds.")

    def least_pages(self) -> int:
        """See `StructuredConfig`."""
        return self.metadata_pages + self.append_pages

    def writer(self, pages: int, rng: np.random.Generator) -> LogWriter:
        """See `StructuredConfig`."""
        return LogWriter(self, pages, rng)


class LogWriter:
    """The metadata lie at the start of the footprint, the log behind them."""

    def __init__(self, config: LogConfig, pages: int, rng: np.random.Generator) -> None:
        """Start at the start of the log.

        Args:
            config: the pattern.
            pages: of the footprint.
            rng: draws for it alone.
        """
        self._config, self._rng, self._pages = config, rng, pages
        self._appends = (pages - config.metadata_pages) // config.append_pages
        self._next = 0

    def batch(self) -> Requests:
        """See `Writer`."""
        config = self._config
        is_metadata = self._rng.random(CHUNK) < config.metadata_access
        number = (self._next + np.cumsum(~is_metadata) - 1) % self._appends
        self._next = (self._next + int((~is_metadata).sum())) % self._appends
        metadata = self._rng.integers(config.metadata_pages, size=CHUNK)
        lpn = np.where(is_metadata, metadata, config.metadata_pages + number * config.append_pages)
        pages = np.where(is_metadata, 1, config.append_pages)
        return requests_of(WRITE, lpn, pages, np.where(is_metadata, METADATA, DATA))

    def pages_to_read(self, count: int, rng: np.random.Generator) -> IntegerArray:
        """See `Writer`: any page of the footprint."""
        return rng.integers(self._pages, size=count)
