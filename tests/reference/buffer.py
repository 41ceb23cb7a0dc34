"""The write buffer of the reference: pages of the host that are not on their way to flash yet."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass


@dataclass(eq=False)
class Held:
    """A page of the host; partial if its old content has to be read before it is programmed."""

    lpn: int
    is_partial: bool


class WriteBuffer:
    """So many pages at most; the most recently written is in front."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.pages: deque[Held] = deque()

    def holds(self, lpn: int) -> bool:
        return any(held.lpn == lpn for held in self.pages)

    def absorb(self, lpn: int, is_partial: bool) -> None:
        """Overwrite a page that is held: a part of it leaves it as it was, all of it makes it whole."""
        held = next(held for held in self.pages if held.lpn == lpn)
        held.is_partial = held.is_partial and is_partial
        self.pages.remove(held)
        self.pages.appendleft(held)

    def put(self, lpn: int, is_partial: bool) -> Held | None:
        """Hold another page; returns the one that had to leave for it."""
        evicted = self.evict() if len(self.pages) == self.size else None
        self.pages.appendleft(Held(lpn, is_partial))
        return evicted

    def evict(self) -> Held:
        return self.pages.pop()

    def drop(self, lpn: int) -> None:
        """Forget the page, if it is held."""
        self.pages = deque(held for held in self.pages if held.lpn != lpn)
