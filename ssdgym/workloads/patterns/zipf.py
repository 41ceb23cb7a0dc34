"""Zipf's law: the page of rank k with probability proportional to `k ** -theta`."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field, NonNegativeInt

from ssdgym.types import IntegerArray
from ssdgym.workloads.addresses import align
from ssdgym.workloads.kinds import workload_kind
from ssdgym.workloads.patterns.rated import RatedConfig


@workload_kind
class ZipfConfig(RatedConfig):
    """The page of rank k is accessed in proportion to `k ** -theta`."""

    kind: Literal["zipf"] = "zipf"
    theta: float = Field(0.99, ge=0, le=10, description="Exponent; 0 is uniform, 1 and more is allowed.")
    scrambled: bool = Field(True, description="Ranks are spread over the footprint at random; else in order.")
    layout_seed: NonNegativeInt = Field(
        0,
        description="Seed of that spread. It is no part of the stream's seed: a device preconditioned by this"
        " workload meets the same hot pages under other draws.",
    )

    def rates(self, footprint: int) -> npt.NDArray[np.float64]:
        """See `RatedConfig`."""
        by_rank = np.arange(1, footprint + 1, dtype=np.float64) ** -self.theta
        if not self.scrambled:
            return by_rank
        rates = np.empty(footprint)
        rates[scrambled_pages(footprint, self.layout_seed)] = by_rank
        return rates

    def picker(self, footprint: int, rng: np.random.Generator) -> ZipfPicker:
        """See `AccessConfig`."""
        return ZipfPicker(self, footprint, rng)


class ZipfPicker:
    """Draws ranks by inverting the distribution function, for any exponent."""

    def __init__(self, config: ZipfConfig, footprint: int, rng: np.random.Generator) -> None:
        """Prepare the draws.

        Args:
            config: the pattern.
            footprint: number of pages to choose from.
            rng: draws for this picker alone.
        """
        self._distribution = zipf_distribution(footprint, config.theta)
        self._page_of_rank = scrambled_pages(footprint, config.layout_seed) if config.scrambled else None
        self._footprint = footprint
        self._rng = rng

    def __call__(self, sizes: IntegerArray) -> IntegerArray:
        """See `ssdgym.workloads.addresses.Picker`."""
        ranks = np.searchsorted(self._distribution, self._rng.random(len(sizes)), side="right")
        pages: IntegerArray = ranks if self._page_of_rank is None else self._page_of_rank[ranks]
        return align(pages, sizes, self._footprint)


@lru_cache(maxsize=8)
def scrambled_pages(pages: int, layout_seed: int) -> npt.NDArray[np.int32]:
    """Return which page has which rank, shape (pages,): read-only, as it is shared between callers.

    Args:
        pages: how many.
        layout_seed: of the permutation.
    """
    page_of_rank = np.arange(pages, dtype=np.int32)
    np.random.default_rng(layout_seed).shuffle(page_of_rank)
    page_of_rank.flags.writeable = False
    return page_of_rank


@lru_cache(maxsize=8)
def zipf_distribution(pages: int, theta: float) -> npt.NDArray[np.float64]:
    """Return the distribution function over ranks 1 to `pages`, shape (pages,); its last value is 1.

    Args:
        pages: how many.
        theta: exponent.

    Returns:
        A table that is shared between callers and therefore read-only.
    """
    distribution = np.cumsum(np.arange(1, pages + 1, dtype=np.float64) ** -theta)
    distribution /= distribution[-1]
    distribution.flags.writeable = False
    return distribution
