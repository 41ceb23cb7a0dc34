"""ETI (HotStorage 2016), as it is compared with: counts of requests by extents of the logical space."""

from __future__ import annotations

from typing import Any

from .base import Placement

HOT, OTHER, RELOCATED = 0, 1, 2


class Eti(Placement):
    """Extents are pairs of their first page and their count."""

    def __init__(self, *arguments: Any, **parameters: int) -> None:
        super().__init__(*arguments, **parameters)
        self.extents = [(0, 0)]
        self.requests = 0

    def after(self, first: int, end: int) -> list[tuple[int, int]]:
        """The extents once a request to these pages is counted."""
        ends = [start for start, _ in self.extents[1:]] + [self.device.config.logical_pages]
        found: list[tuple[int, int]] = []
        for number, ((start, count), stop) in enumerate(zip(self.extents, ends, strict=True)):
            inner = max(start, first), min(stop, end)
            parts = [(start, count)]
            if inner[0] < inner[1] and count < 15:
                parts = [(inner[0], count + 1)]
                parts = ([(start, count)] if start < inner[0] else []) + parts
                parts += [(inner[1], count)] if inner[1] < stop else []
                others = len(found) + len(self.extents) - number - 1
                if len(parts) > 1 and others + len(parts) > self.parameters["extents"]:
                    parts = [(start, count)]
            found += parts
        return found

    def count(self, lpn: int, extents: list[tuple[int, int]]) -> int:
        return [count for first, count in extents if first <= lpn][-1]

    def stream_of_host_page(self, plane: int, lpn: int) -> int:
        request, extents = self.device.request, self.extents
        if lpn == request.lpn:
            extents = self.after(lpn, lpn + request.pages)
        return HOT if self.count(lpn, extents) >= 4 else OTHER

    def stream_of_relocated_page(self, lpn: int, source: int) -> int:
        return RELOCATED

    def written(self, lpn: int, old: int, new: int) -> None:
        request = self.device.request
        if lpn != request.lpn:
            return
        self.extents = self.after(lpn, lpn + request.pages)
        self.requests += 1
        if self.requests == self.parameters["period"]:
            self.requests = 0
            joined: list[tuple[int, int]] = []
            for first, count in self.extents:
                if not joined or (joined[-1][1] != count // 2 and max(joined[-1][1], count // 2) >= 4):
                    joined.append((first, count // 2))
            self.extents = joined
