"""A log-structured merge tree: a journal, tables that are written once, and compactions of levels."""

from __future__ import annotations

from collections import deque
from typing import Literal

import numpy as np
from pydantic import Field, PositiveInt

from ssdgym.requests import TRIM, WRITE, Requests
from ssdgym.types import IntegerArray
from ssdgym.workloads.kinds import workload_kind
from ssdgym.workloads.patterns.structured.base import StructuredConfig, requests_of

#: Share of the places for tables that levels may fill; compactions need the others.
_FILLED = 0.85


@workload_kind
class LsmConfig(StructuredConfig):
    """Flushes and compactions of an LSM tree with levels; hints: 0 the journal, 1 and more the levels.

    Every page of updates goes to the journal first. As many as fill a table are flushed to the first level. A
    level that holds more than its share hands its oldest table down, which is merged with those it overlaps
    with in the next level, `ratio` of them or fewer where there are not as many yet: all of these are written
    anew and the old ones trimmed. Each level holds `ratio` times as many tables as the one above it; as
    updates of the same keys meet, the last one does not grow any more.
    """

    kind: Literal["lsm"] = "lsm"
    table_pages: PositiveInt = Field(64, description="Pages of a table, written in one request.")
    first_level: PositiveInt = Field(4, description="Tables of the first level.")
    ratio: int = Field(4, ge=2, description="Tables of a level over those of the level above it.")

    def least_pages(self) -> int:
        """See `StructuredConfig`."""
        tables = self.first_level * (1 + self.ratio) + self.ratio + 2
        return (2 + int(np.ceil(tables / _FILLED))) * self.table_pages

    def writer(self, pages: int, rng: np.random.Generator) -> LsmWriter:
        """See `StructuredConfig`."""
        return LsmWriter(self, pages)


class LsmWriter:
    """The journal has two tables' pages at the start of the footprint; tables have places behind it."""

    def __init__(self, config: LsmConfig, pages: int) -> None:
        """Start with empty levels.

        Args:
            config: the pattern.
            pages: of the footprint.
        """
        self._config = config
        self._journal_pages = 2 * config.table_pages
        places = (pages - self._journal_pages) // config.table_pages
        self._free = deque(range(places))
        self._capacities = _capacities(config, int(_FILLED * places) - config.ratio - 2)
        self._levels: list[deque[int]] = [deque() for _ in self._capacities]
        self._written = 0

    def batch(self) -> Requests:
        """See `Writer`: the journal of a table, its flush, and the compactions that follow."""
        count = self._config.table_pages
        journal = (self._written + np.arange(count)) % self._journal_pages
        self._written += count
        parts = [requests_of(WRITE, journal, 1, 0), self._write([self._free.popleft()], 0)]
        for level, capacity in enumerate(self._capacities):
            while len(self._levels[level]) > capacity:
                parts += self._compact(level)
        return np.concatenate(parts)

    def pages_to_read(self, count: int, rng: np.random.Generator) -> IntegerArray:
        """See `Writer`: any page of any table, of the journal while there is none."""
        tables = np.array([table for level in self._levels for table in level], np.int64)
        if not len(tables):
            return rng.integers(self._journal_pages, size=count)
        chosen = tables[rng.integers(len(tables), size=count)] * self._config.table_pages
        return self._journal_pages + chosen + rng.integers(self._config.table_pages, size=count)

    def _write(self, places: list[int], level: int) -> Requests:
        """Write tables to places, and take them into a level."""
        self._levels[level].extend(places)
        first = self._journal_pages + np.array(places, np.int64) * self._config.table_pages
        return requests_of(WRITE, first, self._config.table_pages, 1 + level)

    def _compact(self, level: int) -> list[Requests]:
        """Merge the oldest table of a level into the next one; the last one merges within itself."""
        below = min(level + 1, len(self._levels) - 1)
        old = [self._levels[level].popleft()]
        overlapping = min(self._config.ratio, len(self._levels[below]))
        old += [self._levels[below].popleft() for _ in range(overlapping)]
        # Where the last level is full, what comes in replaces older values of the same keys.
        is_full = (
            below == len(self._levels) - 1 and len(self._levels[below]) + len(old) > self._capacities[below]
        )
        places = [self._free.popleft() for _ in range(len(old) - is_full)]
        written = self._write(places, below)
        first = self._journal_pages + np.array(old, np.int64) * self._config.table_pages
        self._free.extend(old)
        return [written, requests_of(TRIM, first, self._config.table_pages, 0)]


def _capacities(config: LsmConfig, tables: int) -> list[int]:
    """Return how many tables each level holds: as many full levels as fit, the last one what is left."""
    capacities = [config.first_level]
    while tables - sum(capacities) >= capacities[-1] * config.ratio:
        capacities.append(capacities[-1] * config.ratio)
    left = tables - sum(capacities)
    if len(capacities) == 1 or left >= capacities[-1]:
        return [*capacities, left]
    return [*capacities[:-1], capacities[-1] + left]
