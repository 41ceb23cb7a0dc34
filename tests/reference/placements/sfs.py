"""SFS (FAST 2012): blocks clustered by hotness, pages to the stream of the nearest centre."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from .base import Placement

STREAMS = 6
ROUNDS = 3


class Sfs(Placement):
    """Every plane has centres of its own."""

    def __init__(self, *arguments: Any, **parameters: int) -> None:
        super().__init__(*arguments, **parameters)
        self.writes: defaultdict[int, int] = defaultdict(int)
        self.written_at: defaultdict[int, int] = defaultdict(int)
        planes = range(self.device.config.planes)
        self.centres = {plane: [0.0] * STREAMS for plane in planes}
        self.victims = dict.fromkeys(planes, 0)

    def hotness(self, lpn: int) -> float:
        return self.writes[lpn] / (self.clock - self.written_at[lpn])

    def hotness_of_block(self, block: int) -> float | None:
        """None if it has no valid page."""
        device = self.device
        pages = range(block * device.config.pages_per_block, (block + 1) * device.config.pages_per_block)
        valid = [device.physical[ppn][0] for ppn in pages if device.is_valid(ppn)]
        if not valid:
            return None
        age = len(valid) * self.clock - sum(self.written_at[lpn] for lpn in valid)
        return sum(self.writes[lpn] for lpn in valid) / age

    def nearest(self, plane: int, hotness: float) -> int:
        """The last of equals."""
        distances = [abs(centre - hotness) for centre in self.centres[plane]]
        return max(k for k in range(STREAMS) if distances[k] == min(distances))

    def stream_of_host_page(self, plane: int, lpn: int) -> int:
        """A page that was never written counts as infinitely hot."""
        return self.nearest(plane, self.hotness(lpn)) if self.writes[lpn] else 0

    def stream_of_relocated_page(self, lpn: int, source: int) -> int:
        return self.nearest(self.device.plane_of_page(source), self.hotness(lpn))

    def written(self, lpn: int, old: int, new: int) -> None:
        if self.is_alive(lpn, new):
            self.writes[lpn] += 1
            self.written_at[lpn] = self.clock - 1

    def trimmed(self, lpn: int, old: int) -> None:
        self.writes[lpn] = self.written_at[lpn] = 0

    def collected(self, block: int) -> None:
        """The first victim of a plane and every `period`-th after it."""
        plane = self.device.plane_of_block(block)
        if self.victims[plane] % self.parameters["period"] == 0:
            blocks = map(self.hotness_of_block, sorted(self.device.ages[plane]))
            self.cluster(plane, [hotness for hotness in blocks if hotness is not None])
        self.victims[plane] += 1

    def cluster(self, plane: int, values: list[float]) -> None:
        """k-means in one dimension, from the centres there are; of equally near ones the first."""
        centres = self.centres[plane]
        for _ in range(ROUNDS):
            clusters: list[list[float]] = [[] for _ in range(STREAMS)]
            for value in values:
                distances = [abs(value - centre) for centre in centres]
                clusters[distances.index(min(distances))].append(value)
            centres = [sum(cluster) / len(cluster) if cluster else 0.0 for cluster in clusters]
        self.centres[plane] = sorted(centres, reverse=True)
