"""The environment of free blocks: which one is opened."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from ssdgym.engine.decisions import ALLOCATE
from ssdgym.envs.decision_env import DecisionEnv
from ssdgym.envs.options import Options
from ssdgym.envs.vector import vectorized
from ssdgym.envs.wear.decision import WearDecision


class FreeBlockDecision(WearDecision):
    """Which free block is opened for a stream."""

    kind: ClassVar[int] = ALLOCATE
    rule: ClassVar[str] = "allocation"


@dataclass(frozen=True, kw_only=True)
class BlockAllocationOptions(Options):
    """The arguments of `BlockAllocationEnv`."""

    candidates: int = 8
    victims: str = "greedy"

    default_objective: ClassVar[Mapping[str, float]] = {"levelling": 1.0}

    def decision(self) -> FreeBlockDecision:
        """Return the decision that the agent takes."""
        return FreeBlockDecision(self.candidates, self.victims)


class BlockAllocationEnv(DecisionEnv):
    """Choose the free block that a stream goes on in.

    ## Description
    Whenever a block is full, the next one is taken from those that have been erased. Hot data wear the block
    that they are written to, so worn blocks are best for cold data. What is not said here is as in every
    environment (`ssdgym.envs.DecisionEnv`).

    ## Action Space
    `Discrete(K)`: which free block of the plane to open. Candidate 0 is what the device's own allocation
    (`ftl.block_allocation`, by default the block that was freed first) would open; then come the most worn
    one and the others, those erased least first. Rows beyond the free blocks are masked.

    `info["proposed"][0]` is 0: to play it leaves the device that the allocation leaves, bit for bit, but with
    commands of several planes, which a page that opens a block does not join.

    ## Observation Space
    Of each block its wear, of the plane's mean, and what is known of what it held. Of the decision: the
    spread of wear in the plane, and how many blocks are free.

    ## Rewards
    The default is `{"levelling": 1.0}` and `"plain"`: the rise of the sum of the squared erase counts.

    ## Arguments
    | name | type | default | meaning |
    |---|---|---|---|
    | `candidates` | int | `8` | K |
    | `victims` | str | `"greedy"` | policy that chooses what is erased |
    """

    options_type = BlockAllocationOptions


BlockAllocationVectorEnv = vectorized(BlockAllocationEnv)
