"""Uniform, sequential and mixed writes."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from pydantic import Field, model_validator

from ssdgym.config.loading import Config
from ssdgym.requests import REQUEST, Requests
from ssdgym.types import IntegerArray
from ssdgym.workloads.addresses import align
from ssdgym.workloads.base import CHUNK, RequestStream, Weight
from ssdgym.workloads.generators.base import AccessConfig, Accesses
from ssdgym.workloads.generators.pacing import PacedConfig
from ssdgym.workloads.registry import OfAnyKind, workload_kind


@workload_kind
class UniformConfig(AccessConfig):
    """Every page of the footprint is as likely as any other."""

    kind: Literal["uniform"] = "uniform"

    def picker(self, footprint: int, rng: np.random.Generator) -> _UniformPicker:
        """See `AccessConfig`."""
        return _UniformPicker(footprint, rng)


class _UniformPicker:
    """Every page of the footprint with the same probability."""

    def __init__(self, footprint: int, rng: np.random.Generator) -> None:
        self._footprint = footprint
        self._rng = rng

    def __call__(self, sizes: IntegerArray) -> IntegerArray:
        pages = self._rng.integers(self._footprint, size=len(sizes), dtype=np.int32)
        return align(pages, sizes, self._footprint)


@workload_kind
class SequentialConfig(AccessConfig):
    """Page after page from the start of the footprint to its end, over and over."""

    kind: Literal["sequential"] = "sequential"

    def picker(self, footprint: int, rng: np.random.Generator) -> _SequentialPicker:
        """See `AccessConfig`."""
        return _SequentialPicker(footprint)


class _SequentialPicker:
    """Each request starts where the last one ended; one that reaches over the end is split there."""

    def __init__(self, footprint: int) -> None:
        self._footprint = footprint
        self._position = 0

    def __call__(self, sizes: IntegerArray) -> IntegerArray:
        end = self._position + np.cumsum(sizes, dtype=np.int64)
        self._position = int(end[-1]) % self._footprint
        return (end - sizes) % self._footprint


class ComponentConfig(Config):
    """One part of a mixed workload."""

    weight: Weight = Field(description="Share of the requests, relative to the other weights.")
    workload: Annotated[AccessConfig, OfAnyKind()] = Field(
        description="Its pattern; pace and number belong to the mix."
    )

    @model_validator(mode="after")
    def _pace_is_the_mix_s(self) -> ComponentConfig:
        for name, field in PacedConfig.model_fields.items():
            if name != "kind" and getattr(self.workload, name) != field.default:
                raise ValueError(f"sets workload.{name}, which belongs to the mix; move it there")
        return self


@workload_kind
class MixedConfig(PacedConfig):
    """Several patterns at once; every request comes from one of them, drawn by weight."""

    kind: Literal["mixed"] = "mixed"
    components: tuple[ComponentConfig, ...] = Field(min_length=1, description="The patterns.")

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
        """See `PacedConfig`; where components overlap, pages count once."""
        covered, end = 0, 0
        for first, pages in sorted(part.footprint_range(logical_pages) for part in self.parts()):
            covered += max(first + pages - max(first, end), 0)
            end = max(end, first + pages)
        return covered


class _MixedAccesses:
    """An endless source whose every request comes from one component, drawn by weight."""

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
