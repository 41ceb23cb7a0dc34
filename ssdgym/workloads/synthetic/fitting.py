"""Solve for the skew and the sizes with which a synthetic trace comes out as published."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from pydantic import ByteSize, Field, model_validator

from ssdgym.config.loading import Config
from ssdgym.workloads.synthetic.replay import Stretches
from ssdgym.workloads.synthetic.sizes import Sizes, bisect, sizes_with_mean
from ssdgym.workloads.synthetic.skew import PowerLaw

#: Bytes per page in which unique bytes are counted.
UNIT_BYTES = 4096
SECTOR_BYTES = 512

#: Share by which fresh draws are larger in the mean than all requests, some copies of them being halved.
_SPARE = 0.02
_STEEPEST = 10.0
#: Digits kept of a solution, so that it does not depend on the last bits of a processor's exp and log.
_DIGITS = 9
#: A solution that touches fewer or more unique bytes than this share off is none.
_TOLERANCE = 1e-3


class OperationConfig(Config):
    """What the reads, or the writes, of a trace come to."""

    requests: int = Field(ge=1, le=400_000_000, description="How many.")
    bytes: ByteSize = Field(gt=0, description="Sum of their sizes, in bytes or as 9.96GiB.")
    unique_bytes: ByteSize = Field(
        gt=0, description="Different bytes touched; a 4-KiB page that is touched counts whole."
    )

    replay_share: float = Field(
        0.0,
        ge=0,
        le=0.999,
        description="Share that repeats earlier ones, in stretches (`ssdgym.workloads.synthetic.replay`).",
    )
    replay_requests: int = Field(
        64,
        ge=2,
        le=1 << 16,
        description="Mean length of a stretch, a power of two; its fresh draws included.",
    )

    @model_validator(mode="after")
    def _stretches_fit(self) -> OperationConfig:
        if self.replay_requests & (self.replay_requests - 1):
            raise ValueError(f"needs replay_requests to be a power of two, not {self.replay_requests}")
        return self

    @property
    def stretches(self) -> Stretches | None:
        """How much is copied; None for independent requests."""
        return Stretches(self.replay_share, self.replay_requests) if self.replay_share else None

    @property
    def mean_bytes(self) -> float:
        """Mean request size."""
        return self.bytes / self.requests

    def shrunk(self, factor: int) -> OperationConfig:
        """Return one in `factor` of the requests, of the same mean size, on one in `factor` of the bytes."""
        requests = max(round(self.requests / factor), 1)
        share = requests / self.requests
        sizes = {name: ByteSize(round(getattr(self, name) * share)) for name in ("bytes", "unique_bytes")}
        return self.model_copy(update={"requests": requests, **sizes})

    @property
    def smallest_bytes(self) -> int:
        """Smallest request size: a 4-KiB page, or a sector where the mean is less than a page."""
        return UNIT_BYTES if self.mean_bytes >= UNIT_BYTES else SECTOR_BYTES


@dataclass(frozen=True)
class Fit:
    """How the reads, or the writes, of a synthetic trace are drawn.

    Attributes:
        sizes: of the requests.
        ranks: which extent a request goes to, by rank.
        scan_share: share of the requests that follow each other through the volume instead.
    """

    sizes: Sizes
    ranks: PowerLaw
    scan_share: float


def expected_unique_bytes(law: PowerLaw, extent_bytes: int, requests: float, mean_bytes: float) -> float:
    """Return the bytes of pages that independent requests touch, in the mean.

    A request to an extent touches each of its pages with the probability mean size / extent size, as its
    place is one of those aligned to its own size, each as likely.

    Args:
        law: which extent a request goes to.
        extent_bytes: size of an extent.
        requests: how many.
        mean_bytes: mean size of a request.
    """
    counts, probability = law.bins()
    hit = np.minimum(probability * (mean_bytes / extent_bytes), 1 - 1e-12)
    return float(counts @ -np.expm1(requests * np.log1p(-hit))) * extent_bytes


# Resets open their workload again every time.
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
    """Return how to draw one operation so that its requests, bytes and unique bytes are as configured.

    Args:
        operation: what its requests come to.
        space_bytes: size of the volume.
        extent_bytes: unit in which the volume is hot or cold.
        footprint_factor: bytes within reach over those touched.
        largest_bytes: largest request.
        size_decay: exponent of the sizes' weights.

    Returns:
        None if no skew and no scan make the unique bytes come out; with copies there is no scan.
    """
    mean_drawn = min(operation.mean_bytes * (1 + (_SPARE if operation.replay_share else 0)), largest_bytes)
    sizes = sizes_with_mean(mean_drawn, operation.smallest_bytes, largest_bytes, size_decay)
    mean = sizes.mean(at_least=UNIT_BYTES)
    ranks = max(
        min(int(footprint_factor * operation.unique_bytes) // extent_bytes, space_bytes // extent_bytes), 1
    )

    # What is copied touches nothing new.
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
        # Beyond one pass through the volume a scan touches nothing new.
        most = min(1.0, space_bytes / (operation.requests * mean))
        theta = 0.0
        scan_share = round(bisect(lambda value: excess(0, value), 0, most), _DIGITS)
    if abs(excess(theta, scan_share)) > _TOLERANCE * operation.unique_bytes:
        return None
    return Fit(sizes, PowerLaw(ranks, theta), scan_share)
