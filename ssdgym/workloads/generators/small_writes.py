"""Small and synchronous writes mixed with large writes, with sizes in bytes."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
import numpy.typing as npt
from pydantic import BeforeValidator, Field, NonNegativeInt, model_validator

from ssdgym.errors import SsdgymError
from ssdgym.requests import READ, REQUEST, SYNC, WRITE, Requests
from ssdgym.types import IntegerArray
from ssdgym.workloads.addresses import split_at_end
from ssdgym.workloads.base import CHUNK, NotedConfig, Share, Weight
from ssdgym.workloads.generators.base import RegionConfig, SizeDraw, as_size_weights
from ssdgym.workloads.generators.patterns import ZipfPlaces
from ssdgym.workloads.registry import workload_kind
from ssdgym.workloads.traces.record import RECORD, WIDE_REQUEST, cast, to_pages

#: The logical space is one volume that starts at page 0.
_ONE_VOLUME = np.zeros(1, np.int64)
_ONE_VOLUME.flags.writeable = False


_Bytes = Annotated[int, Field(ge=1, le=1 << 30)]
ByteWeights = Annotated[dict[_Bytes, Weight], Field(min_length=1), BeforeValidator(as_size_weights)]


@workload_kind
class SmallWritesConfig(RegionConfig, NotedConfig):
    """Writes smaller than a flash page mixed with large writes (Kim et al., DAC 2017, sections 2 and 5).

    Sizes and addresses are in bytes and do not depend on the page size of the device; writes that cover only
    part of a page have a flag. Addresses follow Zipf's law: small requests go to the subpages in a part of
    the footprint (`small_footprint`), large requests to the full pages of the whole footprint. Reads have the
    sizes and addresses of writes. A request that crosses the end of the footprint continues at its start.
    """

    kind: Literal["small_writes"] = "small_writes"
    r_small: Share = Field(description="Share of the requests that are small (smaller than a full page).")
    r_synch: Share = Field(description="Share of the small writes that are synchronous.")
    full_page_bytes: int = Field(16384, ge=2, le=1 << 30, description="Size of a full page in bytes.")
    subpage_bytes: int = Field(
        4096, ge=1, le=1 << 30, description="Unit of all addresses and sizes, in bytes."
    )
    small_bytes: ByteWeights = Field(
        {4096: 1.0}, description="Bytes per small request: a number, or a mapping from numbers to weights."
    )
    large_bytes: ByteWeights = Field(
        {16384: 1.0}, description="Bytes per large request: a number, or a mapping from numbers to weights."
    )
    aligned_fraction: Share = Field(
        1.0,
        description="Share of the large requests that start at the first subpage of a full page; all others"
        " start at one of the other subpages, with equal probabilities.",
    )
    small_footprint: float = Field(
        1.0, gt=0, le=1, description="Small requests go to this share of the footprint, from its start."
    )
    theta: float = Field(0.99, ge=0, le=10, description="Exponent of Zipf's law; 0 is uniform.")
    layout_seed: NonNegativeInt = Field(
        0, description="Seed that assigns ranks to places, independent of the run's seed."
    )

    @model_validator(mode="after")
    def _sizes_fit(self) -> SmallWritesConfig:
        if self.full_page_bytes % self.subpage_bytes or self.full_page_bytes == self.subpage_bytes:
            raise ValueError(
                f"needs full_page_bytes ({self.full_page_bytes}) to be several times subpage_bytes"
                f" ({self.subpage_bytes})"
            )
        for name in ("small_bytes", "large_bytes"):
            for size in getattr(self, name):
                if size % self.subpage_bytes:
                    raise ValueError(
                        f"needs {name} to be multiples of subpage_bytes ({self.subpage_bytes}), not {size}"
                    )
        if max(self.small_bytes) >= self.full_page_bytes:
            raise ValueError(f"needs small_bytes to be below full_page_bytes, not {max(self.small_bytes)}")
        if min(self.large_bytes) < self.full_page_bytes:
            raise ValueError(f"needs large_bytes to be at least full_page_bytes, not {min(self.large_bytes)}")
        return self

    def source(self, logical_pages: int, page_size: int, seed: np.random.SeedSequence) -> _SmallWrites:
        """See `PacedConfig`."""
        return _SmallWrites(self, logical_pages, page_size, seed)

    def footprint_pages(self, logical_pages: int, page_size: int) -> int:
        """See `PacedConfig`; pages that are accessed only in part count as well."""
        first, size = _footprint_range(self, logical_pages, page_size)
        return -(-(first + size) // page_size) - first // page_size


class _SmallWrites:
    """An endless source of small and large requests; every `arrival_ns` is 0.

    Operations, kinds (small or large), sizes, places, alignments and SYNC flags have separate random
    generators. So two workloads that differ in the settings of one have the same values of all others.
    """

    def __init__(
        self, config: SmallWritesConfig, logical_pages: int, page_size: int, seed: np.random.SeedSequence
    ) -> None:
        seeds = seed.spawn(7)
        rngs = map(np.random.default_rng, seeds)
        self._ops, self._kinds, _, _, self._places, self._offsets, self._sync = rngs
        self._config = config
        self._page_size = page_size
        self._first_byte, footprint_bytes = _footprint_range(config, logical_pages, page_size)
        self._units = footprint_bytes // config.subpage_bytes
        self._units_per_page = config.full_page_bytes // config.subpage_bytes
        units, pages = round(config.small_footprint * self._units), self._units // self._units_per_page
        self._small_places = ZipfPlaces(max(units, 1), config.theta, config.layout_seed)
        self._large_places = ZipfPlaces(pages, config.theta, config.layout_seed)
        self._small_sizes = SizeDraw(config.small_bytes, seeds[2])
        self._large_sizes = SizeDraw(config.large_bytes, seeds[3])

    def chunk(self) -> Requests:
        config = self._config
        is_small = self._kinds.random(CHUNK) < config.r_small
        is_read = self._ops.random(CHUNK) < config.read_fraction
        is_sync = self._sync.random(CHUNK) < config.r_synch
        requests = np.zeros(CHUNK, WIDE_REQUEST)
        requests["op"] = np.where(is_read, READ, WRITE)
        requests["flags"] = np.where(is_small & ~is_read & is_sync, SYNC, 0)
        small, large = self._small_sizes.draw(CHUNK), self._large_sizes.draw(CHUNK)
        requests["pages"] = np.where(is_small, small, large) // config.subpage_bytes
        requests["lpn"] = self._first_units(is_small)
        return self._on_device(split_at_end(requests, self._units))

    def _first_units(self, is_small: npt.NDArray[np.bool_]) -> IntegerArray:
        """Return the first subpage of each request of a chunk, counted from the footprint's start."""
        draw = self._places.random(CHUNK)
        others = self._offsets.integers(1, self._units_per_page, size=CHUNK)
        is_aligned = self._offsets.random(CHUNK) < self._config.aligned_fraction
        offsets = np.where(is_aligned, 0, others)
        units = np.empty(CHUNK, np.int64)
        units[is_small] = self._small_places.at(draw[is_small])
        pages = self._large_places.at(draw[~is_small])
        units[~is_small] = pages * self._units_per_page + offsets[~is_small]
        return units

    def _on_device(self, requests: Requests) -> Requests:
        """Convert requests from subpages of the footprint to pages of the device."""
        records, unit = np.zeros(len(requests), RECORD), self._config.subpage_bytes
        records["offset_bytes"] = self._first_byte + requests["lpn"] * unit
        records["size_bytes"] = requests["pages"] * unit
        records["op"] = requests["op"]
        pages = to_pages(records, self._page_size, _ONE_VOLUME)
        pages["flags"] |= requests["flags"]
        return cast(pages, REQUEST)


def _footprint_range(config: SmallWritesConfig, logical_pages: int, page_size: int) -> tuple[int, int]:
    """Return the first byte of the footprint and its number of bytes, both multiples of a full page."""
    full_pages = logical_pages * page_size // config.full_page_bytes
    first = min(round(config.start * full_pages), max(full_pages - 1, 0))
    footprint = min(max(round(config.footprint * full_pages), 1), full_pages - first) * config.full_page_bytes
    largest = max(config.large_bytes)
    if largest > footprint:
        raise SsdgymError(
            f"workload {config.kind}: large_bytes takes {largest} bytes at once but the footprint has "
            f"only {footprint} of the {logical_pages * page_size} logical bytes; make the footprint larger "
            "or the requests smaller."
        )
    return first * config.full_page_bytes, footprint
