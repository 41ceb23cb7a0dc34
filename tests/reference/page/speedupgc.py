"""What SpeedupGC (section III-B) keeps: update counters that tell how hot a page is, and block groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cache

from ..config import ReferenceConfig
from ..randomness import GOLDEN, WORD, below, mix

MOST = 15  # a counter has 4 bits


class HotnessTable:
    """Rows of counters, each with a hash of its own; `rows[r][c]` is counter `c` of row `r`."""

    def __init__(self, config: ReferenceConfig) -> None:
        self.config = config
        self.rows = [[0] * config.row_counters for _ in range(config.hashes)]
        self.updates = 0
        self.columns = cache(self._columns)

    def _columns(self, lpn: int) -> list[int]:
        """Where each row counts the page."""
        own = mix(GOLDEN * (lpn + 1) & WORD)
        hashes = [mix((own + GOLDEN * (row + 1)) & WORD) for row in range(self.config.hashes)]
        return [below(self.config.row_counters, z) for z in hashes]

    def count_update(self, lpn: int) -> None:
        for row, column in zip(self.rows, self.columns(lpn), strict=True):
            row[column] = min(row[column] + 1, MOST)
        self.updates += 1
        if self.updates % (self.config.decay_period or self.config.row_counters) == 0:
            self.rows = [[counter // 2 for counter in row] for row in self.rows]

    def degree(self, lpn: int) -> int:
        return min(row[column] for row, column in zip(self.rows, self.columns(lpn), strict=True))

    def group(self, lpn: int) -> int:
        """The page's hotness group, 1 to g; 0 if it is not hot."""
        degree = self.degree(lpn)
        return sum(threshold <= degree for threshold in self.config.thresholds)


Standing = tuple[Fraction, int, int, int]


class BlockGroups:
    """`groups[i - 1]` are the blocks of group `i`. A block keeps the standing it was last classified with.

    A standing is the rank and, for blocks of equal rank, what makes one of them the larger.
    """

    def __init__(self, blocks: Sequence[int], count: int, limit: int) -> None:
        self.limit = limit  # the most blocks of a group: m
        self.groups: list[set[int]] = [set() for _ in range(count)]
        self.standing: dict[int, Standing] = {block: (Fraction(0), 0, 0, -block) for block in blocks}
        for number, block in enumerate(blocks):
            self.groups[number % count].add(block)

    def group_of(self, block: int) -> int:
        return next(i for i, group in enumerate(self.groups, start=1) if block in group)

    def reclassify(self, block: int, rank: Fraction, mask: int = 0) -> None:
        """Move the block to where its new rank belongs, and others with it; `mask` is its best set."""
        self.groups[self.group_of(block) - 1].remove(block)
        self._rank(block, rank, mask)
        place = self._pinpoint(rank)
        if self._is_full(place) and not all(self._is_full(lower) for lower in range(1, place)):
            self._evict(place)
            self.groups[place - 1].add(block)
        else:
            self.groups[place - 1].add(block)
            self._pass_on_upwards(place)

    def deal(self, ranks: Mapping[int, tuple[Fraction, int]]) -> None:
        """Deal all blocks, in the order of these ranks and masks, into groups of about the same length."""
        for block, (rank, mask) in ranks.items():
            self._rank(block, rank, mask)
        count = len(self.groups)
        self.groups = [set() for _ in range(count)]
        for k, block in enumerate(sorted(ranks, key=self.standing.__getitem__)):
            self.groups[k * count // len(ranks)].add(block)

    def _rank(self, block: int, rank: Fraction, mask: int) -> None:
        lowest = (mask & -mask).bit_length()
        self.standing[block] = (rank, -mask.bit_count(), -lowest, -block)

    def _is_full(self, i: int) -> bool:
        return len(self.groups[i - 1]) == self.limit

    def _pinpoint(self, rank: Fraction) -> int:
        """Lines 3 to 9: the highest group whose smallest rank is below this one; 1 if there is none."""
        for i in range(len(self.groups), 0, -1):
            ranks = [self.standing[block][0] for block in self.groups[i - 1]]
            if ranks and rank > min(ranks):
                return i
        return 1

    def _evict(self, i: int) -> None:
        """Lines 18 to 26: the smallest of group `i` moves down, after it has been made room for there."""
        smallest = min(self.groups[i - 1], key=self.standing.__getitem__)
        self.groups[i - 1].remove(smallest)
        if self._is_full(i - 1):
            self._evict(i - 1)
        self.groups[i - 2].add(smallest)

    def _pass_on_upwards(self, i: int) -> None:
        """The similar steps in groups with larger indices: what is one too many moves up."""
        while len(self.groups[i - 1]) > self.limit:
            largest = max(self.groups[i - 1], key=self.standing.__getitem__)
            self.groups[i - 1].remove(largest)
            self.groups[i].add(largest)
            i += 1
