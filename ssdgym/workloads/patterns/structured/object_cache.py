"""A cache of objects on flash: small ones hashed to pages, large ones appended to a log of regions."""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field, PositiveInt

from ssdgym.requests import WRITE, Requests
from ssdgym.types import IntegerArray
from ssdgym.workloads.base import InnerShare, Share
from ssdgym.workloads.chunks import CHUNK
from ssdgym.workloads.kinds import workload_kind
from ssdgym.workloads.patterns.structured.base import StructuredConfig, requests_of

SMALL, LARGE = 0, 1


@workload_kind
class ObjectCacheConfig(StructuredConfig):
    """A cache as CacheLib lays it out; hints: 0 small objects, 1 large ones.

    A small object overwrites the page that its key is hashed to; large ones fill regions one after the other,
    each of which is overwritten when all others have been.
    """

    kind: Literal["object_cache"] = "object_cache"
    small_access: Share = Field(0.5, description="Share of the writes that are of small objects.")
    small: InnerShare = Field(0.05, description="Share of the footprint that is for small objects.")
    region_pages: PositiveInt = Field(16, description="Pages that are written to a region at once.")

    def least_pages(self) -> int:
        """See `StructuredConfig`."""
        return int(np.ceil(max(2 / self.small, (self.region_pages + 1) / (1 - self.small))))

    def writer(self, pages: int, rng: np.random.Generator) -> ObjectCacheWriter:
        """See `StructuredConfig`."""
        return ObjectCacheWriter(self, pages, rng)


class ObjectCacheWriter:
    """The small objects lie at the start of the footprint, the regions behind them."""

    def __init__(self, config: ObjectCacheConfig, pages: int, rng: np.random.Generator) -> None:
        """Start with the first region.

        Args:
            config: the pattern.
            pages: of the footprint.
            rng: draws for it alone.
        """
        self._config, self._rng, self._pages = config, rng, pages
        self._small = max(int(config.small * pages), 1)
        self._regions = (pages - self._small) // config.region_pages
        self._next = 0

    def batch(self) -> Requests:
        """See `Writer`."""
        config = self._config
        is_small = self._rng.random(CHUNK) < config.small_access
        region = (self._next + np.cumsum(~is_small) - 1) % self._regions
        self._next = (self._next + int((~is_small).sum())) % self._regions
        hashed = self._rng.integers(self._small, size=CHUNK)
        lpn = np.where(is_small, hashed, self._small + region * config.region_pages)
        pages = np.where(is_small, 1, config.region_pages)
        return requests_of(WRITE, lpn, pages, np.where(is_small, SMALL, LARGE))

    def pages_to_read(self, count: int, rng: np.random.Generator) -> IntegerArray:
        """See `Writer`: any page of the footprint."""
        return rng.integers(self._pages, size=count)
