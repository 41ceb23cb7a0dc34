"""MiDAS's model of its groups of blocks, a Markov chain, and the search for the best sizes of groups.

The valid ratio of a group is the share of valid pages of its victims. Its traffic is the number of pages that
enter it for each page of the host. Times are measured in blocks of host pages.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ssdgym.baselines.midas.records import Intervals

#: The search chooses the size of the hot group if its measured valid ratio is at most the first number, and
#: its traffic at least the second.
MOST_HOT_VALID, LEAST_HOT_TRAFFIC = 0.1, 0.15
#: In the last group, writes with intervals up to this part of the mean interval count as hot.
HOT_PART = 0.7
#: Predictions of a write amplification above this number are discarded.
MOST_AMPLIFICATION = 100.0


@dataclass(frozen=True)
class Measured:
    """Measurements of the hot group in an epoch."""

    traffic: float  # share of the host pages that go to the group
    valid: float  # valid ratio
    blocks: int  # size, the open block included

    @property
    def computable(self) -> bool:
        """Whether the search may choose the size of the hot group."""
        return self.valid <= MOST_HOT_VALID and self.traffic >= LEAST_HOT_TRAFFIC


@dataclass(frozen=True)
class Hot:
    """A hot group in the model."""

    blocks: int  # size
    traffic: float  # share of the host pages that go to the group
    valid: float  # valid ratio
    length: float  # how long a page stays in the group, in blocks of host pages
    bins: int  # number of bins of the histogram that begin before `length`
    held: float  # expected number of valid pages in the group


@dataclass(frozen=True, eq=False)
class Model:
    """A device and its writes, as measured in an epoch."""

    intervals: Intervals  # intervals between writes of a page, in an epoch
    pages_per_block: int
    valid_pages: int  # valid pages in all groups together
    blocks: int  # blocks of all groups together
    margin: int  # least blocks of the last group; also least time from a group's end to the epoch's end
    measured: Measured  # measurements of the hot group

    def hot(self, blocks: int) -> Hot | None:
        """Return a hot group of at least this size, if any; the measured one if it is not `computable`."""
        return _computed(self, blocks) if self.measured.computable else _measured(self)

    def predict(self, hot: Hot, sizes: Sequence[Any]) -> tuple[np.ndarray, list[np.ndarray]]:
        """Predict write amplification and valid ratios of m configurations.

        Args:
            hot: the hot group.
            sizes: for each of the groups G1 .. G(n-1) its blocks: a number, or an array of shape (m,).

        Returns:
            The write amplification, shape (m,), infinite for impossible configurations; and the valid ratios
            of G1 .. Gn, n arrays of shape (m,).
        """
        intervals = self.intervals
        # Of the pages that enter a group, per configuration: first bin of their intervals, age, and traffic.
        first, past = np.array([hot.bins]), np.array([hot.length])
        inflow = np.array([1.0 - hot.traffic + hot.traffic * hot.valid])
        left, held = np.array([float(self.blocks - hot.blocks)]), np.array([hot.held])
        cost, wrong = np.array([1.0 + hot.traffic * hot.valid]), np.array([False])
        ratios: list[np.ndarray] = []
        with np.errstate(all="ignore"):
            for blocks in sizes:
                time = (np.atleast_1d(np.asarray(blocks, float)) - 0.5) / inflow
                end = intervals.first_from(past + time)
                alive = intervals.upto[-1] - intervals.upto[first]
                ratio = 1.0 - (intervals.upto[end] - intervals.upto[first]) / alive
                # Valid pages of the group, summed over bins: in each bin, the pages that live to its end.
                units = end - first
                dead = intervals.summed_upto[end] - intervals.summed_upto[first]
                dead = dead - units * intervals.upto[first]
                held = held + inflow * (units - dead / alive) * intervals.width * self.pages_per_block
                late = np.floor(time) + past >= intervals.bins * intervals.width - self.margin
                wrong = wrong | late | ~(ratio > 0)
                left, past, first, inflow = left - blocks, past + time, end, inflow * ratio
                cost = cost + inflow
                ratios.append(ratio)
            # The last group has the blocks that are left.
            ratio = self._last_ratio(first, left, held)
            cost = cost + inflow * ratio / (1.0 - ratio)
            wrong = wrong | ~(left > 0) | ~((ratio > 0) & (ratio < 1)) | ~(cost <= MOST_AMPLIFICATION)
        cost = np.where(wrong, np.inf, cost)
        return cost, [np.broadcast_to(one, cost.shape) for one in (*ratios, ratio)]

    def _last_ratio(self, first: np.ndarray, left: np.ndarray, held: np.ndarray) -> np.ndarray:
        """Return the valid ratio of the last group: greedy collection of hot and cold pages (Desnoyers)."""
        intervals = self.intervals
        requests = intervals.upto[-1] - intervals.upto[first]
        # The number of pages with an interval is writes * interval / epoch; the epoch's length cancels out.
        pages = intervals.length_upto[-1] - intervals.length_upto[first]
        end = np.floor(HOT_PART * (pages / requests) / intervals.width)
        end = np.where(np.isfinite(end), end, 0).astype(np.int64) + 1
        end = np.clip(end, first, intervals.bins)
        hot_requests = (intervals.upto[end] - intervals.upto[first]) / requests
        hot_pages = (intervals.length_upto[end] - intervals.length_upto[first]) / pages
        finite = 1.0 + 1.0 / (2 * self.pages_per_block)
        valid = self.valid_pages - held
        spare = np.where(valid > 0, finite * left * self.pages_per_block / valid, np.nan)
        return 1.0 - finite / greedy_amplification(spare, hot_requests, hot_pages)


def _computed(model: Model, wanted: int) -> Hot | None:
    """Return a hot group of at least `wanted` blocks for the shortest intervals; `None` if there is none."""
    intervals = model.intervals
    share = intervals.upto[1:] / max(intervals.upto[-1], 1.0)
    ends = np.arange(1, intervals.bins + 1) * intervals.width
    blocks = np.floor(ends * share + 0.5)
    enough = np.flatnonzero(blocks >= wanted)
    if not len(enough):
        return None
    k = int(enough[0])
    held = float(np.sum(1.0 - share[: k + 1])) * intervals.width * model.pages_per_block
    return Hot(int(blocks[k]), float(share[k]), 0.0, float(ends[k]), k + 1, held)


def _measured(model: Model) -> Hot:
    """Return the hot group with its measured traffic, valid ratio and size."""
    intervals, seen = model.intervals, model.measured
    length = (seen.blocks - 0.5) / seen.traffic
    bins = int(intervals.first_from(np.float64(length)))
    share = intervals.upto[1 : bins + 1] / max(intervals.upto[-1], 1.0)
    held = float(np.sum(1.0 - share)) * seen.traffic * intervals.width * model.pages_per_block
    return Hot(seen.blocks, seen.traffic, seen.valid, length, bins, held)


def greedy_amplification(spare: np.ndarray, requests: np.ndarray, pages: np.ndarray) -> np.ndarray:
    """Return the write amplification of greedy collection with two kinds of pages, after Desnoyers.

    Args:
        spare: pages of flash per valid page, above 1.
        requests: share of the writes that go to hot pages.
        pages: share of the valid pages that are hot.

    Returns:
        The smallest multiple of 0.001 that satisfies the formula; NaN if there is none up to 1,000.
    """
    spare, requests, pages = np.broadcast_arrays(spare, requests, pages)
    low, high = np.full(spare.shape, 999), np.full(spare.shape, 1_000_000)
    with np.errstate(all="ignore"):
        possible = _satisfies(high / 1000, spare, requests, pages)
        while np.any(high - low > 1):
            middle = (low + high) // 2
            enough = _satisfies(middle / 1000, spare, requests, pages)
            low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return np.where(possible, high / 1000, np.nan)


def _satisfies(a: np.ndarray, spare: np.ndarray, requests: np.ndarray, pages: np.ndarray) -> np.ndarray:
    return 1.0 + _part(requests, pages, spare, a) + _part(1 - requests, 1 - pages, spare, a) <= a


def _part(requests: np.ndarray, pages: np.ndarray, spare: np.ndarray, a: np.ndarray) -> np.ndarray:
    """Return the term of hot or of cold pages in the formula; 0 if no write goes to such pages."""
    return np.where(requests > 0, requests / np.expm1(requests * spare / (pages * a)), 0.0)


#: Largest size of a hot group that the search tries, in blocks per plane.
MOST_HOT_BLOCKS = 29
#: A larger hot group must lower write amplification by more than this in step 1 of the search.
HOT_GAIN = 0.05
#: Most groups besides the hot one.
MOST_GROUPS = 9
#: Most repetitions of step 3 of the search; the authors' program has four.
MOST_ROUNDS = 20


@dataclass(frozen=True)
class Configuration:
    """Sizes of groups, and what the model predicts for them."""

    hot: Hot  # the hot group
    sizes: tuple[int, ...]  # blocks of G1 .. Gn, open blocks included; Gn has the blocks that remain
    ratios: tuple[float, ...]  # predicted valid ratios of G1 .. Gn
    amplification: float  # predicted write amplification


def search(model: Model, planes: int = 1, most_groups: int = MOST_GROUPS) -> Configuration | None:
    """Return the configuration of least write amplification found; `None` if step 1 finds none.

    1. Enlarge the hot group while each step lowers write amplification by over `HOT_GAIN`.
    2. Split the last group up to eight times, each time at the best size of the new group, and keep the best
       number of groups.
    3. Until nothing improves, choose the best size of the hot group, then of each other group in turn, which
       for this exchanges blocks with the last group. Add a group if that is better.
    """
    hot_sizes = range(planes, (MOST_HOT_BLOCKS + 1) * planes, planes)
    best = _first_hot(model, hot_sizes)
    if best is None:
        return None
    best = _split(model, best, most_groups)
    for _ in range(MOST_ROUNDS):
        better = _each_size(model, _best_hot(model, best, hot_sizes), most_groups)
        if better is best:
            break
        best = better
    return best


def _evaluated(model: Model, hot: Hot | None, fixed: tuple[int, ...]) -> Configuration | None:
    """Return the configuration of `hot` with the sizes `fixed` of G1 to G(n - 1); `None` if impossible."""
    if hot is None:
        return None
    cost, ratios = model.predict(hot, fixed)
    if not np.isfinite(cost[0]):
        return None
    last = model.blocks - hot.blocks - sum(fixed)
    return Configuration(hot, (*fixed, last), tuple(float(ratio[0]) for ratio in ratios), float(cost[0]))


def _first_hot(model: Model, sizes: range) -> Configuration | None:
    """Carry out step 1 of the search; return a configuration of the hot group and one other group."""
    if not model.measured.computable:
        return _evaluated(model, model.hot(1), ())
    best = None
    for wanted in sizes:
        if best is None or wanted > best.hot.blocks:
            found = _evaluated(model, _cautious(model.hot(wanted)), ())
            if found is None or (best and found.amplification >= best.amplification - HOT_GAIN):
                break
            best = found
    return best and _evaluated(model, model.hot(best.hot.blocks), ())


def _best_hot(model: Model, best: Configuration, sizes: range) -> Configuration:
    """Return `best` with the best size of its hot group."""
    if model.measured.computable:
        for wanted in sizes:
            found = _evaluated(model, _cautious(model.hot(wanted)), best.sizes[:-1])
            if found is not None and found.amplification < best.amplification:
                best = _evaluated(model, model.hot(wanted), best.sizes[:-1]) or best
    return best


def _cautious(hot: Hot | None) -> Hot | None:
    """Return the hot group with `held=0`, for a comparison of sizes as in the authors' program.

    The filter finds fewer hot pages than the model expects, so `held` is too large.
    """
    return hot and replace(hot, held=0.0)


def _split(model: Model, best: Configuration, most_groups: int) -> Configuration:
    """Carry out step 2 of the search."""
    found: Configuration | None = best
    for place in range(most_groups - 1):
        assert found is not None
        found = _best_size(model, found.hot, found.sizes[:-1], place)
        if found is None:
            break
        if found.amplification < best.amplification:
            best = found
    return best


def _each_size(model: Model, best: Configuration, most_groups: int) -> Configuration:
    """Carry out the second part of step 3 of the search."""
    for place in range(most_groups - 1):
        found = _best_size(model, best.hot, best.sizes[:-1], place)
        if found is not None and found.amplification < best.amplification:
            best = found
        elif place >= len(best.sizes) - 1:
            break
    return best


def _best_size(model: Model, hot: Hot, fixed: tuple[int, ...], place: int) -> Configuration | None:
    """Return the configuration with the best size of G(`place` + 1), a new group if it follows `fixed`."""
    others = (*fixed[:place], *fixed[place + 1 :])
    room = model.blocks - hot.blocks - sum(others) - model.margin
    if room < 1:
        return None
    tried = np.arange(1, room + 1)
    cost, _ = model.predict(hot, (*fixed[:place], tried, *fixed[place + 1 :]))
    k = int(np.argmin(cost))
    return _evaluated(model, hot, (*fixed[:place], int(tried[k]), *fixed[place + 1 :]))
