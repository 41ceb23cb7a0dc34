"""Solve for what makes a stand-in come out as published."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ssdgym.config.stand_in import UNIT_BYTES, OperationConfig, StandInConfig
from ssdgym.errors import SsdgymError
from ssdgym.workloads.stand_ins.bisection import bisect
from ssdgym.workloads.stand_ins.sizes import Sizes, sizes_with_mean
from ssdgym.workloads.stand_ins.skew import PowerLaw

_STEEPEST = 10.0
#: Digits kept of a solution, so that it does not depend on the last bits of a processor's exp and log.
_DIGITS = 9
#: A solution that touches fewer or more unique bytes than this share off is none.
_TOLERANCE = 1e-3


@dataclass(frozen=True)
class Fit:
    """How the reads, or the writes, of a stand-in are drawn.

    Attributes:
        sizes: of the requests.
        ranks: which extent a request goes to, by rank.
        scan_share: share of the requests that follow each other through the volume instead.
    """

    sizes: Sizes
    ranks: PowerLaw
    scan_share: float


def fit(config: StandInConfig, operation: OperationConfig) -> Fit:
    """Return how to draw one operation so that its requests, bytes and unique bytes are as configured.

    Raises:
        SsdgymError: the unique bytes are more than the requests can touch.
    """
    solution = _solve(
        operation,
        config.address_space_bytes,
        config.extent_bytes,
        config.footprint_factor,
        config.largest_bytes,
        config.size_decay,
    )
    if solution is None:
        raise SsdgymError(
            f"stand-in {config.name}: {operation.requests} requests of {operation.bytes} bytes in all cannot "
            f"touch {operation.unique_bytes} unique bytes as configured; correct these figures, or increase "
            "footprint_factor or lower extent_bytes."
        )
    return solution


def expected_unique_bytes(law: PowerLaw, extent_bytes: int, requests: float, mean_bytes: float) -> float:
    """Return the bytes of pages that independent requests touch, in the mean.

    A request to an extent touches each of its pages with the probability mean size / extent size, as its
    place is one of those aligned to its own size, each as likely.
    """
    counts, probability = law.bins()
    hit = np.minimum(probability * (mean_bytes / extent_bytes), 1 - 1e-12)
    return float(counts @ -np.expm1(requests * np.log1p(-hit))) * extent_bytes


# Resets open their workload anew every time.
@lru_cache(maxsize=128)
def _solve(
    operation: OperationConfig, space: int, extent: int, factor: float, largest: int, decay: float
) -> Fit | None:
    sizes = sizes_with_mean(operation.mean_bytes, operation.smallest_bytes, largest, decay)
    mean = sizes.mean(at_least=UNIT_BYTES)
    ranks = max(min(int(factor * operation.unique_bytes) // extent, space // extent), 1)

    def excess(theta: float, scan_share: float) -> float:
        scanned = scan_share * operation.requests * mean
        others = (1 - scan_share) * operation.requests
        touched = expected_unique_bytes(PowerLaw(ranks, theta), extent, others, mean)
        return scanned + touched * (1 - scanned / space) - operation.unique_bytes

    if excess(0, 0) >= 0:
        theta = round(bisect(lambda value: excess(value, 0), 0, _STEEPEST), _DIGITS)
        scan_share = 0.0
    else:
        # Beyond one pass through the volume a scan touches nothing new.
        most = min(1.0, space / (operation.requests * mean))
        theta = 0.0
        scan_share = round(bisect(lambda value: excess(0, value), 0, most), _DIGITS)
    if abs(excess(theta, scan_share)) > _TOLERANCE * operation.unique_bytes:
        return None
    return Fit(sizes, PowerLaw(ranks, theta), scan_share)
