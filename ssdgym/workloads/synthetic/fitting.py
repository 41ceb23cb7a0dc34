"""Solve for the skew and the sizes of a synthetic trace, and choose the requests that repeat earlier ones."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from pydantic import ByteSize, Field, model_validator

from ssdgym.config.loading import Config
from ssdgym.types import IntArray
from ssdgym.workloads.addresses import WordArray, mixed, uniform
from ssdgym.workloads.synthetic.marginals import PowerLaw, Sizes, bisect, sizes_with_mean

#: Fewest and most requests whose origins are computed together: larger batches cost hardly more time.
_FEWEST, _MOST = 1 << 15, 1 << 18
_WORD_BITS = 64


class Origins:
    """Maps the number of a request to its origin: the number of the request that it repeats, or its own.

    The reads (or the writes) are numbered from 0 and divided into stretches of geometric length. The first
    requests of a stretch are *fresh*: drawn anew. All others are *copies*: they repeat consecutive requests
    from before the stretch, at a distance that is drawn once per stretch. The logarithm of the distance is
    uniform between those of the mean length of a stretch and of the number of requests before the stretch.

    Whether request i begins a stretch, and the distance and number of fresh requests of this stretch, are
    hashes of i and of the seed. Origins are found by following copies back to a fresh request.
    """

    def __init__(self, share: float, length: int, seed: np.random.SeedSequence) -> None:
        """Begin with request 0.

        Args:
            share: mean share of requests that are copies, above 0 and below 1.
            length: mean number of requests of a stretch, including fresh requests; a power of two.
            seed: seed of the hashes.
        """
        self._length = length
        # A stretch ends after each request with the probability 1 / length. So the share `stays ** fresh` of
        # all requests comes after the first `fresh` requests of its stretch.
        stays = 1 - 1 / length
        self._fresh = int(np.log(share) / np.log(stays))
        more = (stays**self._fresh - share) / (stays**self._fresh - stays ** (self._fresh + 1))
        self._one_more = float(np.clip(more, 0, 1))
        # The probability that `halvings` random bits are all 1 is 1 / length.
        halvings = self._length.bit_length() - 1
        keys = seed.generate_state(2 + halvings, np.uint64)
        self._distance_key, self._fresh_key, *self._begin_keys = keys
        self._next = 0
        self._found = np.zeros(0, np.int64)

    def __getstate__(self) -> dict[str, object]:
        """Return the attributes without the origins that were computed ahead; a copy computes them again."""
        return self.__dict__ | {"_next": self.number, "_found": np.zeros(0, np.int64)}

    @property
    def number(self) -> int:
        """Number of the next request."""
        return self._next - len(self._found)

    def next(self, count: int) -> IntArray:
        """Return the origins of the next requests, shape (count,)."""
        parts, have = [self._found], len(self._found)
        while have < count:
            batch = min(max(self._next, _FEWEST), _MOST)
            parts.append(self.of(self._next, batch))
            self._next += batch
            have += batch
        found = np.concatenate(parts)
        self._found = found[count:]
        return found[:count]

    def of(self, first: int, count: int) -> IntArray:
        """Return the origins of the requests `first` to `first + count - 1`, shape (count,)."""
        origins = np.zeros(count, np.int64)
        # Runs of consecutive requests: first and last request; number - `shift` is the index in `origins`.
        low = first + np.arange(0, count, self._length)
        high = np.append(low[1:], first + count) - 1
        shift = np.full(len(low), first)
        while len(low):
            begin = self._begin(high)
            fresh_end = begin + self._fresh_of(begin)
            # The requests of a stretch that begins before request `length` are fresh.
            is_fresh = (high < fresh_end) | (begin < self._length)
            distance = self._distance(np.maximum(begin, self._length))
            period = begin + (high - begin) // distance * distance
            part = np.maximum(np.where(is_fresh, begin, np.maximum(fresh_end, period)), low)
            self._store(origins, part[is_fresh], high[is_fresh], shift[is_fresh])
            copies, rest = ~is_fresh, part > low
            back = (period - begin + distance)[copies]
            low, high, shift = (
                np.append(low[rest], part[copies] - back),
                np.append(part[rest] - 1, high[copies] - back),
                np.append(shift[rest], shift[copies] - back),
            )
        return origins

    def _store(self, origins: IntArray, low: IntArray, high: IntArray, shift: IntArray) -> None:
        """Store each request of the runs `low..high` in `origins`, at the index number - `shift`."""
        lengths = high - low + 1
        numbers = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths - low, lengths)
        origins[numbers - np.repeat(shift, lengths)] = numbers

    def _begin(self, numbers: IntArray) -> IntArray:
        """Return the first request of the stretch that contains each request, shape (n,)."""
        begins = np.zeros(len(numbers), np.int64)
        looked = np.arange(len(numbers))
        word, bit = numbers // _WORD_BITS, (numbers % _WORD_BITS).astype(np.uint64)
        mask = np.uint64(2**64 - 1) >> (np.uint64(_WORD_BITS - 1) - bit)
        while len(looked):
            words = self._begins(word) & mask
            found = words != 0
            begins[looked[found]] = word[found] * _WORD_BITS + _highest_bit(words[found])
            goes_on = ~found & (word > 0)
            looked, word = looked[goes_on], word[goes_on] - 1
            mask = np.full(len(word), 2**64 - 1, np.uint64)
        return begins

    def _begins(self, word: IntArray) -> WordArray:
        """Return 64 bits for each group `word` of 64 requests: bit k is 1 if request k begins a stretch."""
        bits, of_word = np.full(len(word), 2**64 - 1, np.uint64), mixed(word)
        for key in self._begin_keys:
            bits &= mixed(of_word ^ key)
        return bits

    def _distance(self, begin: IntArray) -> IntArray:
        """Return the distance from the copies of each stretch to the copied requests, shape (n,)."""
        share = uniform(mixed(mixed(begin) ^ self._distance_key))
        return np.minimum((self._length * (begin / self._length) ** share).astype(np.int64), begin)

    def _fresh_of(self, begin: IntArray) -> IntArray:
        """Return the number of fresh requests at the beginning of each stretch, shape (n,)."""
        return self._fresh + (uniform(mixed(mixed(begin) ^ self._fresh_key)) < self._one_more)


def _highest_bit(words: WordArray) -> IntArray:
    """Return the number, from 0, of the highest 1 bit of each word; words are not 0; shape (n,)."""
    high = words >> np.uint64(32)
    half = np.where(high != 0, high, words & np.uint64(2**32 - 1))
    return (np.frexp(half.astype(np.float64))[1] - 1 + np.where(high != 0, 32, 0)).astype(np.int64)


#: Bytes per page; unique bytes are counted in whole pages.
UNIT_BYTES = 4096
SECTOR_BYTES = 512

#: Mean size of fresh requests / mean size of all - 1; above 0, because sizes of some copies are halved later.
_SPARE = 0.02
_STEEPEST = 10.0
#: Decimals of a solution; further decimals could depend on the processor's exp and log.
_DIGITS = 9
#: Largest relative error of the unique bytes of a solution.
_TOLERANCE = 1e-3


class OperationConfig(Config):
    """Statistics of the reads, or of the writes, of a synthetic trace."""

    requests: int = Field(ge=1, le=400_000_000, description="Number of requests.")
    bytes: ByteSize = Field(gt=0, description="Total size of the requests, in bytes or as 9.96GiB.")
    unique_bytes: ByteSize = Field(gt=0, description="Bytes of all different pages of 4 KiB touched.")

    replay_share: float = Field(
        0.0, ge=0, le=0.999, description="Share of the requests that repeat earlier requests, in stretches."
    )
    replay_requests: int = Field(
        64,
        ge=2,
        le=1 << 16,
        description="Mean requests of a stretch, new requests at its start included; a power of two.",
    )

    @model_validator(mode="after")
    def _stretches_fit(self) -> OperationConfig:
        if self.replay_requests & (self.replay_requests - 1):
            raise ValueError(f"needs replay_requests to be a power of two, not {self.replay_requests}")
        return self

    @property
    def mean_bytes(self) -> float:
        """Mean request size in bytes."""
        return self.bytes / self.requests

    def shrunk(self, factor: int) -> OperationConfig:
        """Return the statistics with requests and bytes divided by `factor`, and the same mean size."""
        requests = max(round(self.requests / factor), 1)
        share = requests / self.requests
        sizes = {name: ByteSize(round(getattr(self, name) * share)) for name in ("bytes", "unique_bytes")}
        return self.model_copy(update={"requests": requests, **sizes})

    @property
    def smallest_bytes(self) -> int:
        """Smallest request size: a page of 4 KiB, or a sector of 512 B if the mean is below a page."""
        return UNIT_BYTES if self.mean_bytes >= UNIT_BYTES else SECTOR_BYTES


@dataclass(frozen=True)
class Fit:
    """The distributions of the reads, or of the writes, of a synthetic trace.

    Attributes:
        sizes: distribution of request sizes.
        ranks: distribution of requests over the ranks of extents.
        scan_share: share of the requests that belong to a sequential scan of the volume.
    """

    sizes: Sizes
    ranks: PowerLaw
    scan_share: float


def expected_unique_bytes(law: PowerLaw, extent_bytes: int, requests: float, mean_bytes: float) -> float:
    """Return the expected bytes of the different pages that independent requests touch.

    A request to an extent touches each page of the extent with the probability mean size / extent size,
    because all places aligned to the size of the request have the same probability.
    """
    counts, probability = law.bins()
    hit = np.minimum(probability * (mean_bytes / extent_bytes), 1 - 1e-12)
    return float(counts @ -np.expm1(requests * np.log1p(-hit))) * extent_bytes


# The results are cached, because every reset of an environment opens the workload again.
@lru_cache(maxsize=128)
def fit(
    operation: OperationConfig,
    *,
    space_bytes: int,
    extent_bytes: int,
    footprint_factor: float,
    largest_bytes: int,
    size_decay: float,
) -> Fit | None:
    """Return distributions that match the statistics of `operation`; None if there are none.

    The other arguments are fields of `SyntheticTraceConfig`; `space_bytes` is its `address_space_bytes`.
    """
    mean_drawn = min(operation.mean_bytes * (1 + (_SPARE if operation.replay_share else 0)), largest_bytes)
    sizes = sizes_with_mean(mean_drawn, operation.smallest_bytes, largest_bytes, size_decay)
    mean = sizes.mean(at_least=UNIT_BYTES)
    ranks = max(
        min(int(footprint_factor * operation.unique_bytes) // extent_bytes, space_bytes // extent_bytes), 1
    )

    # Only fresh requests touch new pages.
    fresh = operation.requests * (1 - operation.replay_share)

    def excess(theta: float, scan_share: float) -> float:
        scanned = scan_share * fresh * mean
        others = (1 - scan_share) * fresh
        touched = expected_unique_bytes(PowerLaw(ranks, theta), extent_bytes, others, mean)
        return scanned + touched * (1 - scanned / space_bytes) - operation.unique_bytes

    if excess(0, 0) >= 0:
        theta = round(bisect(lambda value: excess(value, 0), 0, _STEEPEST), _DIGITS)
        scan_share = 0.0
    elif operation.replay_share:
        return None
    else:
        # After one pass through the volume, a scan touches no further new pages.
        most = min(1.0, space_bytes / (operation.requests * mean))
        theta = 0.0
        scan_share = round(bisect(lambda value: excess(0, value), 0, most), _DIGITS)
    if abs(excess(theta, scan_share)) > _TOLERANCE * operation.unique_bytes:
        return None
    return Fit(sizes, PowerLaw(ranks, theta), scan_share)
