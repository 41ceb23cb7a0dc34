"""Draw the requests of a synthetic trace."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ssdgym.requests import READ, WRITE
from ssdgym.types import BoolArray, IntArray
from ssdgym.workloads.addresses import mixed, uniform
from ssdgym.workloads.base import CHUNK
from ssdgym.workloads.synthetic.fitting import UNIT_BYTES, Fit, OperationConfig, Origins
from ssdgym.workloads.synthetic.marginals import Layout, Order, bisect
from ssdgym.workloads.traces.record import NO_RECORDS, RECORD, Records, Volumes

# Arrivals in bursts within bursts: a binomial cascade, also called b-model.
#
# The duration is halved recursively. One of the two halves, drawn at random, gets on average the share b (the
# bias) of the requests, the other half 1 - b (Wang et al., "Data Mining Meets Performance Evaluation: Fast
# Algorithms for Modeling Bursty Traffic", ICDE 2002). Let s = b^2 + (1 - b)^2. Then n requests in windows of
# 1 / 2^k of the duration have the index of dispersion 1 - s^k + n (s^k - 2^-k); the equation is solved for b.

SECOND_NS = 1e9
#: Shortest span that is halved, 1 ms, about the time of one access to a disk; within it arrivals are uniform.
_FINEST_NS = 1_000_000
_DIGITS = 9


def dispersion_of(bias: float, requests: int, halvings: float) -> float:
    """Return the index of dispersion of a cascade in windows of duration / 2 ** halvings."""
    kept = (bias**2 + (1 - bias) ** 2) ** halvings
    return 1 - kept + requests * (kept - 0.5**halvings)


def bias_of(dispersion: float, requests: int, duration_ns: float) -> float | None:
    """Return the bias of a cascade with this index of dispersion in windows of 1 s; None if there is none."""
    halvings = np.log2(duration_ns / SECOND_NS)
    if halvings <= 0 or not 1 <= dispersion <= dispersion_of(1.0, requests, halvings):
        return None
    return round(bisect(lambda bias: dispersion_of(bias, requests, halvings) - dispersion, 0.5, 1.0), _DIGITS)


class Cascade:
    """Makes the arrivals of a cascade in constant memory; the first is at 0, the last at the end."""

    def __init__(self, requests: int, duration_ns: int, bias: float, rng: np.random.Generator) -> None:
        """Start at 0.

        Args:
            requests: number of requests, at least 2.
            duration_ns: time from the first to the last arrival.
            bias: mean share of the requests of a span that one of its halves gets, 0.5 to 1.
            rng: random generator that only these arrivals use.
        """
        self._rng = rng
        self._bias = bias
        self._end_ns = duration_ns
        self._made = np.zeros(1, np.int64)
        # Spans (start, width, number of requests) whose arrivals are not drawn yet, the earliest one last.
        self._spans = [(0, duration_ns, requests - 2)]

    def next(self, count: int) -> IntArray:
        """Return the next arrival times in ns, which never decrease, shape (count,)."""
        parts, have = [self._made], len(self._made)
        while have < count and self._spans:
            parts.append(self._within(*self._next_span()))
            have += len(parts[-1])
        if have < count:
            parts.append(np.full(1, self._end_ns))
        made = np.concatenate(parts)
        self._made = made[count:].copy()
        return made[:count]

    def _next_span(self) -> tuple[int, int, int]:
        """Halve the earliest span until its first part has at most `CHUNK` requests; return this part."""
        start, width, count = self._spans.pop()
        while count > CHUNK and width > _FINEST_NS:
            half = width // 2
            left = int(self._rng.binomial(count, self._shares(1)[0]))
            self._spans.append((start + half, width - half, count - left))
            width, count = half, left
        return start, width, count

    def _shares(self, spans: int) -> npt.NDArray[np.float64]:
        """Draw the share of the requests of each span that its first half gets, shape (spans,)."""
        return np.where(self._rng.random(spans) < 0.5, self._bias, 1 - self._bias)

    def _within(self, start_ns: int, width_ns: int, count: int) -> IntArray:
        """Draw the arrival times in a span, sorted, shape (count,)."""
        start, width, counts = (np.array([value], np.int64) for value in (start_ns, width_ns, count))
        times = []
        while len(start):
            is_even = (counts <= 1) | (width <= _FINEST_NS)
            lows, widths = (np.repeat(values[is_even], counts[is_even]) for values in (start, width))
            times.append(lows + (self._rng.random(len(lows)) * widths).astype(np.int64))
            start, width, counts = start[~is_even], width[~is_even], counts[~is_even]
            left = self._rng.binomial(counts, self._shares(len(counts)))
            half = width // 2
            start, width = np.append(start, start + half), np.append(half, width - half)
            counts = np.append(left, counts - left)
        return np.sort(np.concatenate(times))


#: Largest share of the copies of a chunk that are halved in size, so that chunks do not differ much.
_MOST_HALVED = 0.25


class Poisson:
    """A Poisson process that starts with an arrival at 0."""

    def __init__(self, mean_ns: float, rng: np.random.Generator) -> None:
        self._mean_ns = mean_ns
        self._rng = rng
        self._next_ns = 0

    def next(self, count: int) -> IntArray:
        """Return the next arrival times in ns, which never decrease, shape (count,)."""
        gaps = np.rint(self._rng.standard_exponential(count) * self._mean_ns).astype(np.int64)
        ends = self._next_ns + np.cumsum(gaps)
        times = np.concatenate([[self._next_ns], ends[:-1]])
        self._next_ns = int(ends[-1])
        return times


@dataclass(frozen=True)
class Space:
    """The volume of a synthetic trace.

    Attributes:
        layout: function from the rank of an extent (0 for the hottest) to its number in the volume.
        extent_bytes: size of an extent in bytes.
        space_bytes: size of the volume in bytes.
    """

    layout: Layout
    extent_bytes: int
    space_bytes: int

    def offsets(self, ranks: IntArray, places: IntArray, sizes: IntArray) -> IntArray:
        """Return the offsets of requests in the volume in bytes, shape (n,).

        Args:
            ranks: ranks of the extents, shape (n,).
            places: offsets within the extents in bytes, before alignment to the size, shape (n,).
            sizes: sizes in bytes, powers of two, shape (n,).
        """
        return self.layout(ranks) * self.extent_bytes + (places & -sizes)


class IndependentAccesses:
    """Draws offsets and sizes of independent requests; a share of the requests scans the volume instead."""

    def __init__(self, fitted: Fit, space: Space, seed: np.random.SeedSequence) -> None:
        self._sizes, self._ranks, self._scan_share = fitted.sizes, fitted.ranks, fitted.scan_share
        self._space = space
        self._scanned_bytes = 0
        rngs = map(np.random.default_rng, seed.spawn(4))
        self._size_rng, self._rank_rng, self._place_rng, self._scan_rng = rngs

    def next(self, count: int) -> tuple[IntArray, IntArray]:
        """Return offsets and sizes in bytes, both of shape (count,)."""
        sizes = self._sizes.at(self._size_rng.random(count))
        ranks = self._ranks.at(self._rank_rng.random(count))
        places = self._place_rng.integers(self._space.extent_bytes, size=count)
        offsets = self._space.offsets(ranks, places, sizes)
        if self._scan_share:
            is_scan = self._scan_rng.random(count) < self._scan_share
            offsets[is_scan] = self._scan(sizes[is_scan])
        return offsets, sizes

    def _scan(self, sizes: IntArray) -> IntArray:
        """Return the offsets of the next requests of the scan, which restarts at 0 after the volume's end."""
        # A request smaller than a page advances the scan by a page, as `fit` assumes.
        steps = np.maximum(sizes, UNIT_BYTES)
        ends = self._scanned_bytes + np.cumsum(steps)
        self._scanned_bytes = int(ends[-1]) if len(ends) else self._scanned_bytes
        space_bytes = self._space.space_bytes
        return np.minimum((ends - steps) % space_bytes, space_bytes - steps)


