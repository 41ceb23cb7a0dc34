"""One plane of small blocks under a placement, of which the test chooses what is collected."""

from __future__ import annotations

from typing import Any

import numpy as np

from ssdgym.engine.core.status import ERASE_DECISION, INPUT_ENDED
from ssdgym.engine.view import view_arrays
from ssdgym.policy import get_policy
from ssdgym.requests import TRIM
from ssdgym.simulator import Simulator
from tests.engine.devices import device, writes


class Bench:
    """Carries out one page after the other; no time passes."""

    def __init__(self, placement: str, logical_pages: int, pages_per_block: int = 2) -> None:
        geometry = {"channels": 1, "blocks_per_plane": 64, "pages_per_block": pages_per_block}
        config = device(geometry, {"placement": placement}, logical_pages=logical_pages)
        self.sim = Simulator(config, policy=None)
        rule = get_policy(f"greedy+{placement}").beside["placement"]
        self._memory = rule.memory

    @property
    def clock(self) -> int:
        """Host pages written."""
        return int(self.sim.state.control["clock"][0, 0])

    @property
    def memory(self) -> Any:
        """What the placement keeps: `memory.page_memory[lpn]` and so on."""
        return view_arrays(self.sim.state, 0, self._memory, "place")

    def stream(self, lpn: int) -> int:
        """Return the stream of the block that holds a page."""
        return int(self.sim.state.block["stream"][0, self._block(lpn)])

    def write(self, *pages: int) -> list[int]:
        """Write pages of the host; return the stream that each went to."""
        return [self._write(lpn) for lpn in pages]

    def trim(self, *pages: int) -> None:
        """Trim pages."""
        self.sim.feed(writes(pages, op=TRIM))
        assert self.sim.advance() == INPUT_ENDED

    def collect(self, lpn: int, after_writing: int) -> None:
        """Write a page of the host, upon which the block of page `lpn` is collected."""
        victim, params = self._block(lpn), self.sim.arrays.params[0, 0]
        limit = int(params["low_pool"])
        params["low_pool"] = np.iinfo(np.int64).max
        self.sim.feed(writes([after_writing]))
        assert self.sim.advance() == ERASE_DECISION
        params["low_pool"] = limit
        self.sim.apply(victim)
        assert self.sim.advance() == INPUT_ENDED

    def _write(self, lpn: int) -> int:
        self.sim.feed(writes([lpn]))
        assert self.sim.advance() == INPUT_ENDED
        return self.stream(lpn)

    def _block(self, lpn: int) -> int:
        ppn = int(self.sim.state.logical["ppn"][0, lpn])
        return ppn // self.sim.device.geometry.pages_per_block
