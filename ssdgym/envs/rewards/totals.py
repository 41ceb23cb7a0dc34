"""What devices have counted, as rewards look at it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ssdgym.config.device import DeviceConfig
from ssdgym.engine.time.latency import bin_middles
from ssdgym.simulator.families import family_of

_MIDDLES = bin_middles()
#: A counter that counts nothing.
_NOTHING = np.zeros(1, np.int64)


@dataclass(frozen=True)
class CountedTotals:
    """The totals of n devices; they change with the devices.

    Attributes:
        devices: their configurations.
        counter: returns a counter of every device, int64 (n,).
        histogram: returns the latencies of reads and writes by log-spaced bins, int64 (n, 2, bins).
    """

    devices: Sequence[DeviceConfig]
    counter: Callable[[str], np.ndarray]
    histogram: Callable[[], np.ndarray]

    def latency_quantile(self, share: float) -> np.ndarray:
        """Return a quantile of the latencies of reads and writes, ns, float64 (n,); 0 where there are none.

        It is exact to the width of a bin, 0.8 %.

        Args:
            share: of the requests that are at most as slow, such as 0.99.
        """
        finished = self.histogram().sum(axis=1).cumsum(axis=1)
        requests = finished[:, -1:]
        found = (finished < np.ceil(share * requests)).sum(axis=1)
        return np.where(requests[:, 0] > 0, _MIDDLES[np.minimum(found, len(_MIDDLES) - 1)], 0.0)

    def pages_won(self) -> np.ndarray:
        """Return how many pages collection has won: those erased less those relocated, int64 (n,).

        On devices that win room without an erase, too, they are the pages that the host has written.
        """
        won = self.counter("erased_sub_blocks") * self._sub_block_pages - self.counter("relocated_pages")
        return self._by_host_pages(won)

    def rounds(self) -> np.ndarray:
        """Return how many rounds of collection have won them, int64 (n,); without erases, too: them."""
        return self._by_host_pages(self.counter("gc_invocations"))

    def winning(self, address: Callable[[str], np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Return what the pages that collection has won are counted by.

        Args:
            address: returns where a counter of every device is in memory, int64 (n,).

        Returns:
            Addresses of what wins pages and of the pages that it takes, int64 (2, n), and the pages that one
            of the first wins, int64 (n,).
        """
        erases = self._wins_by_erases
        wins = np.where(erases, address("erased_sub_blocks"), address("host_pages_written"))
        takes = np.where(erases, address("relocated_pages"), _NOTHING.ctypes.data)
        return np.array([wins, takes]), np.where(erases, self._sub_block_pages, 1)

    def _by_host_pages(self, numbers: np.ndarray) -> np.ndarray:
        """Return numbers, but on devices that win room without an erase the pages of the host."""
        if self._wins_by_erases.all():
            return numbers
        return np.where(self._wins_by_erases, numbers, self.counter("host_pages_written"))

    @cached_property
    def _wins_by_erases(self) -> np.ndarray:
        return np.array([family_of(device).wins_by_erases for device in self.devices])

    @cached_property
    def _sub_block_pages(self) -> np.ndarray:
        return np.array([d.geometry.pages_per_block // d.geometry.sub_blocks_per_block for d in self.devices])
