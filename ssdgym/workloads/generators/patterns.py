"""Access patterns: uniform, sequential, mixed, Zipf, hot and cold, drifting hot set."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Annotated, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field, NonNegativeInt, model_validator

from ssdgym.config.loading import Config
from ssdgym.errors import SsdgymError
from ssdgym.requests import REQUEST, Requests
from ssdgym.types import IntegerArray
from ssdgym.workloads.addresses import Picker, align
from ssdgym.workloads.base import CHUNK, InnerShare, RequestStream, Share, Weight
from ssdgym.workloads.generators.base import AccessConfig, Accesses, Number, PacedConfig
from ssdgym.workloads.registry import OfAnyKind, workload_kind


@workload_kind
class UniformConfig(AccessConfig):
    """All pages of the footprint are accessed with the same probability."""

    kind: Literal["uniform"] = "uniform"

    def picker(self, footprint: int, rng: np.random.Generator) -> Picker:
        """See `AccessConfig`."""
        return partial(_uniform, footprint, rng)


# Pickers are functions of modules with some arguments given, because these can be copied and pickled.


def _uniform(footprint: int, rng: np.random.Generator, sizes: IntegerArray) -> IntegerArray:
    return align(rng.integers(footprint, size=len(sizes), dtype=np.int32), sizes, footprint)


@workload_kind
class SequentialConfig(AccessConfig):
    """Pages are accessed in order from the start of the footprint to its end, again and again."""

    kind: Literal["sequential"] = "sequential"

    def picker(self, footprint: int, rng: np.random.Generator) -> _SequentialPicker:
        """See `AccessConfig`."""
        return _SequentialPicker(footprint)


class _SequentialPicker:
    """Starts each request where the previous request ended; after the footprint's end it begins again."""

    def __init__(self, footprint: int) -> None:
        self._footprint = footprint
        self._position = 0

    def __call__(self, sizes: IntegerArray) -> IntegerArray:
        end = self._position + np.cumsum(sizes, dtype=np.int64)
        self._position = int(end[-1]) % self._footprint
        return (end - sizes) % self._footprint


class ComponentConfig(Config):
    """One of the patterns of a mixed workload."""

    weight: Weight = Field(description="Share of the requests, relative to the other weights.")
    workload: Annotated[AccessConfig, OfAnyKind()] = Field(
        description="The pattern; fields of arrival times and the number of requests belong to the mix."
    )

    @model_validator(mode="after")
    def _pace_is_the_mix_s(self) -> ComponentConfig:
        for name, field in PacedConfig.model_fields.items():
            if name != "kind" and getattr(self.workload, name) != field.default:
                raise ValueError(f"sets workload.{name}, which belongs to the mix; move it there")
        return self


@workload_kind
class MixedConfig(PacedConfig):
    """Several patterns; the pattern of each request is drawn by weight."""

    kind: Literal["mixed"] = "mixed"
    components: tuple[ComponentConfig, ...] = Field(min_length=1, description="Patterns and their weights.")

    def parts(self) -> tuple[AccessConfig, ...]:
        """See `WorkloadConfig`."""
        return tuple(component.workload for component in self.components)

    def writes_nothing(self) -> bool:
        """See `WorkloadConfig`."""
        return all(part.writes_nothing() for part in self.parts())

    def source(self, logical_pages: int, page_size: int, seed: np.random.SeedSequence) -> _MixedAccesses:
        """See `PacedConfig`."""
        return _MixedAccesses(self, logical_pages, seed)

    def footprint_pages(self, logical_pages: int, page_size: int) -> int:
        """See `PacedConfig`; a page in the footprints of several components counts once."""
        covered, end = 0, 0
        for first, pages in sorted(part.region(logical_pages) for part in self.parts()):
            covered += max(first + pages - max(first, end), 0)
            end = max(end, first + pages)
        return covered


class _MixedAccesses:
    """An endless source; each request comes from one of the components, drawn by weight."""

    def __init__(self, config: MixedConfig, logical_pages: int, seed: np.random.SeedSequence) -> None:
        own, *children = seed.spawn(1 + len(config.components))
        self._rng = np.random.Generator(np.random.PCG64(own))
        self._components = [
            RequestStream(Accesses(component.workload, logical_pages, child), report=dict)
            for component, child in zip(config.components, children, strict=True)
        ]
        weights = np.cumsum([component.weight for component in config.components])
        self._distribution = weights / weights[-1]

    def chunk(self) -> Requests:
        requests = np.zeros(CHUNK, REQUEST)
        chosen = np.searchsorted(self._distribution, self._rng.random(CHUNK), side="right")
        for number, component in enumerate(self._components):
            mine = np.flatnonzero(chosen == number)
            requests[mine] = component.take(len(mine))
        return requests


@workload_kind
class ZipfConfig(AccessConfig):
    """The page of rank k (1 for the hottest) is accessed with a probability proportional to `k ** -theta`."""

    kind: Literal["zipf"] = "zipf"
    theta: float = Field(0.99, ge=0, le=10, description="Exponent of Zipf's law, also above 1; 0: uniform.")
    scrambled: bool = Field(
        True, description="true: assign ranks to pages at random; false: in order, the hottest page first."
    )
    layout_seed: NonNegativeInt = Field(
        0,
        description="Seed of the random assignment, independent of the run's seed: runs with all seeds have "
        "the same hot pages, also after preconditioning by this workload.",
    )

    def picker(self, footprint: int, rng: np.random.Generator) -> Picker:
        """See `AccessConfig`."""
        places = ZipfPlaces(footprint, self.theta, self.layout_seed if self.scrambled else None)
        return partial(_zipf, places, footprint, rng)


