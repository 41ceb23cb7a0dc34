"""`ssdgym/Placement-v0`: which write stream a page goes to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ssdgym.envs.decision_env import DecisionEnv
from ssdgym.envs.kinds.streams import StreamDecision
from ssdgym.envs.options import Options
from ssdgym.envs.vector.decision_vector_env import DecisionVectorEnv

#: The rule that has chosen victims where nothing else was said.
DEFAULT_VICTIMS = "cost_benefit(since_close=1)"


@dataclass(frozen=True, kw_only=True)
class PlacementOptions(Options):
    """The arguments of `PlacementEnv`.

    Attributes:
        pages: `host`, `relocated` or `both`.
        per: `page` or `request`.
        streams: that the agent chooses among; None: as many as the placement and the proposers have.
        victims: policy that chooses what is erased.
        proposers: placements whose choices are told, beside that of the device's own placement.
    """

    device: Any = "demo-placement"
    pages: str = "both"
    per: str = "page"
    streams: int | None = 4
    victims: str = DEFAULT_VICTIMS
    proposers: Sequence[str] = ()

    default_reward: ClassVar[Mapping[str, str]] = {"baseline": DEFAULT_VICTIMS}

    def decision(self) -> StreamDecision:
        """Return the decision that the environment asks for."""
        return StreamDecision(self.pages, self.per, self.streams, self.victims, self.proposers)


class PlacementEnv(DecisionEnv):
    """Choose the write stream that a page goes to.

    ## Description
    A device full of data serves a workload. Every page that is written, by the host or by garbage collection
    as it empties a block, goes to the open block of a *write stream*. Pages that are overwritten at about the
    same time belong together: the block that holds them becomes empty by itself. When a page will be
    overwritten nobody knows; what is known is when it was written before. The agent is asked for each page.
    What is not said here is as in every environment (`ssdgym.envs.DecisionEnv`).

    ## Action Space
    `Discrete(S)`: the stream; action `k` is always stream `k`, and all are valid. A plane keeps a block open
    for each stream, and a free one for each that relocated pages may go to: streams cost spare space.

    `info["proposed"][0]` is the stream that the device's own placement (`ftl.placement`) would choose, and
    `info["proposed"][1 + j]` what proposer `j` would. Each of them follows all that happens and keeps its
    notes whoever decides, so that playing `info["proposed"][0]` leaves the device that the placement leaves,
    bit for bit. What the others propose is their choice on this device, which other choices have shaped.

    `pages` says which pages the agent is asked for; the others go where the device's placement says. With
    `per="request"` the answer for the first page of a request is for all of its pages; relocated pages belong
    to no request, and each of them is a decision of its own.

    ## Observation Space
    Of each stream: how far its open block is written, how much of its blocks is valid, their mean age, its
    share of the plane, what went there lately (how old, and whether relocated), how much older the page at
    hand is, whether the page comes from there, and which proposers choose it. Of the page: whether it is
    relocated, the time since its last write, the last two intervals, an update count that fades, that of its
    neighbours, how often it was moved, and the age and the stream of the block that holds it. On demand:
    size, offset, sequentiality and hint of the request. `ssdgym.envs.features` has all of them. All are noted
    while things happen (`ssdgym.policy.page_history`), so that nothing is from the future.

    ## Rewards
    The default objective, `{"relocations": 1.0}`, costs `relocated pages / pages per block`; that of an
    episode is exactly `(write amplification - 1) * horizon / pages per block`. The default reward is that of
    `{"baseline": "cost_benefit(since_close=1)"}` with the device's placement. What a choice costs shows when
    its block is collected, thousands of decisions later.

    ## Starting State
    Full and preconditioned by its workload, with the device's placement and greedy victims.

    ## Episode End
    After `horizon` host pages; truncated, never terminated.

    ## Arguments
    Those of every environment, and

    | name | type | default | meaning |
    |---|---|---|---|
    | `device` | as everywhere | `"demo-placement"` | of small blocks, so that streams cost little |
    | `pages` | str | `"both"` | `host`, `relocated` or `both` |
    | `per` | str | `"page"` | a decision for each `page` of the host, or for each `request` |
    | `streams` | int or `None` | `4` | S; `None`: as many as the placement and the proposers have |
    | `victims` | str | `"cost_benefit(since_close=1)"` | policy that chooses what is erased |
    | `proposers` | list of str | `()` | placements whose choices are told besides |

    A proposer is any placement that is a compiled rule, such as `sepbit` or `dac`, or `single` or `sep_gc`.

    ## Vectorized environment
    `PlacementVectorEnv`, which `gym.make_vec` makes: many devices in one compiled call per step.

    ## Version History
    * v0: first version.
    """

    options_type = PlacementOptions


class PlacementVectorEnv(DecisionVectorEnv):
    """Many `PlacementEnv` in one compiled call per step; see `ssdgym.envs.DecisionVectorEnv`."""

    options_type = PlacementOptions
