"""SepBIT as its authors' simulator has it: the times of writes are known as far back as a queue reaches."""

from __future__ import annotations

from collections import deque
from typing import Any

from .sepbit import SepBit


class SepBitFifo(SepBit):
    """The queue holds the logical pages of the last host writes, oldest first."""

    def __init__(self, *arguments: Any, **parameters: int) -> None:
        super().__init__(*arguments, **parameters)
        self.queue: deque[int] = deque()

    def limit(self) -> float:
        return min(self.mean_life, len(self.queue))

    def written(self, lpn: int, old: int, new: int) -> None:
        if self.is_alive(lpn, new):
            super().written(lpn, old, new)
        self.queue.append(lpn)
        if len(self.queue) > min(self.mean_life, self.device.config.logical_pages):
            self.queue.popleft()
            if len(self.queue) > self.mean_life:
                self.queue.popleft()

    def trimmed(self, lpn: int, old: int) -> None:
        self.written_at.pop(lpn, None)
