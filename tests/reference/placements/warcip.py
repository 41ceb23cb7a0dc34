"""WARCIP (SYSTOR 2019), as it is compared with: clusters of like intervals between the writes of pages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .base import Placement

STREAMS = range(1, 6)


@dataclass
class Cluster:
    """What it is called, and what it got."""

    stream: int
    centre: float = 0.0
    pages: int = 0
    writes: int = 0


class Warcip(Placement):
    """Clusters lie in a list."""

    def __init__(self, *arguments: Any, **parameters: int) -> None:
        super().__init__(*arguments, **parameters)
        self.clusters = [Cluster(stream) for stream in STREAMS]
        self.ending: Cluster | None = None
        self.blocks = 0
        self.written_at: dict[int, int] = {}
        self.penalties: dict[int, int] = {}

    def interval(self, lpn: int, clock: int) -> int:
        if lpn not in self.written_at:
            return 0
        return clock + 1 - self.written_at[lpn] + self.penalties[lpn]

    def stream_of_host_page(self, plane: int, lpn: int) -> int:
        interval = self.interval(lpn, self.clock)
        return min(reversed(self.clusters), key=lambda cluster: abs(cluster.centre - interval)).stream

    def stream_of_relocated_page(self, lpn: int, source: int) -> int:
        return 0

    def written(self, lpn: int, old: int, new: int) -> None:
        own = [cluster for cluster in self.clusters if cluster.stream == self.stream_of_page(new)]
        if self.is_alive(lpn, new):
            for cluster in own:
                total = cluster.centre * cluster.pages + self.interval(lpn, self.clock - 1)
                cluster.pages += 1
                cluster.writes += 1
                cluster.centre = total / cluster.pages
            self.written_at[lpn], self.penalties[lpn] = self.clock, 0
        if own and new % self.device.config.pages_per_block == self.device.config.pages_per_block - 1:
            self.filled(own[0])

    def filled(self, cluster: Cluster) -> None:
        cluster.pages = 0
        if cluster is self.ending:
            self.clusters.remove(cluster)
            self.ending = None
        self.blocks += 1
        if self.blocks >= self.parameters["period"]:
            self.balance()

    def balance(self) -> None:
        total = sum(cluster.writes for cluster in self.clusters)
        large = [c for c in self.clusters if c.writes > total / 2]
        small = [c for c in self.clusters if c.writes < self.device.config.pages_per_block]
        free = sorted(set(STREAMS) - {c.stream for c in self.clusters})
        if large and free:
            place = self.clusters.index(large[0])
            before = self.clusters[place - 1].centre if place else 0.0
            self.clusters.insert(place, Cluster(free[0], (before + large[0].centre) / 2))
        elif small and not self.ending and len(self.clusters) > 1:
            self.ending = small[0]
        self.blocks = 0
        for cluster in self.clusters:
            cluster.writes = 0

    def relocated(self, lpn: int, old: int, new: int) -> None:
        if lpn in self.written_at:
            self.penalties[lpn] = self.clock - self.written_at[lpn]

    def trimmed(self, lpn: int, old: int) -> None:
        self.written_at.pop(lpn, None)
