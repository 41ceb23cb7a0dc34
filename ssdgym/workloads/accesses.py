"""Generated accesses: what is asked for, without saying when."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from ssdgym.config.generated import (
    AccessConfig,
    DriftingConfig,
    HotColdConfig,
    SequentialConfig,
    UniformConfig,
    ZipfConfig,
)
from ssdgym.errors import SsdgymError
from ssdgym.requests import READ, REQUEST, TRIM, WRITE, Requests
from ssdgym.workloads.addresses import IntArray, Picker, split_at_end
from ssdgym.workloads.chunks import CHUNK
from ssdgym.workloads.drifting import DriftingPicker
from ssdgym.workloads.hot_cold import HotColdPicker
from ssdgym.workloads.sequential import SequentialPicker
from ssdgym.workloads.uniform import UniformPicker
from ssdgym.workloads.zipf import ZipfPicker


class Accesses:
    """An endless source of accesses with one pattern; every ``arrival_ns`` is 0.

    Pages, operations and sizes are drawn from a generator each: two workloads that differ only in
    their read share ask for the same pages.
    """

    def __init__(self, config: AccessConfig, logical_pages: int, seed: np.random.SeedSequence) -> None:
        pages, ops, sizes = (np.random.Generator(np.random.PCG64(child)) for child in seed.spawn(3))
        self._first, self._footprint = footprint_range(config, logical_pages)
        self._sizes = SizeDraw(config.request_pages, sizes)
        self._ops = _OpDraw(config, ops)
        self._pick = _picker(config, self._footprint, pages)

    def chunk(self) -> Requests:
        """See `ssdgym.workloads.chunks.Source`."""
        requests = np.zeros(CHUNK, REQUEST)
        requests["op"] = self._ops.draw(CHUNK)
        requests["pages"] = sizes = self._sizes.draw(CHUNK)
        requests["lpn"] = self._pick(sizes)
        requests = split_at_end(requests, self._footprint)
        if self._first:
            requests["lpn"] += self._first
        return requests


def footprint_range(config: AccessConfig, logical_pages: int) -> tuple[int, int]:
    """Return the first page of the workload's footprint and its number of pages.

    Raises:
        SsdgymError: the largest request does not fit into it.
    """
    first = min(round(config.start * logical_pages), logical_pages - 1)
    pages = min(max(round(config.footprint * logical_pages), 1), logical_pages - first)
    largest = max(config.request_pages)
    if largest > pages:
        raise SsdgymError(
            f"a workload asks for {largest} pages at once (request_pages) but its footprint has only {pages} "
            f"of the {logical_pages} logical pages; make the footprint larger or the requests smaller."
        )
    return first, pages


def _picker(config: AccessConfig, footprint: int, rng: np.random.Generator) -> Picker:
    match config:
        case UniformConfig():
            return UniformPicker(config, footprint, rng)
        case HotColdConfig():
            return HotColdPicker(config, footprint, rng)
        case ZipfConfig():
            return ZipfPicker(config, footprint, rng)
        case SequentialConfig():
            return SequentialPicker(config, footprint, rng)
        case DriftingConfig():
            return DriftingPicker(config, footprint, rng)
    raise TypeError(f"no generator for {type(config).__name__}")


class _OpDraw:
    """Draws READ, TRIM and WRITE by their shares."""

    def __init__(self, config: AccessConfig, rng: np.random.Generator) -> None:
        self._read = config.read_fraction
        self._read_or_trim = config.read_fraction + config.trim_fraction
        self._rng = rng

    def draw(self, count: int) -> npt.NDArray[np.uint8]:
        ops = np.full(count, WRITE, np.uint8)
        if self._read_or_trim > 0:
            draw = self._rng.random(count)
            ops[draw < self._read_or_trim] = TRIM
            ops[draw < self._read] = READ
        return ops


class SizeDraw:
    """Draws sizes by their weights."""

    def __init__(self, weights: Mapping[int, float], rng: np.random.Generator) -> None:
        self._sizes = np.array(sorted(weights), np.int32)
        cumulative = np.cumsum([weights[size] for size in self._sizes.tolist()])
        self._distribution = cumulative / cumulative[-1]
        self._rng = rng

    def draw(self, count: int) -> IntArray:
        if len(self._sizes) == 1:
            return np.repeat(self._sizes, count)
        return self._sizes[np.searchsorted(self._distribution, self._rng.random(count), side="right")]
