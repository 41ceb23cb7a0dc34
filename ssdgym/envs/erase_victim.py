"""The environments of victim selection: which block or which set of blocks is erased next."""

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
        """Return the `Decision` that has the values of these arguments."""
        return EraseDecision(self.candidates, self.proposers)


class EraseVictimEnv(DecisionEnv):
    """Choose what garbage collection erases next.

    ## Description
    Whenever a plane runs short of free pages, garbage collection must erase a block and first relocate its
    valid pages. Every relocation programs a page that the host has not written. See
    `ssdgym.envs.DecisionEnv` for spaces, rewards and episodes shared by all environments.

    ## Action Space
    `Discrete(K)`: the number of the candidate to erase. A candidate is an *erase set*: a whole block or, on
    devices that can erase sub-blocks, some sub-blocks of a block. Only candidates that heuristics picked can
    contain several blocks. `ssdgym.envs.ParallelEraseEnv` also lists other sets of several blocks.

    The first candidates are the picks of the `proposers`, in their order, without repetitions. The next ones
    are the blocks with most invalid pages, and the last ones are random blocks. On devices that can erase
    sub-blocks, the best sub-blocks of each of these blocks are another candidate. `info["proposed"][j]` is
    the number of the candidate that proposer `j` picks, or -1 if there is none. An agent that always chooses
    this candidate has exactly the run of that heuristic. With `candidates="all"`, the candidates are all
    erase sets of the plane, and candidate `k` is the same set in every decision of the plane.

    ## Observation Space
    For each candidate: its valid share, the pages reclaimed per page relocated, the host pages written since
    its last invalidation and since it was closed, its wear, whether its pages were relocated before, and
    which proposers pick it. For the decision: the host pages and the time since the last decision, and the
    free share of the open blocks. Further features are observed if devices have sub-blocks, differ in size,
    or have an open loop. Other features, such as the write rate of a candidate's valid pages, are observed
    only if the argument `features` names them.

    ## Rewards
    The default objective is `{"relocations": 1.0}`: relocated pages / pages per block. The sum of this cost
    over an episode is `(write amplification - 1) * horizon / pages per block`. The default reward is
    `{"baseline": "greedy"}`: the greedy policy has a return of about 0.

    ## Arguments
    | name | type | default | meaning |
    |---|---|---|---|
    | `candidates` | int or `"all"` | `16` | number of candidates K |
    | `proposers` | list of str | `DEFAULT_PROPOSERS` | victim policies whose picks are always candidates |
    """

    options_type = EraseVictimOptions


EraseVictimVectorEnv = vectorized(EraseVictimEnv)


#: `ippbe` adds a block to a set only if the valid share of the block's pages is below `tau`. Most victims on
#: `demo-parallel` are more than half valid, so `ippbe` with its default `tau` would add no block.
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

    #: An erase of several blocks saves time, which latencies show and counts of relocations do not show.
    default_objective: ClassVar[Mapping[str, float]] = {"latency": 1.0}
    #: The price of greedy is so high that larger sets would have higher rewards, however costly they are.
    default_reward: ClassVar[Mapping[str, str]] = {"baseline": "cost_benefit"}

    def decision(self) -> EraseDecision:
        """Return the `Decision` that has the values of these arguments."""
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
    """Choose which blocks garbage collection erases next, and how many.

    ## Description
    Several blocks of a plane can be erased in the time of one erase. Multi-plane commands also erase blocks
    of the die's other planes. However, all valid pages of these blocks have to be relocated before the erase,
    and the host waits meanwhile. `ssdgym.envs.EraseVictimEnv` describes all that is not described here.

    ## Action Space
    `Discrete(K)`: the number of the candidate to erase. A candidate is an *erase set* of one or several
    blocks. On devices that can erase sub-blocks, it contains some sub-blocks of each of these blocks.

    | candidates | erase sets |
    |---|---|
    | the first ones | the picks of the `proposers`, in their order, without repetitions |
    | half of the others | blocks with most invalid pages: one, the first and another one, or the first few |
    | the last ones | random numbers of random blocks |

    Sets that no proposer picks have 1 to `most_blocks` blocks of the collecting plane. On devices that can
    erase sub-blocks, such sets contain the best sub-blocks of each block. A set is left out if the plane has
    no room for all its valid pages before the erase. `info["proposed"][j]` is the number of the candidate
    that proposer `j` picks, or -1 if its pick is left out. An agent that always chooses this candidate has
    exactly the run of that heuristic.

    ## Observation Space
    The features of `ssdgym.envs.EraseVictimEnv`, with pages, sub-blocks and erases summed over the blocks of
    a set. Two more features are the pages to relocate and the sub-blocks of a set, in units of a block.

    ## Rewards
    The default objective is `{"latency": 1.0}`, the latencies of finished reads and writes in units of a page
    program. The default reward is `{"baseline": "cost_benefit"}`: the price of a reclaimed page is its mean
    cost under cost-benefit. With the higher price of greedy, `ippbe(limit=4, tau=0.75)` would have more
    reward per decision than cost-benefit, although each page that it reclaims costs more.

    ## Arguments
    | name | type | default | meaning |
    |---|---|---|---|
    | `device` | see `DecisionEnv` | `"demo-parallel"` | a device with room to collect blocks together |
    | `candidates` | int | `16` | number of candidates K |
    | `most_blocks` | int | `4` | largest number of blocks in a candidate that no proposer picked, 2 to 8 |
    | `proposers` | list of str | `PARALLEL_PROPOSERS` | victim policies whose picks are always candidates |

    With `ftl={"timing": "none"}`, `objective` must contain only terms that need no time.
    """

    options_type = ParallelEraseOptions


ParallelEraseVectorEnv = vectorized(ParallelEraseEnv)
