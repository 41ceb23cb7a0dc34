"""MiDA (APSys 2021): the stream of a page is how often it has been moved since the host wrote it."""

from __future__ import annotations

from .base import Placement

LAST = 4


class Mida(Placement):
    """Of pages the block knows it: they have all been moved as often as its stream says."""

    def stream_of_host_page(self, plane: int, lpn: int) -> int:
        return 0

    def stream_of_relocated_page(self, lpn: int, source: int) -> int:
        return min(self.stream_of_page(source) + 1, LAST)
