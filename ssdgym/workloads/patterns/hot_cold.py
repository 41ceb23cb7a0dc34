"""Hot and cold pages: two classes, one accessed more often than the other."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from ssdgym.errors import SsdgymError
from ssdgym.types import IntegerArray
from ssdgym.workloads.addresses import align
from ssdgym.workloads.base import InnerShare, Share
from ssdgym.workloads.kinds import workload_kind
from ssdgym.workloads.patterns.base import AccessConfig
from ssdgym.workloads.patterns.rated import RatedConfig


class TwoClassConfig(AccessConfig):
    """Fields of patterns with hot and cold pages."""

    hot_fraction: InnerShare = Field(description="Share of the footprint's pages that are hot.")
    hot_access: Share = Field(description="Share of the requests that go to the hot pages.")


@workload_kind
class HotColdConfig(TwoClassConfig, RatedConfig):
    """Two classes of pages; the hot ones lie at the start of the footprint (Rosenblum 1991)."""

    kind: Literal["hot_cold"] = "hot_cold"
    hot_fraction: InnerShare = Field(0.2, description="Share of the footprint's pages that are hot.")
    hot_access: Share = Field(0.8, description="Share of the requests that go to the hot pages.")

    def rates(self, footprint: int) -> npt.NDArray[np.float64]:
        """See `RatedConfig`."""
        hot = round(self.hot_fraction * footprint)
        rates = np.full(footprint, (1 - self.hot_access) / max(footprint - hot, 1))
        rates[:hot] = self.hot_access / max(hot, 1)
        return rates

    def picker(self, footprint: int, rng: np.random.Generator) -> HotColdPicker:
        """See `AccessConfig`."""
        return HotColdPicker(self, footprint, rng)


class HotColdPicker:
    """A share of the requests falls on the first pages of the footprint, the rest on the others."""

    def __init__(self, config: HotColdConfig, footprint: int, rng: np.random.Generator) -> None:
        """Prepare the draws.

        Args:
            config: the pattern.
            footprint: number of pages to choose from.
            rng: draws for this picker alone.
        """
        self._classes = TwoClasses(config, footprint, rng)
        self._footprint = footprint

    def __call__(self, sizes: IntegerArray) -> IntegerArray:
        """See `ssdgym.workloads.addresses.Picker`."""
        return align(self._classes.draw(len(sizes)), sizes, self._footprint)


class TwoClasses:
    """Pages drawn from `0..hot_pages-1` (hot) and from the rest (cold), uniformly in each class."""

    def __init__(self, config: TwoClassConfig, footprint: int, rng: np.random.Generator) -> None:
        """Prepare the draws.

        Args:
            config: the pattern.
            footprint: number of pages to choose from.
            rng: draws for this picker alone.

        Raises:
            SsdgymError: a class has no page.
        """
        self.hot_pages = round(config.hot_fraction * footprint)
        if not 0 < self.hot_pages < footprint:
            raise SsdgymError(
                f"workload {config.kind}: hot_fraction {config.hot_fraction} of {footprint} pages "
                f"is {self.hot_pages} pages; both classes need one, so change hot_fraction or footprint."
            )
        self._hot_access = config.hot_access
        self._footprint = footprint
        self._rng = rng

    def draw(self, count: int) -> IntegerArray:
        """Return `count` page numbers, shape (count,)."""
        is_hot = self._rng.random(count) < self._hot_access
        low = np.where(is_hot, 0, self.hot_pages)
        high = np.where(is_hot, self.hot_pages, self._footprint)
        return low + (self._rng.random(count) * (high - low)).astype(np.int64)
