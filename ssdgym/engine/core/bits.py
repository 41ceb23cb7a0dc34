"""Bits of masks, random numbers, and lists that are linked through records."""

from typing import Any

import numpy as np

from ssdgym.engine.core.kernel import inlined, trailing_zeros

ONE = np.uint64(1)
NONE = np.uint64(0)


@inlined
def full_mask(sub_blocks):
    """Return the mask of all sub-blocks of a block, which has `sub_blocks` of them: 1 to 64."""
    return ~NONE >> np.uint64(64 - sub_blocks)


@inlined
def has(mask, s):
    """Return whether sub-block `s` is in the mask."""
    return ((mask >> np.uint64(s)) & ONE) != NONE


@inlined
def lowest_of(mask):
    """Return the number of the lowest set bit of an int64 that is not 0."""
    return np.int64(trailing_zeros(np.uint64(mask)))


@inlined
def is_run(mask):
    """Return whether the set bits of a non-zero mask are consecutive."""
    lowest = mask & (~mask + ONE)
    return mask & (mask + lowest) == NONE


@inlined
def quotient(a, b):
    """Return `a // b` for a >= 0 and b > 0."""
    return np.int64(np.uint64(a) // np.uint64(b))


@inlined
def remainder(a, b):
    """Return `a % b` for a >= 0 and b > 0."""
    return np.int64(np.uint64(a) % np.uint64(b))


# Counter-based random numbers: a draw is a pure function, without a state to advance or to save.
#
# `mix` is the finaliser of splitmix64 (Steele, Lea, Flood 2014).

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_C1, _C2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_S27, _S30, _S31, _S32 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(32)
_ONE = np.uint64(1)

#: Streams of random numbers: one for each purpose.
POLICY_STREAM, PROPOSAL_STREAM, HOST_PLACEMENT_STREAM, RELOCATION_STREAM = 1, 2, 4, 5
ENDURANCE_STREAM = 11
#: Draws reserved for a random choice of a block: 64 tries, and the start of a scan if no try finds one.
DRAWS_PER_CHOICE = 65


@inlined
def mix(z):
    """Mix 64 bits (uint64) by the finaliser of splitmix64."""
    z = (z ^ (z >> _S30)) * _C1
    z = (z ^ (z >> _S27)) * _C2
    return z ^ (z >> _S31)


@inlined
def draw(seed, stream, decision, k):
    """Return 64 random bits: draw `k` of `decision` in `stream` of a device seeded with `seed`."""
    z = mix(np.uint64(seed) + (np.uint64(stream) + _ONE) * GOLDEN)
    z = mix(z + (np.uint64(decision) + _ONE) * GOLDEN)
    return mix(z + (np.uint64(k) + _ONE) * GOLDEN)


@inlined
def below(bits, n):
    """Map 64 random bits to 0 .. n-1 (n < 2**32) by multiplication, not by remainder."""
    return np.int64(((bits >> _S32) * np.uint64(n)) >> _S32)


def list_kernels(head: str, tail: str, following: str, previous: str) -> tuple[Any, Any]:
    """Make the kernels (append, remove) of a doubly linked list, both O(1).

    The arguments name fields: `head` and `tail` of a list's record, `following` and `previous` of an item; -1
    means no item. Both kernels take the array of items, the list's record, and the index of an item.
    """

    @inlined
    def append(items, holder, number):
        last = holder[tail]
        items[number][previous] = last
        items[number][following] = -1
        if last >= 0:
            items[last][following] = number
        else:
            holder[head] = number
        holder[tail] = number

    @inlined
    def remove(items, holder, number):
        before = items[number][previous]
        after = items[number][following]
        if before >= 0:
            items[before][following] = after
        else:
            holder[head] = after
        if after >= 0:
            items[after][previous] = before
        else:
            holder[tail] = before

    return append, remove


def queue_kernels(head: str, tail: str, following: str) -> tuple[Any, Any]:
    """Make the kernels (push, pop) of a queue; the arguments name fields as in `list_kernels`.

    `push` takes the array of items, the record of the queue, and the index of an item. `pop` takes the items
    and the record of a queue that is not empty, and returns the index of the item at the queue's head.
    """

    @inlined
    def push(items, holder, number):
        items[number][following] = -1
        if holder[head] < 0:
            holder[head] = number
        else:
            items[holder[tail]][following] = number
        holder[tail] = number

    @inlined
    def pop(items, holder):
        number = holder[head]
        holder[head] = items[number][following]
        return number

    return push, pop
