"""Access patterns of storage programs: B-tree, log, LSM tree, object cache."""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from typing import Literal, Protocol

import numpy as np
from pydantic import Field, NonNegativeInt, PositiveInt

from ssdgym.errors import SsdgymError
from ssdgym.requests import READ, REQUEST, TRIM, WRITE, Requests
from ssdgym.types import IntegerArray
from ssdgym.workloads.base import CHUNK, InnerShare, Share
from ssdgym.workloads.generators.base import RegionConfig
from ssdgym.workloads.generators.patterns import ZipfPlaces
from ssdgym.workloads.registry import workload_kind

# The hint of a write is the number of the part of the footprint (journal, level, ...) to which it goes.


class Writer(Protocol):
    """Makes the writes and trims of a storage program; pages are counted from the footprint's start."""

    def batch(self) -> Requests:
        """Return the next writes and trims, at least one."""

    def pages_to_read(self, count: int, rng: np.random.Generator) -> IntegerArray:
        """Return pages that the program reads, shape (count,), drawn independently of its writes."""


class StructuredConfig(RegionConfig):
    """Base of models of storage programs; the writer makes the program's writes and trims."""

    def source(self, logical_pages: int, page_size: int, seed: np.random.SeedSequence) -> _Structured:
        """See `PacedConfig`."""
        return _Structured(self, *self.region(logical_pages), seed)

    def region(self, logical_pages: int) -> tuple[int, int]:
        """See `RegionConfig`."""
        first, pages = super().region(logical_pages)
        if pages < self.least_pages():
            raise SsdgymError(
                f"workload {self.kind}: its footprint has {pages} of the {logical_pages} logical pages, and "
                f"it needs {self.least_pages()}; make the footprint, or the device, larger."
            )
        return first, pages

    @abstractmethod
    def least_pages(self) -> int:
        """Return the pages of the smallest footprint that has room for all data of the program."""

    @abstractmethod
    def writer(self, pages: int, rng: np.random.Generator) -> Writer:
        """Return the writer of writes and trims on a footprint of `pages` pages."""


class _Structured:
    """An endless source of a program's requests, with reads between them; every `arrival_ns` is 0."""

    def __init__(
        self, config: StructuredConfig, first_page: int, pages: int, seed: np.random.SeedSequence
    ) -> None:
        writes, reads = map(np.random.default_rng, seed.spawn(2))
        self._writer = config.writer(pages, writes)
        self._read_fraction = config.read_fraction
        self._first_page = first_page
        self._reads = reads

    def chunk(self) -> Requests:
        requests = self._writer.batch()
        if self._read_fraction > 0:
            requests = self._with_reads(requests)
        requests["lpn"] += self._first_page
        return requests

    def _with_reads(self, requests: Requests) -> Requests:
        """Insert reads of single pages before requests, so that their mean share is `read_fraction`."""
        before = self._reads.geometric(1 - self._read_fraction, len(requests)) - 1
        places = np.arange(len(requests)) + np.cumsum(before)
        mixed = np.zeros(len(requests) + int(before.sum()), REQUEST)
        mixed["op"], mixed["pages"] = READ, 1
        is_read = np.ones(len(mixed), bool)
        is_read[places] = False
        mixed["lpn"][is_read] = self._writer.pages_to_read(int(before.sum()), self._reads)
        mixed[places] = requests
        return mixed


def requests_of(op: int, lpn: IntegerArray, pages: IntegerArray | int, hint: IntegerArray | int) -> Requests:
    """Return requests with the operation `op`, one for each element of `lpn`."""
    requests = np.zeros(len(lpn), REQUEST)
    requests["op"], requests["lpn"], requests["pages"], requests["hint"] = op, lpn, pages, hint
    return requests


JOURNAL, INNER, LEAF = 0, 1, 2


@workload_kind
class BtreeConfig(StructuredConfig):
    """Updates of a B-tree. Hints: 0 journal, 1 inner nodes, 2 leaves.

    Each update writes a leaf, and every `commit_updates` updates also write a page of the journal. On average
    one of `fanout` updates also writes the leaf's parent, because leaves split or merge.
    """

    kind: Literal["btree"] = "btree"
    theta: float = Field(0.8, ge=0, le=10, description="Exponent of Zipf's law over leaves; 0: uniform.")
    fanout: int = Field(64, ge=2, description="Leaves per inner node.")
    commit_updates: PositiveInt = Field(4, description="Updates per page of the journal.")
    journal: InnerShare = Field(0.02, description="Share of the footprint for the circular journal.")
    layout_seed: NonNegativeInt = Field(0, description="Seed that assigns ranks of Zipf's law to leaves.")

    def least_pages(self) -> int:
        """See `StructuredConfig`."""
        return 4 + int(np.ceil(2 / self.journal))

    def writer(self, pages: int, rng: np.random.Generator) -> _BtreeWriter:
        """See `StructuredConfig`."""
        return _BtreeWriter(self, pages, rng)


