"""The environments of victim selection: which erase set is next, and how many blocks together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ssdgym.config.fields import is_whole
from ssdgym.engine.core.records import MAX_PAIRS
from ssdgym.envs.decision_env import DecisionEnv
from ssdgym.envs.decisions import EraseDecision, Options
from ssdgym.envs.vector import vectorized
from ssdgym.errors import SsdgymError

DEFAULT_PROPOSERS = ("greedy", "cost_benefit", "fifo", "windowed_greedy", "d_choices", "random")


@dataclass(frozen=True, kw_only=True)
class EraseVictimOptions(Options):
    """The arguments of `EraseVictimEnv`."""

    candidates: int | str = 16
    proposers: Sequence[str] = DEFAULT_PROPOSERS

    default_reward: ClassVar[Mapping[str, str]] = {"baseline": "greedy"}

    def decision(self) -> EraseDecision:
        """Return the decision that the agent takes."""
        return EraseDecision(self.candidates, self.proposers)


class EraseVictimEnv(DecisionEnv):
    """Choose what garbage collection erases next.

    ## Description
    Whenever a plane runs short of free pages it must erase something, and relocate the valid pages of it
    first: every relocation is a page program the host did not need. See `ssdgym.envs.DecisionEnv` for spaces,
    rewards and episodes shared by all environments.

    ## Action Space
    `Discrete(K)`: which candidate to erase. A candidate is an *erase set*: a whole block or, on devices
    that can erase them, some of a block's sub-blocks (of several blocks only where a proposer picks them;
    `ssdgym.envs.ParallelEraseEnv` offers more of those).

    The candidates are the picks of the `proposers` (equal picks once, in that order), then the blocks with
    most invalid pages, then random ones. `info["proposed"][j]` is where the pick of proposer `j` stands,
    so that a heuristic can be played through the environment exactly. With `candidates="all"` candidate
    `k` is always the same erase set of the plane.

    ## Observation Space
    Of each candidate: its valid share, the pages reclaimed per page moved, the times since its last
    invalidation and since it was closed, its wear and stream, and which proposers picked it. Of the decision:
    the host pages and the time since the last one, and how full the open blocks are. More where devices have
    sub-blocks, are of several sizes, or serve requests that come by themselves; and on demand, such as how
    often the host writes the valid pages of a candidate and those next to them.

    ## Rewards
    The default objective is `{"relocations": 1.0}`: relocated pages / pages per block, which cost
    `(write amplification - 1) * horizon / pages per block` in an episode. Rewards are against
    `{"baseline": "greedy"}`: an episode of greedy returns about 0.

    ## Arguments
    | name | type | default | meaning |
    |---|---|---|---|
    | `candidates` | int or `"all"` | `16` | K |
    | `proposers` | list of str | `DEFAULT_PROPOSERS` | victim policies whose picks are always candidates |
    """

    options_type = EraseVictimOptions


EraseVictimVectorEnv = vectorized(EraseVictimEnv)


#: Of a device of which a quarter is spare, few victims have less than half of their pages valid; `ippbe`'s
#: own threshold would add no block there.
PARALLEL_PROPOSERS = (
    "greedy",
    "cost_benefit",
    "ippbe(limit=2, tau=0.75)",
    "ippbe(limit=4, tau=0.75)",
    "random",
)


@dataclass(frozen=True, kw_only=True)
class ParallelEraseOptions(Options):
    """The arguments of `ParallelEraseEnv`."""

    device: Any = "demo-parallel"
    candidates: int = 16
    most_blocks: int = 4
    proposers: Sequence[str] = PARALLEL_PROPOSERS

    #: What erasing together saves is time; relocations alone would not show it.
    default_objective: ClassVar[Mapping[str, float]] = {"latency": 1.0}
    #: At greedy's price every set would earn something, and large ones most for being one decision.
    default_reward: ClassVar[Mapping[str, str]] = {"baseline": "cost_benefit"}

    def decision(self) -> EraseDecision:
        """Return the decision that the agent takes.

        Raises:
            SsdgymError: there would be only single blocks, or too many sets.
        """
        if not is_whole(self.most_blocks) or not 2 <= self.most_blocks <= MAX_PAIRS:
            raise SsdgymError(
                f"most_blocks must be a whole number from 2 to {MAX_PAIRS}, not {self.most_blocks!r}."
            )
        if self.candidates == "all":
            raise SsdgymError(
                "candidates='all' cannot be had where blocks are erased together: there are too many sets of "
                "them; give a number of candidates."
            )
        return EraseDecision(self.candidates, self.proposers, self.most_blocks)


class ParallelEraseEnv(DecisionEnv):
    """Choose how many blocks garbage collection erases next, and which.

    ## Description
    Several blocks of a plane can be erased in the time of one erase (and those of sibling planes with them,
    on devices that take commands of several planes), but all their valid pages have to be moved before, and
    the host waits as long. The rest is as in `ssdgym.envs.EraseVictimEnv`.

    ## Action Space
    `Discrete(K)`: which candidate to erase. A candidate is an *erase set* of one block or several: of each
    a whole block or, on devices that can erase them, some of its sub-blocks.

    | candidates | erase sets |
    |---|---|
    | the first | the picks of the `proposers`, equal ones once, in that order |
    | half the others | blocks by falling invalid pages: each alone, then with the best, the best 2, 3 ... |
    | the rest | random blocks, a random number of them |

    The last two kinds have 1 to `most_blocks` blocks of the plane that collects. Where sub-blocks can be
    erased, they take of each block its best set. Sets that are not legal are left out: the plane must have
    room for all the valid pages before the erase frees any. `info["proposed"][j]` is where the pick of
    proposer `j` stands (-1: it is not legal), so that a heuristic can be played through the environment
    exactly.

    ## Observation Space
    The pages, sub-blocks and erases of several blocks are counted together.

    ## Rewards
    The default is `{"latency": 1.0}`, the latencies of the reads and writes that were finished in units of a
    page program, against `{"baseline": "cost_benefit"}`: the price of a reclaimed page is its cost under a
    good policy. At greedy's price `ippbe(limit=4, tau=0.75)` earns more for a decision than cost-benefit
    does: a decision reclaims more pages, although each costs more.

    ## Arguments
    | name | type | default | meaning |
    |---|---|---|---|
    | `device` | as everywhere | `"demo-parallel"` | on `demo` no two blocks ever fit together |
    | `candidates` | int | `16` | K |
    | `most_blocks` | int | `4` | most blocks of a candidate that no proposer picked, 2 to 8 |
    | `proposers` | list of str | `PARALLEL_PROPOSERS` | victim policies whose picks are always candidates |

    With `ftl={"timing": "none"}`, which counts only, `objective` has to name terms that need no time.
    """

    options_type = ParallelEraseOptions


ParallelEraseVectorEnv = vectorized(ParallelEraseEnv)
