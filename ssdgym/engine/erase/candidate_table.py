"""The table of candidates of an ERASE decision.

It has the shape (K, MAX_PAIRS): the pairs of a set come first, the rest have empty masks.
"""

from __future__ import annotations

from ssdgym.engine.core.bits import NONE
from ssdgym.engine.core.kernel import inlined, kernel
from ssdgym.engine.core.records import MAX_PAIRS


@inlined
def pairs_of(erase_set):
    """Count the pairs of a candidate: those with a mask, which come first."""
    count = 0
    while count < MAX_PAIRS and erase_set[count].mask != NONE:
        count += 1
    return count


@inlined
def _is_set(erase_set, pairs, length):
    """Return whether a candidate is this erase set."""
    for k in range(length):
        if erase_set[k].block != pairs[k].block or erase_set[k].mask != pairs[k].mask:
            return False
    return length == MAX_PAIRS or erase_set[length].mask == NONE


@kernel
def position_of(sets, count, pairs, length):
    """Return the place of an erase set among the first `count` candidates, or -1."""
    for k in range(count):
        if _is_set(sets[k], pairs, length):
            return k
    return -1


@kernel
def add_set(sets, count, pairs, length):
    """Add an erase set of `length` pairs unless it is there or the table is full; return the new count."""
    if count == sets.shape[0] or position_of(sets, count, pairs, length) >= 0:
        return count
    for k in range(MAX_PAIRS):
        sets[count, k].block = pairs[k].block if k < length else 0
        sets[count, k].mask = pairs[k].mask if k < length else NONE
    return count + 1
