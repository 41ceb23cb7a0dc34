"""What the host says of its data, one stream for each of eight handles."""

from __future__ import annotations

from .base import Placement

HANDLES = 8


class Hints(Placement):
    """Relocated pages of all handles come together."""

    def stream_of_host_page(self, plane: int, lpn: int) -> int:
        return self.device.request.hint % HANDLES

    def stream_of_relocated_page(self, lpn: int, source: int) -> int:
        return HANDLES


class HintsIsolated(Hints):
    """Relocated pages of each handle stay among themselves."""

    def stream_of_relocated_page(self, lpn: int, source: int) -> int:
        handle = self.stream_of_page(source) % HANDLES
        return HANDLES + handle
