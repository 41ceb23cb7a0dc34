"""FADaC (2019), as it is compared with: a count of writes against a fading average of request lengths."""

from __future__ import annotations

from typing import Any

from .base import Placement

LAST = 5


class Fadac(Placement):
    """A page's stream is the power of ten by which its count outgrows the average."""

    def __init__(self, *arguments: Any, **parameters: int) -> None:
        super().__init__(*arguments, **parameters)
        self.average = 0.0
        self.counts: dict[int, int] = {}

    def faded(self, lpn: int, valid: int) -> float:
        """The average once the request is counted, which its first page does."""
        request = self.device.request
        if lpn != request.lpn:
            return self.average
        return self.average + (request.pages - self.average) / max(valid, 1)

    def valid(self) -> int:
        return sum(page.ppn >= 0 for page in self.device.logical)

    def stream_of(self, count: int, average: float) -> int:
        streams = [s for s in range(LAST) if not self.is_hotter(count, self.scaled(average, s))]
        return streams[0] if streams else LAST

    def is_hotter(self, count: int, bound: float) -> bool:
        """What is on a bound belongs to either side."""
        return count >= bound if self.parameters.get("inclusive") else count > bound

    def scaled(self, average: float, times: int) -> float:
        for _ in range(times):
            average *= 10
        return average

    def stream_of_host_page(self, plane: int, lpn: int) -> int:
        return self.stream_of(self.counts.get(lpn, 0) + 1, self.faded(lpn, self.valid()))

    def stream_of_relocated_page(self, lpn: int, source: int) -> int:
        return self.stream_of(max(self.counts.get(lpn, 0) - 1, 0), self.average)

    def written(self, lpn: int, old: int, new: int) -> None:
        before = self.valid() - (old < 0 and self.is_alive(lpn, new))
        self.average = self.faded(lpn, before)
        self.counts[lpn] = self.counts.get(lpn, 0) + 1

    def relocated(self, lpn: int, old: int, new: int) -> None:
        self.counts[lpn] = max(self.counts.get(lpn, 0) - 1, 0)

    def trimmed(self, lpn: int, old: int) -> None:
        self.counts[lpn] = 0
