"""Small and synchronous writes between large ones, by bytes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ssdgym.config.small_writes import SmallWritesConfig
from ssdgym.errors import SsdgymError
from ssdgym.requests import READ, SYNC, WRITE, Requests
from ssdgym.workloads.accesses import SizeDraw
from ssdgym.workloads.addresses import IntArray, split_at_end
from ssdgym.workloads.chunks import CHUNK
from ssdgym.workloads.records.pages import WIDE_REQUEST, narrow, to_pages
from ssdgym.workloads.records.record import RECORD
from ssdgym.workloads.zipf import scrambled_pages, zipf_distribution

#: The logical space is one volume that starts at page 0.
_ONE_VOLUME = np.zeros(1, np.int64)
_ONE_VOLUME.flags.writeable = False


class SmallWrites:
    """An endless source of small and large accesses; every ``arrival_ns`` is 0.

    Operations, kinds, sizes, places, alignments and synchrony are drawn from a generator each: two
    workloads that differ in one of them are alike in the others.
    """

    def __init__(
        self, config: SmallWritesConfig, logical_pages: int, page_size: int, seed: np.random.SeedSequence
    ) -> None:
        ops, kinds, small, large, self._places, offsets, sync = (
            np.random.Generator(np.random.PCG64(child)) for child in seed.spawn(7)
        )
        self._page_size = page_size
        self._unit_bytes = config.subpage_bytes
        self._first_byte, footprint_bytes = _footprint_range(config, logical_pages, page_size)
        self._units = footprint_bytes // config.subpage_bytes
        self._units_per_page = config.full_page_bytes // config.subpage_bytes
        self._small_places = _Places(max(round(config.small_footprint * self._units), 1), config)
        self._large_places = _Places(self._units // self._units_per_page, config)
        self._small_sizes = SizeDraw(config.small_bytes, small)
        self._large_sizes = SizeDraw(config.large_bytes, large)
        self._is_read = _Coin(config.read_fraction, ops)
        self._is_small = _Coin(config.r_small, kinds)
        self._is_sync = _Coin(config.r_synch, sync)
        self._offsets = _Offsets(config.aligned_fraction, self._units_per_page, offsets)

    def chunk(self) -> Requests:
        """See `ssdgym.workloads.chunks.Source`."""
        is_small = self._is_small.toss(CHUNK)
        is_read = self._is_read.toss(CHUNK)
        requests = np.zeros(CHUNK, WIDE_REQUEST)
        requests["op"] = np.where(is_read, READ, WRITE)
        requests["flags"] = np.where(is_small & ~is_read & self._is_sync.toss(CHUNK), SYNC, 0)
        small, large = self._small_sizes.draw(CHUNK), self._large_sizes.draw(CHUNK)
        requests["pages"] = np.where(is_small, small, large) // self._unit_bytes
        requests["lpn"] = self._first_units(is_small)
        return self._on_device(split_at_end(requests, self._units))

    def _first_units(self, is_small: npt.NDArray[np.bool_]) -> IntArray:
        """Return the subpage, counted from the footprint's start, with which each request starts."""
        draw = self._places.random(CHUNK)
        offsets = self._offsets.draw(CHUNK)
        units = np.empty(CHUNK, np.int64)
        units[is_small] = self._small_places.at(draw[is_small])
        pages = self._large_places.at(draw[~is_small])
        units[~is_small] = pages * self._units_per_page + offsets[~is_small]
        return units

    def _on_device(self, requests: Requests) -> Requests:
        """Return requests given in subpages of the footprint in pages of the device."""
        records = np.zeros(len(requests), RECORD)
        records["offset_bytes"] = self._first_byte + requests["lpn"] * self._unit_bytes
        records["size_bytes"] = requests["pages"] * self._unit_bytes
        records["op"] = requests["op"]
        pages = to_pages(records, self._page_size, _ONE_VOLUME)
        pages["flags"] |= requests["flags"]
        return narrow(pages)


def _footprint_range(config: SmallWritesConfig, logical_pages: int, page_size: int) -> tuple[int, int]:
    """Return the first byte of the footprint and its number of bytes, both multiples of a full page.

    Raises:
        SsdgymError: the largest request does not fit into it.
    """
    full_pages = logical_pages * page_size // config.full_page_bytes
    first = min(round(config.start * full_pages), max(full_pages - 1, 0))
    footprint = min(max(round(config.footprint * full_pages), 1), full_pages - first) * config.full_page_bytes
    largest = max(config.large_bytes)
    if largest > footprint:
        raise SsdgymError(
            f"workload {config.kind}: large_bytes asks for {largest} bytes at once but the footprint has "
            f"only {footprint} of the {logical_pages * page_size} logical bytes; make the footprint larger "
            "or the requests smaller."
        )
    return first * config.full_page_bytes, footprint


def small_writes_pages(config: SmallWritesConfig, logical_pages: int, page_size: int) -> int:
    """Return how many pages of the device the footprint reaches into."""
    first, size = _footprint_range(config, logical_pages, page_size)
    return -(-(first + size) // page_size) - first // page_size


class _Places:
    """Places ``0..count-1`` by Zipf's law, the ranks spread over them at random."""

    def __init__(self, count: int, config: SmallWritesConfig) -> None:
        self._distribution = zipf_distribution(count, config.theta)
        self._place_of_rank = scrambled_pages(count, config.layout_seed)

    def at(self, draw: npt.NDArray[np.float64]) -> IntArray:
        return self._place_of_rank[np.searchsorted(self._distribution, draw, side="right")]


class _Coin:
    """Comes down True with a given probability."""

    def __init__(self, share: float, rng: np.random.Generator) -> None:
        self._share = share
        self._rng = rng

    def toss(self, count: int) -> npt.NDArray[np.bool_]:
        return self._rng.random(count) < self._share


class _Offsets:
    """Subpages between the start of a full page and the start of a request: 0 with a given probability."""

    def __init__(self, aligned_fraction: float, units_per_page: int, rng: np.random.Generator) -> None:
        self._is_aligned = _Coin(aligned_fraction, rng)
        self._units_per_page = units_per_page
        self._rng = rng

    def draw(self, count: int) -> IntArray:
        others = self._rng.integers(1, self._units_per_page, size=count)
        return np.where(self._is_aligned.toss(count), 0, others)