def _zipf(places: ZipfPlaces, footprint: int, rng: np.random.Generator, sizes: IntegerArray) -> IntegerArray:
    return align(places.at(rng.random(len(sizes))), sizes, footprint)


class ZipfPlaces:
    """Draws places `0..count-1` by Zipf's law.

    `layout_seed` assigns ranks to places at random; if it is None, place k has rank k + 1.
    """

    def __init__(self, count: int, theta: float, layout_seed: int | None) -> None:
        self._distribution = zipf_distribution(count, theta)
        self._place_of_rank = None if layout_seed is None else scrambled_pages(count, layout_seed)

    def at(self, draw: npt.NDArray[np.float64]) -> IntegerArray:
        """Convert uniform draws from [0, 1) to places, shape (n,)."""
        from ssdgym.workloads.generators.ranks import ranks_of  # loads the compiler

        ranks = ranks_of(draw, self._distribution)
        return ranks if self._place_of_rank is None else self._place_of_rank[ranks]


@lru_cache(maxsize=8)
def scrambled_pages(pages: int, layout_seed: int) -> npt.NDArray[np.int32]:
    """Return a random page for each rank, shape (pages,), as a read-only array that all callers share."""
    page_of_rank = np.arange(pages, dtype=np.int32)
    np.random.default_rng(layout_seed).shuffle(page_of_rank)
    page_of_rank.flags.writeable = False
    return page_of_rank


@lru_cache(maxsize=8)
def zipf_distribution(pages: int, theta: float) -> npt.NDArray[np.float64]:
    """Return the cumulative probabilities of ranks 1 to `pages` by Zipf's law, shape (pages,), read-only."""
    distribution = np.cumsum(np.arange(1, pages + 1, dtype=np.float64) ** -theta)
    distribution /= distribution[-1]
    distribution.flags.writeable = False
    return distribution


_HotFraction = Annotated[InnerShare, Field(description="Share of the footprint's pages that are hot.")]
_HotAccess = Annotated[Share, Field(description="Share of the requests that go to the hot pages.")]


@workload_kind
class HotColdConfig(AccessConfig):
    """Hot and cold pages; the hot pages are at the start of the footprint (Rosenblum 1991)."""

    kind: Literal["hot_cold"] = "hot_cold"
    hot_fraction: _HotFraction = 0.2
    hot_access: _HotAccess = 0.8

    def picker(self, footprint: int, rng: np.random.Generator) -> _TwoClassPicker:
        """See `AccessConfig`."""
        return _TwoClassPicker(self, footprint, rng)


class _TwoClassPicker:
    """Chooses hot pages (`0..hot_pages-1`) or cold pages (all others), uniformly within each class."""

    def __init__(
        self, config: HotColdConfig | DriftingConfig, footprint: int, rng: np.random.Generator
    ) -> None:
        self.hot_pages = round(config.hot_fraction * footprint)
        if not 0 < self.hot_pages < footprint:
            raise SsdgymError(
                f"workload {config.kind}: hot_fraction {config.hot_fraction} of {footprint} pages "
                f"is {self.hot_pages} pages; both classes need one, so change hot_fraction or footprint."
            )
        self._hot_access = config.hot_access
        self._footprint = footprint
        self._rng = rng

    def __call__(self, sizes: IntegerArray) -> IntegerArray:
        return align(self.draw(len(sizes)), sizes, self._footprint)

    def draw(self, count: int) -> IntegerArray:
        """Return `count` page numbers, shape (count,)."""
        is_hot = self._rng.random(count) < self._hot_access
        low = np.where(is_hot, 0, self.hot_pages)
        high = np.where(is_hot, self.hot_pages, self._footprint)
        return low + (self._rng.random(count) * (high - low)).astype(np.int64)


@workload_kind
class DriftingConfig(AccessConfig):
    """A hot set of consecutive pages that moves through the footprint."""

    kind: Literal["drifting"] = "drifting"
    hot_fraction: _HotFraction = 0.1
    hot_access: _HotAccess = 0.9
    shift_every_pages: Number = Field(
        description="Pages accessed (read, written or trimmed) between two moves of the hot set."
    )
    shift_pages: Number = Field(description="Pages by which the hot set moves each time.")

    def picker(self, footprint: int, rng: np.random.Generator) -> _DriftingPicker:
        """See `AccessConfig`."""
        return _DriftingPicker(self, footprint, rng)


class _DriftingPicker(_TwoClassPicker):
    """Chooses pages as `_TwoClassPicker`, counted from the first hot page, which moves with the accesses."""

    def __init__(self, config: DriftingConfig, footprint: int, rng: np.random.Generator) -> None:
        super().__init__(config, footprint, rng)
        self._shift_every_pages = config.shift_every_pages
        self._shift_pages = config.shift_pages
        self._pages_accessed = 0

    def __call__(self, sizes: IntegerArray) -> IntegerArray:
        accessed = self._pages_accessed + np.cumsum(sizes, dtype=np.int64)
        self._pages_accessed = int(accessed[-1])
        origin = (accessed - sizes) // self._shift_every_pages * self._shift_pages
        pages = (self.draw(len(sizes)) + origin) % self._footprint
        return align(pages, sizes, self._footprint)
