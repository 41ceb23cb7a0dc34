"""Reward: named terms, weighted by the objective; each is minus what a counter rose by, in a stated unit.

Every term is additive, so the undiscounted return of an episode is exactly minus the episode's total in that
unit.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ssdgym.config.device import DeviceConfig
from ssdgym.engine.core.family import State
from ssdgym.errors import SsdgymError

#: Term -> what it counts and the unit of it.
TERMS = {
    "relocations": "pages relocated, in blocks",
    "latency": "summed latency of finished reads and writes, in page programs",
    "tail": "finished requests slower than a program and an erase",
    "wear": "blocks erased",
    "energy": "energy of relocations and erases, in relocations of a block",
}

DEFAULT_OBJECTIVE = {"relocations": 1.0}


class Reward:
    """Turns the counters of a batch into rewards.

    Args:
        devices: of the batch.
        objective: weight of each term; terms left out weigh nothing.

    Raises:
        SsdgymError: an unknown term, a weight that is not a finite number, or a term the devices cannot tell.
    """

    def __init__(self, devices: list[DeviceConfig], objective: Mapping[str, float] | None) -> None:
        if objective is not None and not isinstance(objective, Mapping):
            raise SsdgymError(f"objective must be a mapping of terms to weights, not {objective!r}.")
        self.objective = dict(DEFAULT_OBJECTIVE if objective is None else objective)
        self._check(devices)
        pages = np.array([d.geometry.pages_per_block for d in devices], np.float64)
        sub_blocks = np.array([d.geometry.sub_blocks_per_block for d in devices], np.float64)
        move_uj = np.array([d.energy.read_uj + d.energy.program_uj for d in devices])
        block_uj = np.where(move_uj > 0, move_uj, 1.0) * pages
        erase_uj = np.array([d.energy.erase_uj for d in devices])
        program_ns = np.array([max(d.timing.program_ns, 1) for d in devices], np.float64)
        # term -> counter -> what one count of it costs, shape (n,)
        self._costs: dict[str, dict[str, np.ndarray]] = {
            "relocations": {"relocated_pages": 1 / pages},
            "latency": {"read_latency_sum_ns": 1 / program_ns, "write_latency_sum_ns": 1 / program_ns},
            "tail": {"slow_requests": np.ones(len(devices))},
            "wear": {"erased_sub_blocks": 1 / sub_blocks},
            "energy": {
                "relocated_pages": move_uj / block_uj,
                "erased_sub_blocks": erase_uj / sub_blocks / block_uj,
            },
        }
        self._totals = {name: np.zeros(len(devices)) for name in self.objective}

    def _check(self, devices: list[DeviceConfig]) -> None:
        if not self.objective:
            raise SsdgymError(f"objective names no term; choose among {', '.join(TERMS)}.")
        for name, weight in self.objective.items():
            if name not in TERMS:
                raise SsdgymError(f"objective has the unknown term {name!r}; it may have {', '.join(TERMS)}.")
            if isinstance(weight, bool) or not isinstance(weight, (int, float)) or not np.isfinite(weight):
                raise SsdgymError(f"objective.{name} must be a number, not {weight!r}.")
            if name in ("latency", "tail") and any(d.ftl.timing == "none" for d in devices):
                raise SsdgymError(f"objective.{name} needs time, but ftl.timing is none; set it to event.")

    def _total(self, state: State, term: str) -> np.ndarray:
        """What a term has cost since the metrics were reset, shape (n,)."""
        total = np.zeros(len(state.counters))
        for name, cost in self._costs[term].items():
            total += state.counters[name][:, 0] * cost
        return total

    def start(self, state: State, i: int) -> None:
        """Count from where device ``i`` stands now."""
        for name, total in self._totals.items():
            total[i] = self._total(state, name)[i]

    def take(self, state: State) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """Rewards since the last call, shape (n,) float64, and the unweighted terms that make them up."""
        reward = np.zeros(len(state.counters))
        terms = {}
        for name, weight in self.objective.items():
            total = self._total(state, name)
            terms[name] = self._totals[name] - total
            self._totals[name] = total
            reward += weight * terms[name]
        return reward, terms
