"""What of a block an M-Merge restores: Algorithm 1, one level throughout, and care for disturbed leaves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from . import heap


@dataclass(frozen=True)
class Contents:
    """What the leaves of a block hold, and what it costs to restore them."""

    levels: int
    valid: tuple[int, ...]  # pages, by leaf
    invalid: tuple[int, ...]
    incoming: tuple[int, ...]  # pages of U that belong to the leaf
    disturbed: tuple[int, ...]
    copy_ns: int
    erase_ns: tuple[int, ...]  # by level
    tolerance: int | None = None
    with_care: bool = False

    def sum_of(self, pages: tuple[int, ...], pb: int) -> int:
        return sum(pages[leaf] for leaf in heap.leaves_of(pb, self.levels))

    def must_go(self, pb: int, dis: frozenset[int]) -> bool:
        """Whether it holds an invalid page or a leaf that has to be restored."""
        leaves = heap.leaves_of(pb, self.levels)
        return any(self.invalid[leaf] > 0 or leaf in dis for leaf in leaves)

    def restore_ns(self, pb: int, dis: frozenset[int]) -> int:
        if not self.must_go(pb, dis):
            return 0
        copies = 2 * self.sum_of(self.valid, pb) + self.sum_of(self.incoming, pb)
        return copies * self.copy_ns + self.erase_ns[heap.level_of(pb)]


@dataclass(frozen=True)
class Plan:
    """The partial blocks to be restored, rising, and the leaves that are restored for being disturbed."""

    contents: Contents
    pbs: tuple[int, ...]
    dis: frozenset[int]

    @property
    def out(self) -> int:
        """Pages that have to leave the block first."""
        return sum(self.contents.sum_of(self.contents.valid, pb) for pb in self.pbs)

    @property
    def incoming(self) -> int:
        return sum(self.contents.sum_of(self.contents.incoming, pb) for pb in self.pbs)

    @property
    def erase_ns(self) -> int:
        return sum(self.contents.erase_ns[heap.level_of(pb)] for pb in self.pbs)

    def left(self) -> list[tuple[int, int]]:
        """Leaves that stay and hold a valid page, each with how often it will have been disturbed."""
        contents = self.contents
        restored = {leaf for pb in self.pbs for leaf in heap.leaves_of(pb, contents.levels)}
        disturbing = [leaf for pb in self.pbs for leaf in heap.beside(pb, contents.levels)]
        return [
            (leaf, contents.disturbed[leaf] + disturbing.count(leaf))
            for leaf in range(2**contents.levels)
            if leaf not in restored and contents.valid[leaf] > 0
        ]

    @property
    def at_tolerance(self) -> int:
        """Leaves that bear no further disturbance."""
        return sum(disturbed == self.contents.tolerance for _, disturbed in self.left())


#: Returns the partial blocks to be restored, where these leaves have to be among them.
Maker = Callable[[Contents, frozenset[int]], list[int]]


def plan(contents: Contents, maker: Maker) -> Plan:
    """Add what the plan would spoil to it until it spoils nothing, if that is cared for."""
    dis: frozenset[int] = frozenset()
    while True:
        found = Plan(contents, tuple(sorted(maker(contents, dis))), dis)
        tolerance = contents.tolerance
        if not contents.with_care or tolerance is None:
            return found
        spoiled = {leaf for leaf, disturbed in found.left() if disturbed > tolerance}
        if not spoiled:
            return found
        dis |= spoiled


def depth(level: int) -> Maker:
    """Whatever must go, in partial blocks of one level."""
    return lambda contents, dis: [pb for pb in heap.of_level(level) if contents.must_go(pb, dis)]


def algorithm_1(contents: Contents, dis: frozenset[int]) -> list[int]:
    """Restore, of every partial block, either the whole or, if that is cheaper, parts of its halves."""

    def cost(pb: int) -> int:
        whole = contents.restore_ns(pb, dis)
        return whole if heap.level_of(pb) == contents.levels else min(whole, halves(pb))

    def halves(pb: int) -> int:
        return cost(2 * pb) + cost(2 * pb + 1)

    def traverse(pb: int) -> list[int]:
        if heap.level_of(pb) < contents.levels and halves(pb) < contents.restore_ns(pb, dis):
            return traverse(2 * pb) + traverse(2 * pb + 1)
        return [pb] if contents.must_go(pb, dis) else []

    return traverse(1)


# By trying all


def covers(pb: int, levels: int) -> Iterator[list[int]]:
    """All sets of partial blocks of which each leaf of this one is in exactly one."""
    yield [pb]
    if heap.level_of(pb) < levels:
        for left in covers(2 * pb, levels):
            for right in covers(2 * pb + 1, levels):
                yield left + right


def cheapest(contents: Contents, dis: frozenset[int]) -> list[int]:
    """The cheapest cover, of equals that of the fewest partial blocks, without what can be skipped."""

    def cost(cover: list[int]) -> tuple[int, int]:
        return sum(contents.restore_ns(pb, dis) for pb in cover), len(cover)

    best = min(covers(1, contents.levels), key=cost)
    return [pb for pb in best if contents.must_go(pb, dis)]