class ReplayedAccesses:
    """Draws offsets and sizes of requests; copies (see `Origins`) repeat those of earlier requests."""

    def __init__(
        self, fitted: Fit, operation: OperationConfig, space: Space, seed: np.random.SeedSequence
    ) -> None:
        origins, words = seed.spawn(2)
        self._sizes, self._ranks = fitted.sizes, fitted.ranks
        self._space = space
        self._origins = Origins(operation.replay_share, operation.replay_requests, origins)
        self._keys = tuple(words.generate_state(4, np.uint64))
        self._mean_bytes = operation.mean_bytes
        self._bytes = 0

    def next(self, count: int) -> tuple[IntArray, IntArray]:
        """Return offsets and sizes in bytes, both of shape (count,)."""
        first, origins = self._origins.number, self._origins.next(count)
        words = mixed(origins)
        sizes, ranks, places = (uniform(mixed(words ^ key)) for key in self._keys[:3])
        size = self._sizes.at(sizes)
        place = (places * self._space.extent_bytes).astype(np.int64)
        offsets = self._space.offsets(self._ranks.at(ranks), place, size)
        numbers = first + np.arange(count)
        return offsets, self._shortened(size, numbers, origins < numbers)

    def _shortened(self, sizes: IntArray, numbers: IntArray, is_copy: BoolArray) -> IntArray:
        """Return the sizes, with those of some copies halved if all sizes so far exceed requests * mean size.

        The sizes of few fresh requests are repeated many times, so that without this correction the sum
        would be off by 1 or 2 %. Halving the size of a copy does not change the unique bytes. All arrays have
        the shape (n,) and describe the next requests: sizes, numbers, and which of them are copies.
        """
        wanted = self._mean_bytes * (int(numbers[-1]) + 1) if len(numbers) else 0.0
        self._bytes += int(sizes.sum())
        can = is_copy & (sizes > self._sizes.sizes[0])
        if self._bytes <= wanted or not can.any():
            return sizes
        share = min((self._bytes - wanted) / (int(sizes[can].sum()) / 2), _MOST_HALVED)
        chosen = can & (uniform(mixed(mixed(numbers) ^ self._keys[3])) < share)
        shorter = np.where(chosen, sizes // 2, sizes)
        self._bytes -= int((sizes - shorter).sum())
        return shorter


#: Classes that draw arrival times, the first of which is 0.
Arrivals = Poisson | Cascade
#: Classes that draw offsets and sizes of the reads, or of the writes.
Accesses = IndependentAccesses | ReplayedAccesses


class SyntheticTrace:
    """A `RecordSource` that draws a synthetic trace in constant memory (`ssdgym.workloads.synthetic`).

    Attributes:
        volumes: a single volume with the name of the trace.
    """

    def __init__(
        self, volumes: Volumes, order: Order, arrivals: Arrivals, accesses: Mapping[int, Accesses]
    ) -> None:
        self.volumes = volumes
        self._order = order
        self._arrivals = arrivals
        self._accesses = accesses

    def chunk(self) -> Records:
        """See `ssdgym.workloads.traces.record.RecordSource`."""
        is_read = self._order.next()
        if not len(is_read):
            return NO_RECORDS
        records = np.zeros(len(is_read), RECORD)
        records["time_ns"] = self._arrivals.next(len(is_read))
        records["op"] = np.where(is_read, READ, WRITE)
        for op, is_op in ((READ, is_read), (WRITE, ~is_read)):
            places = self._accesses[op].next(int(np.count_nonzero(is_op)))
            records["offset_bytes"][is_op], records["size_bytes"][is_op] = places
        return records
