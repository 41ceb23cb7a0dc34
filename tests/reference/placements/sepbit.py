"""SepBIT (FAST 2022): streams by how long pages have lived, against the mean life of short-lived blocks."""

from __future__ import annotations

from math import inf
from typing import Any

from .base import Placement

SHORT_LIVED, LONG_LIVED, OF_SHORT_LIVED, YOUNG, OLDER, OLDEST = range(6)


class SepBit(Placement):
    """With the exact times of all writes."""

    def __init__(self, *arguments: Any, **parameters: int) -> None:
        super().__init__(*arguments, **parameters)
        self.written_at: dict[int, int] = {}
        self.opened_at: dict[int, int] = {}
        self.lives: list[int] = []
        self.mean_life = inf

    def age(self, lpn: int) -> int:
        """Host pages since it was written, all since the start if it never was."""
        return self.clock - self.written_at.get(lpn, -1)

    def limit(self) -> float:
        """Pages of the host that are younger are short-lived."""
        return self.mean_life

    def stream_of_host_page(self, plane: int, lpn: int) -> int:
        """Pages written before that lived shortly are expected to do so again."""
        is_short = lpn in self.written_at and self.age(lpn) < self.limit()
        return SHORT_LIVED if is_short else LONG_LIVED

    def stream_of_relocated_page(self, lpn: int, source: int) -> int:
        """Pages that survived a block of short-lived ones, and others by age."""
        if self.stream_of_page(source) == SHORT_LIVED:
            return OF_SHORT_LIVED
        if self.age(lpn) < 4 * self.mean_life:
            return YOUNG
        return OLDER if self.age(lpn) < 16 * self.mean_life else OLDEST

    def written(self, lpn: int, old: int, new: int) -> None:
        self.written_at[lpn] = self.clock - 1

    def opened(self, block: int, stream: int) -> None:
        super().opened(block, stream)
        self.opened_at[block] = self.clock

    def collected(self, block: int) -> None:
        """The mean life is that of the last `nc` blocks of short-lived pages, taken every `nc` blocks."""
        if self.streams[block] == SHORT_LIVED:
            self.lives.append(self.clock - self.opened_at[block])
        if len(self.lives) == self.parameters["nc"]:
            self.mean_life = sum(self.lives) / len(self.lives)
            self.lives = []
