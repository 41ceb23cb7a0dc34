"""`ssdgym/EraseVictim-v0`: which block, or which of its sub-blocks, to erase next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from ssdgym.envs.decision_env import DecisionEnv
from ssdgym.envs.decisions import EraseDecision
from ssdgym.envs.options import Options
from ssdgym.envs.vector.decision_vector_env import DecisionVectorEnv

DEFAULT_PROPOSERS = ("greedy", "cost_benefit", "fifo", "windowed_greedy", "d_choices", "random")


@dataclass(frozen=True, kw_only=True)
class EraseVictimOptions(Options):
    """The arguments of `EraseVictimEnv`.

    Attributes:
        candidates: K, or `"all"`.
        proposers: victim policies whose picks are always candidates.
    """

    candidates: int | str = 16
    proposers: Sequence[str] = DEFAULT_PROPOSERS

    default_reward: ClassVar[Mapping[str, str]] = {"baseline": "greedy"}

    def decision(self) -> EraseDecision:
        """Return the decision that the environment asks for."""
        return EraseDecision(self.candidates, self.proposers)


class EraseVictimEnv(DecisionEnv):
    """Choose what garbage collection erases next.

    ## Description
    A device full of data serves a workload. Whenever a plane runs short of free pages it must erase
    something, and relocate the valid pages of it first: every relocation is a page program the host did not
    ask for. The agent is asked for each erase. What is not said here is as in every environment
    (`ssdgym.envs.DecisionEnv`).

    ## Action Space
    `Discrete(K)`: which candidate to erase. A candidate is an *erase set*: a whole block or, on devices
    that can erase them, some of a block's sub-blocks (of several blocks only where a proposer picks them;
    `ssdgym.envs.ParallelEraseEnv` offers more of those).

    The candidates are the picks of the `proposers` (equal picks once, in that order), then the blocks with
    most invalid pages, then random ones. `info["proposed"][j]` is where the pick of proposer `j` stands,
    so that a heuristic can be played through the environment exactly. With `candidates="all"` candidate
    `k` is always the same erase set of the plane.

    ## Observation Space
    Of each candidate: how much of it is valid, what it wins per page moved, how long ago it was invalidated
    last and closed, its wear and stream, and which proposers picked it. Of the decision: the host pages and
    the time since the last one, and how full the open blocks are. More where devices have sub-blocks, are of
    several sizes, or serve requests that come by themselves; and on demand, such as how often the host writes
    the valid pages of a candidate and those next to them. `ssdgym.envs.features` has all of them.

    ## Rewards
    The default objective, `{"relocations": 1.0}`, costs `relocated pages / pages per block`; that of an
    episode is exactly `(write amplification - 1) * horizon / pages per block`. The default reward is that of
    `{"baseline": "greedy"}`.

    ## Starting State
    Full and preconditioned by its workload.

    ## Episode End
    After `horizon` host pages; truncated, never terminated.

    ## Arguments
    Those of every environment, and

    | name | type | default | meaning |
    |---|---|---|---|
    | `candidates` | int or `"all"` | `16` | K |
    | `proposers` | list of str | `DEFAULT_PROPOSERS` | victim policies whose picks are always candidates |

    ## Vectorized environment
    `EraseVictimVectorEnv`, which `gym.make_vec` makes: many devices in one compiled call per step.

    ## Scores
    Write amplification on the default device (interquartile mean over eight seeds, 95 % intervals below 1 %;
    `ssdgym demo` measures them). Nobody knows the best possible value.

    | workload | a random action | random | greedy | cost_benefit | cost_benefit(exponent=0.5) |
    |---|---|---|---|---|---|
    | `zipf99` | 5.191 | 7.383 | 5.180 | 4.468 | 4.298 |
    | `hot90` | 4.511 | 6.203 | 5.211 | 3.502 | 3.485 |

    A random action is one of the candidates; the policy `random` draws among all blocks.

    ## Version History
    * v0: first version.
    """

    options_type = EraseVictimOptions


class EraseVictimVectorEnv(DecisionVectorEnv):
    """Many `EraseVictimEnv` in one compiled call per step; see `ssdgym.envs.DecisionVectorEnv`."""

    options_type = EraseVictimOptions
