"""`my_lab/GentleErase-v0`: choose what to erase next, at a cost that includes wear."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from ssdgym.envs import DecisionEnv, EraseDecision, Options, vectorized
from ssdgym.envs.rewards import reward_term


@reward_term("lost_work", "valid pages of victims, in pages")
def _lost_work(device):
    return {"victim_valid_pages": 1.0}


@dataclass(frozen=True, kw_only=True)
class GentleEraseOptions(Options):
    """The arguments of `GentleEraseEnv`."""

    candidates: int = 8
    default_objective: ClassVar[Mapping[str, float]] = {"lost_work": 1.0, "wear": 0.5}

    def decision(self):
        """Return the kind of decision that the environment leaves to the agent."""
        return EraseDecision(self.candidates, ("greedy", "cost_benefit"))


class GentleEraseEnv(DecisionEnv):
    """Choose what garbage collection erases next; relocations and wear have a cost."""

    options_type = GentleEraseOptions


GentleEraseVectorEnv = vectorized(GentleEraseEnv)  # steps many environments in one compiled call
