"""Partial blocks of a block, numbered as a heap: 1 is the block, k has the halves 2k and 2k+1."""

from __future__ import annotations


def level_of(pb: int) -> int:
    """How often the block is halved to get it."""
    return len(bin(pb)) - len("0b1")


def of_level(level: int) -> range:
    return range(2**level, 2 ** (level + 1))


def all_of(levels: int) -> range:
    return range(1, 2 ** (levels + 1))


def leaves_of(pb: int, levels: int) -> list[int]:
    """Numbers of its leaves within the block, rising from 0."""
    if level_of(pb) == levels:
        return [pb - 2**levels]
    return leaves_of(2 * pb, levels) + leaves_of(2 * pb + 1, levels)


def beside(pb: int, levels: int) -> list[int]:
    """The leaves just below and just above it, if the block has them."""
    own = leaves_of(pb, levels)
    return [leaf for leaf in (own[0] - 1, own[-1] + 1) if 0 <= leaf < 2**levels]
