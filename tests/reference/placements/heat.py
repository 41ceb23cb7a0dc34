"""Placements by how hot pages are."""

from __future__ import annotations

from collections import defaultdict

from .base import Placement

# FADaC (2019), as it is compared with: a count of writes against a fading average of request lengths.

FADAC_LAST = 5


class Fadac(Placement):
    """A page's stream is the power of ten by which its count outgrows the average."""

    def begin(self) -> None:
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
        streams = [s for s in range(FADAC_LAST) if not self.is_hotter(count, self.scaled(average, s))]
        return streams[0] if streams else FADAC_LAST

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


# SFS (FAST 2012): blocks clustered by hotness, pages to the stream of the nearest centre.

SFS_STREAMS = 6
ROUNDS = 3


class Sfs(Placement):
    """Every plane has centres of its own."""

    def begin(self) -> None:
        self.writes: defaultdict[int, int] = defaultdict(int)
        self.written_at: defaultdict[int, int] = defaultdict(int)
        planes = range(self.device.config.planes)
        self.centres = {plane: [0.0] * SFS_STREAMS for plane in planes}
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
        return max(k for k in range(SFS_STREAMS) if distances[k] == min(distances))

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
            clusters: list[list[float]] = [[] for _ in range(SFS_STREAMS)]
            for value in values:
                distances = [abs(value - centre) for centre in centres]
                clusters[distances.index(min(distances))].append(value)
            centres = [sum(cluster) / len(cluster) if cluster else 0.0 for cluster in clusters]
        self.centres[plane] = sorted(centres, reverse=True)