class _BtreeWriter:
    """Writes a B-tree; the footprint contains the journal, then the inner nodes, then the leaves."""

    def __init__(self, config: BtreeConfig, pages: int, rng: np.random.Generator) -> None:
        self._config, self._rng = config, rng
        self._journal = max(int(config.journal * pages), 1)
        tree = pages - self._journal
        self._inner = max(-(-tree // (config.fanout + 1)), 1)
        leaves = tree - self._inner
        self._places = ZipfPlaces(leaves, config.theta, config.layout_seed)
        self._updates = 0

    def batch(self) -> Requests:
        config, update = self._config, self._updates + np.arange(CHUNK)
        self._updates += CHUNK
        leaf = self._leaf(CHUNK, self._rng)
        commits = update[update % config.commit_updates == 0]
        splits = self._rng.random(CHUNK) < 1 / config.fanout
        parts = [
            (commits, (commits // config.commit_updates) % self._journal, JOURNAL),
            (update, self._journal + self._inner + leaf, LEAF),
            (update[splits], self._journal + leaf[splits] // config.fanout % self._inner, INNER),
        ]
        when = np.concatenate([part[0] for part in parts])
        requests = np.concatenate([requests_of(WRITE, lpn, 1, hint) for _, lpn, hint in parts])
        return requests[np.argsort(when, kind="stable")]

    def pages_to_read(self, count: int, rng: np.random.Generator) -> IntegerArray:
        """Return leaves, drawn by the same distribution as those of updates."""
        return self._journal + self._inner + self._leaf(count, rng)

    def _leaf(self, count: int, rng: np.random.Generator) -> IntegerArray:
        """Draw numbers of leaves, shape (count,)."""
        return self._places.at(rng.random(count)).astype(np.int64)


@workload_kind
class LogConfig(StructuredConfig):
    """Appends to a circular log, and writes of its metadata. Hints: 0 metadata, 1 log."""

    kind: Literal["log"] = "log"
    append_pages: PositiveInt = Field(4, description="Pages per append.")
    metadata_access: Share = Field(0.1, description="Share of the writes that go to the metadata.")
    metadata_pages: PositiveInt = Field(8, description="Pages of metadata, written with equal probability.")

    def least_pages(self) -> int:
        """See `StructuredConfig`."""
        return self.metadata_pages + self.append_pages

    def writer(self, pages: int, rng: np.random.Generator) -> _TwoAreasWriter:
        """See `StructuredConfig`."""
        return _TwoAreasWriter(pages, self.metadata_pages, self.metadata_access, self.append_pages, rng)


class _TwoAreasWriter:
    """Writes single random pages at the footprint's start, and behind them runs of pages, in a circle."""

    def __init__(
        self, pages: int, random_pages: int, random_access: float, run_pages: int, rng: np.random.Generator
    ) -> None:
        """Start at the first run.

        Args:
            pages: number of pages of the footprint.
            random_pages: number of pages at the footprint's start, which are written at random with hint 0.
            random_access: share of the writes that go to these random pages.
            run_pages: number of consecutive pages of every other write; these writes have hint 1.
            rng: random generator that only this writer uses.
        """
        self._pages, self._random_pages, self._random_access = pages, random_pages, random_access
        self._run_pages, self._rng = run_pages, rng
        self._runs = (pages - random_pages) // run_pages
        self._next = 0

    def batch(self) -> Requests:
        is_random = self._rng.random(CHUNK) < self._random_access
        run = (self._next + np.cumsum(~is_random) - 1) % self._runs
        self._next = (self._next + int((~is_random).sum())) % self._runs
        page = self._rng.integers(self._random_pages, size=CHUNK)
        lpn = np.where(is_random, page, self._random_pages + run * self._run_pages)
        return requests_of(WRITE, lpn, np.where(is_random, 1, self._run_pages), np.where(is_random, 0, 1))

    def pages_to_read(self, count: int, rng: np.random.Generator) -> IntegerArray:
        """Return pages of the footprint, drawn uniformly."""
        return rng.integers(self._pages, size=count)


#: Share of the places for tables that the levels fill; compactions need free places.
_FILLED = 0.85


@workload_kind
class LsmConfig(StructuredConfig):
    """Flushes and compactions of an LSM tree with levels. Hints: 0 journal, 1 first level, 2 next level, ...

    Every page of updates is first written to the journal. When the updates fill a table, the table is flushed
    to the first level. When a level has more tables than its capacity, its oldest table is merged with up to
    `ratio` tables of the next level: the merged tables are written, and the old tables are trimmed. A level
    has the capacity of the level above it times `ratio`. A full last level does not grow: a merge writes one
    table less than it trims, because new values replace older values of the same keys.
    """

    kind: Literal["lsm"] = "lsm"
    table_pages: PositiveInt = Field(64, description="Pages per table, written in one request.")
    first_level: PositiveInt = Field(4, description="Number of tables in the first level.")
    ratio: int = Field(4, ge=2, description="Capacity of a level / capacity of the level above it.")

    def least_pages(self) -> int:
        """See `StructuredConfig`."""
        tables = self.first_level * (1 + self.ratio) + self.ratio + 2
        return (2 + int(np.ceil(tables / _FILLED))) * self.table_pages

    def writer(self, pages: int, rng: np.random.Generator) -> _LsmWriter:
        """See `StructuredConfig`."""
        return _LsmWriter(self, pages)


class _LsmWriter:
    """Writes an LSM tree; the footprint begins with a journal of two tables' size, then come the tables."""

    def __init__(self, config: LsmConfig, pages: int) -> None:
        self._config = config
        self._journal_pages = 2 * config.table_pages
        places = (pages - self._journal_pages) // config.table_pages
        self._free = deque(range(places))
        self._capacities = _capacities(config, int(_FILLED * places) - config.ratio - 2)
        self._levels: list[deque[int]] = [deque() for _ in self._capacities]
        self._written = 0

    def batch(self) -> Requests:
        """Return the journal writes for one table, the flush of the table, and the resulting compactions."""
        count = self._config.table_pages
        journal = (self._written + np.arange(count)) % self._journal_pages
        self._written += count
        parts = [requests_of(WRITE, journal, 1, 0), self._write([self._free.popleft()], 0)]
        for level, capacity in enumerate(self._capacities):
            while len(self._levels[level]) > capacity:
                parts += self._compact(level)
        return np.concatenate(parts)

    def pages_to_read(self, count: int, rng: np.random.Generator) -> IntegerArray:
        """Return random pages of tables, or of the journal if there are no tables yet."""
        tables = np.array([table for level in self._levels for table in level], np.int64)
        if not len(tables):
            return rng.integers(self._journal_pages, size=count)
        chosen = tables[rng.integers(len(tables), size=count)] * self._config.table_pages
        return self._journal_pages + chosen + rng.integers(self._config.table_pages, size=count)

    def _write(self, places: list[int], level: int) -> Requests:
        """Add tables at the given places to a level, and return the writes of the tables."""
        self._levels[level].extend(places)
        first = self._journal_pages + np.array(places, np.int64) * self._config.table_pages
        return requests_of(WRITE, first, self._config.table_pages, 1 + level)

    def _compact(self, level: int) -> list[Requests]:
        """Merge the oldest table of a level with tables of the next level, or of the last level itself."""
        below = min(level + 1, len(self._levels) - 1)
        old = [self._levels[level].popleft()]
        overlapping = min(self._config.ratio, len(self._levels[below]))
        old += [self._levels[below].popleft() for _ in range(overlapping)]
        # If the last level is full, one table less is written than is trimmed.
        is_full = (
            below == len(self._levels) - 1 and len(self._levels[below]) + len(old) > self._capacities[below]
        )
        places = [self._free.popleft() for _ in range(len(old) - is_full)]
        written = self._write(places, below)
        first = self._journal_pages + np.array(old, np.int64) * self._config.table_pages
        self._free.extend(old)
        return [written, requests_of(TRIM, first, self._config.table_pages, 0)]


def _capacities(config: LsmConfig, tables: int) -> list[int]:
    """Return the capacity of each level in tables; together they have `tables` tables."""
    capacities = [config.first_level]
    while tables - sum(capacities) >= capacities[-1] * config.ratio:
        capacities.append(capacities[-1] * config.ratio)
    left = tables - sum(capacities)
    if len(capacities) == 1 or left >= capacities[-1]:
        return [*capacities, left]
    return [*capacities[:-1], capacities[-1] + left]


@workload_kind
class ObjectCacheConfig(StructuredConfig):
    """A cache with the data layout of CacheLib. Hints: 0 small objects, 1 large objects.

    A small object overwrites the page to which its key is hashed. Large objects are collected into regions of
    `region_pages`, which are written one after the other, in a circle.
    """

    kind: Literal["object_cache"] = "object_cache"
    small_access: Share = Field(0.5, description="Share of the writes that go to small objects.")
    small: InnerShare = Field(0.05, description="Share of the footprint for small objects.")
    region_pages: PositiveInt = Field(16, description="Pages of a region, which is written at once.")

    def least_pages(self) -> int:
        """See `StructuredConfig`."""
        return int(np.ceil(max(2 / self.small, (self.region_pages + 1) / (1 - self.small))))

    def writer(self, pages: int, rng: np.random.Generator) -> _TwoAreasWriter:
        """See `StructuredConfig`."""
        small = max(int(self.small * pages), 1)
        return _TwoAreasWriter(pages, small, self.small_access, self.region_pages, rng)
