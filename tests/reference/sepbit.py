"""SepBIT (FAST 2022): streams by how long pages have lived, against the mean life of short-lived blocks."""

from __future__ import annotations

from math import inf

SHORT_LIVED, LONG_LIVED, OF_SHORT_LIVED, YOUNG, OLDER, OLDEST = range(6)


class SepBit:
    """What it knows; the clock counts host pages programmed."""

    def __init__(self, nc: int) -> None:
        self.nc = nc
        self.written_at: dict[int, int] = {}
        self.opened: dict[int, tuple[int, int]] = {}  # block -> stream, clock
        self.lives: list[int] = []
        self.mean_life = inf

    def stream_of_host_page(self, lpn: int, clock: int) -> int:
        """Pages written before that lived shortly are expected to do so again."""
        is_short = lpn in self.written_at and clock - self.written_at[lpn] < self.mean_life
        return SHORT_LIVED if is_short else LONG_LIVED

    def stream_of_relocated_page(self, lpn: int, block: int, clock: int) -> int:
        """Pages that survived a block of short-lived ones, and others by age."""
        if self.opened[block][0] == SHORT_LIVED:
            return OF_SHORT_LIVED
        age = clock - self.written_at[lpn]
        if age < 4 * self.mean_life:
            return YOUNG
        return OLDER if age < 16 * self.mean_life else OLDEST

    def page_written(self, lpn: int, clock: int) -> None:
        """The clock does not count this page yet."""
        self.written_at[lpn] = clock

    def block_opened(self, block: int, stream: int, clock: int) -> None:
        """An open block belongs to one stream."""
        self.opened[block] = stream, clock

    def block_collected(self, block: int, clock: int) -> None:
        """The mean life is that of the last ``nc`` blocks of short-lived pages, taken every ``nc`` blocks."""
        stream, opened_at = self.opened[block]
        if stream == SHORT_LIVED:
            self.lives.append(clock - opened_at)
        if len(self.lives) == self.nc:
            self.mean_life = sum(self.lives) / self.nc
            self.lives = []
