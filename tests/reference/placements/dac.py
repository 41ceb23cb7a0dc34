"""DAC (1999), with unconditional promotion and demotion: one region up per write, one down per relocation."""

from __future__ import annotations

from typing import Any

from .base import Placement

COLDEST, HOTTEST = 0, 5


class Dac(Placement):
    """The regions are the streams."""

    def __init__(self, *arguments: Any, **parameters: int) -> None:
        super().__init__(*arguments, **parameters)
        self.regions: dict[int, int] = {}

    def promoted(self, lpn: int) -> int:
        """The region of the page after one more write."""
        if lpn not in self.regions:
            return COLDEST
        return min(self.regions[lpn] + 1, HOTTEST)

    def stream_of_host_page(self, plane: int, lpn: int) -> int:
        return self.promoted(lpn)

    def stream_of_relocated_page(self, lpn: int, source: int) -> int:
        return max(self.regions.get(lpn, COLDEST) - 1, COLDEST)

    def written(self, lpn: int, old: int, new: int) -> None:
        if self.is_alive(lpn, new):
            self.regions[lpn] = self.promoted(lpn)

    def relocated(self, lpn: int, old: int, new: int) -> None:
        self.regions[lpn] = self.stream_of_relocated_page(lpn, old)

    def trimmed(self, lpn: int, old: int) -> None:
        del self.regions[lpn]
