"""Several patterns of access at once."""

from __future__ import annotations

import numpy as np

from ssdgym.config.generated import MixedConfig
from ssdgym.requests import REQUEST, Requests
from ssdgym.workloads.accesses import Accesses
from ssdgym.workloads.chunks import CHUNK, ChunkedStream


class MixedAccesses:
    """An endless source whose every request comes from one component, drawn by weight."""

    def __init__(self, config: MixedConfig, logical_pages: int, seed: np.random.SeedSequence) -> None:
        own, *children = seed.spawn(1 + len(config.components))
        self._rng = np.random.Generator(np.random.PCG64(own))
        self._components = [
            ChunkedStream(Accesses(component.workload, logical_pages, child), report=dict)
            for component, child in zip(config.components, children, strict=True)
        ]
        weights = np.cumsum([component.weight for component in config.components])
        self._distribution = weights / weights[-1]

    def chunk(self) -> Requests:
        """See `ssdgym.workloads.chunks.Source`."""
        requests = np.zeros(CHUNK, REQUEST)
        chosen = np.searchsorted(self._distribution, self._rng.random(CHUNK), side="right")
        for number, component in enumerate(self._components):
            mine = np.flatnonzero(chosen == number)
            requests[mine] = component.take(len(mine))
        return requests
