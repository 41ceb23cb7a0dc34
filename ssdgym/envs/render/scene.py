"""A device and the decision that is due in it, as plain arrays: what viewers draw."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ssdgym.engine.decisions import ERASE, IDLE, MERGE, PLACE, REGION, RELOCATE
from ssdgym.simulator.families import PageMap

#: What there is to choose among in decisions of a kind, and for what.
_CHOICES = {
    ERASE: ("candidate", ""),
    PLACE: ("stream", " for a page of the host"),
    RELOCATE: ("stream", " for a page that is relocated"),
    IDLE: ("answer", " for an idle die"),
    REGION: ("place", " for part of a page"),
    MERGE: ("plan", " for blocks to be merged"),
}


@dataclass(frozen=True)
class Scene:
    """A device where a decision is due.

    Attributes:
        device: its name.
        map: what its pages hold.
        kind: number of that of the decision, of `ssdgym.engine.decisions`.
        choices: how many there are now.
        candidates: erase sets that may be chosen now, ERASE_PAIR (k, pairs); none where the decision is of
            another kind.
        chosen: the erase set chosen last, ERASE_PAIR (pairs,); None where none was.
        counters: pages by name, since the metrics were reset: `host_pages_written`, `relocated_pages`.
        write_amplification: since then; None where nothing was written.
    """

    device: str
    map: PageMap
    kind: int
    choices: int
    candidates: np.ndarray
    chosen: np.ndarray | None
    counters: Mapping[str, int]
    write_amplification: float | None = None

    @property
    def offered_blocks(self) -> np.ndarray:
        """The blocks of the candidates, bool (planes, blocks)."""
        return self._marked(self.candidates)

    @property
    def chosen_blocks(self) -> np.ndarray:
        """The blocks of the erase set chosen before, bool (planes, blocks)."""
        return self._marked(self.candidates[:0] if self.chosen is None else self.chosen)

    @property
    def caption(self) -> str:
        """The device, its size, and what has happened in the episode."""
        planes, blocks, pages = self.map.pages.shape
        written, ratio = self.counters["host_pages_written"], self.write_amplification
        wa = "" if ratio is None else f", write amplification {ratio:.3f}"
        return (
            f"{self.device}: {_count(planes, 'plane')} of {_count(blocks, 'block')} of "
            f"{_count(pages, 'page')}; {written:,} host pages written{wa}"
        )

    @property
    def decision(self) -> str:
        """How much is offered for what, and which erase set was chosen before."""
        thing, purpose = _CHOICES.get(self.kind, ("choice", ""))
        offered = f"{_count(self.choices, thing)} offered{purpose}"
        if self.chosen is None:
            return f"{offered}; none chosen yet" if self.kind == ERASE else offered
        pairs = self.chosen[self.chosen["mask"] != 0]
        return f"{offered}; chosen before: block {', '.join(str(block) for block in pairs['block'])}"

    def _marked(self, pairs: np.ndarray) -> np.ndarray:
        marked = np.zeros(self.map.open.shape, bool)
        marked.ravel()[pairs["block"][pairs["mask"] != 0]] = True
        return marked


def _count(number: int, thing: str) -> str:
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"
