"""Patterns in which each page keeps its rate of access, which the host can tell the device by hints."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
import numpy.typing as npt
from pydantic import Field

from ssdgym.workloads.patterns.base import AccessConfig


class RatedConfig(AccessConfig):
    """Fields of patterns that know how often each page is accessed."""

    hints: int = Field(
        0,
        ge=0,
        le=256,
        description="Number of hints by which the host tells how often it accesses a request's first page: 0"
        " for those accessed most often, each further one for a quarter of the rate; 0 or 1: no hints.",
    )

    def page_hints(self, footprint: int) -> npt.NDArray[np.uint8] | None:
        """See `AccessConfig`."""
        return hints_by_rate(self.rates(footprint), self.hints) if self.hints > 1 else None

    @abstractmethod
    def rates(self, footprint: int) -> npt.NDArray[np.float64]:
        """Return how often each page is accessed in relation to the others, shape (footprint,)."""


def hints_by_rate(rates: npt.NDArray[np.float64], hints: int) -> npt.NDArray[np.uint8]:
    """Return the hint of each page: 0 for the highest rate, each further one for a quarter of it.

    Args:
        rates: of each page, shape (pages,).
        hints: how many there are; the last one has all slower pages.

    Returns:
        Shape (pages,).
    """
    with np.errstate(divide="ignore"):
        quarters = np.floor(np.log(rates.max() / rates) / np.log(4.0) + 1e-9)
    return np.minimum(quarters, hints - 1).astype(np.uint8)
