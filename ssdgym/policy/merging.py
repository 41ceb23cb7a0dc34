"""Rules that choose how the blocks of a bundle are merged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ssdgym.engine.core.family import State
from ssdgym.enums import EraseUnit, Isolation, MultiPlane
from ssdgym.errors import SsdgymError
from ssdgym.policy.rules import HookT, Rule


@dataclass(frozen=True)
class MergeRule(Rule):
    """A rule that chooses how the blocks of a bundle are merged.

    `function(plans, case, parameters)` returns the number of a candidate: 0 is a Merge, `1 + l` an M-Merge
    with partial blocks of level `l`, and the last one the M-Merge by Algorithm 1. `plans[k]` has the figures
    of candidate `k`, and `case[0]` what is merged (PLAN and CASE of `ssdgym.engine.core.merges`). It sees
    nothing else of the device, and keeps no records.
    """

    function: Callable[..., int]

    decision: ClassVar[str] = "merge"
    chooses: ClassVar[str] = "how blocks are merged"
    arguments: ClassVar[tuple[str, ...]] = ("plans", "case", "parameters")
    #: It asks nothing of a device, where victim rules may.
    erase_unit: ClassVar[EraseUnit | None] = None
    isolation: ClassVar[Isolation] = Isolation.NONE
    multi_plane: ClassVar[MultiPlane | None] = None
    shares_memory_with: ClassVar[str] = ""

    def on(self, event: str) -> Callable[[HookT], HookT]:
        """Refuse a hook.

        Raises:
            SsdgymError: always.
        """
        raise SsdgymError(
            f"policy {self.name} chooses {self.chooses} and can have no hook of {event}; leave it out."
        )


def merge_arguments(state: State, i: int) -> tuple[Any, Any]:
    """Return what a merge rule in plain Python is called with, but for the parameters.

    Args:
        state: a batch of devices of mapping block.
        i: number of the device, which waits for such a decision.

    Returns:
        The candidates, shape (K,) PLAN, and what is merged, shape (1,) CASE; copies, as record arrays.
    """
    arrays: Any = state
    case = arrays.case[i].copy()
    plans = arrays.figure[i, : int(case["candidates"][0])].copy()
    return plans.view(np.recarray), case.view(np.recarray)
