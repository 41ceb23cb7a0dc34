"""The two kinds of places for a page."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Stream:
    """The open block of this stream of the plane."""

    number: int
    opens: int | None = None  # the block to open if none is open; None: the head of the pool


@dataclass(frozen=True)
class Scattered:
    """This sub-block, counted over the device."""

    sub_block: int


Place = Stream | Scattered
