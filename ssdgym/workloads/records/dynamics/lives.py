"""Lives: whether what is written together is overwritten together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ssdgym.types import IntArray
from ssdgym.workloads.records.skew import expanded

#: Writes that are followed at the same time.
MOST_FOLLOWED = 1 << 20
_FEW = 1 << 16
_CLASSES = 64


@dataclass(frozen=True)
class Lives:
    """Lives of writes that follow each other.

    A write lives until its first page is written again, which is measured in write requests. Writes are
    paired, the first with the second, the third with the fourth and so on; pairs of which a write is never
    overwritten do not count.

    Attributes:
        correlation: between the logarithms of the two lives of a pair (Pearson); near 0 where requests do
            not depend on each other. `None` of fewer than 10 pairs, or where all lives are equal.
        pairs: how many counted.
        sampled_share: share of the pairs that were followed; 1 is all.
    """

    correlation: float | None
    pairs: int
    sampled_share: float


class WriteLives:
    """Follows pairs of writes until both are overwritten, in bounded memory.

    When more than `most_followed` writes are followed, only every second pair is from then on, and so on.
    Pairs are counted by the largest power of two that divides their number, so that those which would not be
    followed any more are left out of the result, whenever they ended.
    """

    def __init__(self, most_followed: int = MOST_FOLLOWED) -> None:
        """Start before the first write; `most_followed` is the largest number of writes followed."""
        self._most_followed = most_followed
        self._writes = 0
        self._halvings = 0
        self._pending: list[tuple[IntArray, IntArray]] = []
        self._pending_pages = 0
        # Writes that live, by page and number, and those of them that have ended before their partner.
        self._pages, self._numbers = np.zeros((2, 0), np.int64)
        self._ended, self._lives = np.zeros((2, 0), np.int64)
        self._sums = np.zeros((_CLASSES, 6))

    def add(self, first: IntArray, pages: IntArray) -> None:
        """Count the next writes; write i is of the pages `first[i]..first[i] + pages[i] - 1`.

        Args:
            first: shape (n,).
            pages: shape (n,), each at least 1.
        """
        numbers = self._writes + np.arange(len(first))
        self._writes += len(first)
        for page, position in expanded(first, pages):
            number = numbers[position]
            self._pending.append((page, number * 2 + (page == first[position])))
            self._pending_pages += len(page)
            # Merging only what has grown as large as the rest keeps the total work near n log n.
            if self._pending_pages > max(len(self._pages), _FEW):
                self._merge()

    def lives(self) -> Lives:
        """Return how the lives of neighbours agree, of all writes so far."""
        self._merge()
        pairs, a, b, aa, bb, ab = self._sums[self._halvings :].sum(axis=0)
        share = 0.5**self._halvings
        if pairs < 10:
            return Lives(None, int(pairs), share)
        spread = (aa - a * a / pairs) * (bb - b * b / pairs)
        together = ab - a * b / pairs
        return Lives(float(together / np.sqrt(spread)) if spread > 1e-9 else None, int(pairs), share)

    def _merge(self) -> None:
        """Sort the latest writes into those that live, and end what they overwrite."""
        if not self._pending:
            return
        pages = np.concatenate([self._pages, *(page for page, _ in self._pending)])
        # Twice the number, and one more where the page is the first of its write, whose life counts.
        keys = np.concatenate([self._numbers * 2 + 1, *(key for _, key in self._pending)])
        self._pending, self._pending_pages = [], 0
        order = np.lexsort((keys, pages))
        pages, keys = pages[order], keys[order]
        ends = np.append(pages[1:] == pages[:-1], False)
        numbers, counts = keys >> 1, (keys & 1 == 1) & self._is_followed(keys >> 1)
        over, living = ends & counts, ~ends & counts
        lives = np.roll(numbers, -1)[over] - numbers[over]
        self._pages, self._numbers = pages[living], numbers[living]
        self._end(numbers[over], lives)
        while len(self._numbers) + len(self._ended) > self._most_followed:
            self._halvings += 1
            kept, waits = self._is_followed(self._numbers), self._is_followed(self._ended)
            self._pages, self._numbers = self._pages[kept], self._numbers[kept]
            self._ended, self._lives = self._ended[waits], self._lives[waits]

    def _end(self, numbers: IntArray, lives: IntArray) -> None:
        """Count the pairs that are over now, and keep the writes whose partner lives."""
        numbers, lives = np.append(self._ended, numbers), np.append(self._lives, lives)
        order = np.argsort(numbers)
        numbers, lives = numbers[order], lives[order]
        left = np.flatnonzero(np.diff(numbers >> 1) == 0)
        a, b = np.log(lives[left]), np.log(lives[left + 1])
        moments = np.stack([np.ones(len(left)), a, b, a * a, b * b, a * b], axis=1)
        np.add.at(self._sums, _trailing_zeros(numbers[left] >> 1), moments)
        waits = np.ones(len(numbers), bool)
        waits[left] = waits[left + 1] = False
        self._ended, self._lives = numbers[waits], lives[waits]

    def _is_followed(self, numbers: IntArray) -> npt.NDArray[np.bool_]:
        return (numbers >> 1) & ((1 << self._halvings) - 1) == 0


def _trailing_zeros(numbers: IntArray) -> IntArray:
    """Return the exponent of the largest power of two that divides each number; 0 has the largest class."""
    lowest = numbers & -numbers
    return np.where(numbers == 0, _CLASSES - 1, np.frexp(lowest.astype(float))[1] - 1)
