"""The environment of merges: how devices of the block family merge the blocks of a bundle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ssdgym.config.device import DeviceConfig
from ssdgym.engine.block.describing import merge_describer
from ssdgym.engine.decisions import MERGE, RULE
from ssdgym.engine.observation import ObservationSpec
from ssdgym.envs.decision_env import DecisionEnv
from ssdgym.envs.decisions import Decision, Options, basic_spec
from ssdgym.envs.vector import vectorized
from ssdgym.errors import SsdgymError, shown
from ssdgym.policy import Policy, get_policy

#: Candidates besides the M-Merges of parts: the Merge, the M-Merge of whole blocks, the cheapest M-Merge.
_OTHERS = 3


class MergeDecision(Decision):
    """The decision how the blocks of a bundle are merged; action k takes candidate k.

    `proposers` are the merge rules whose picks `info["proposed"]` shows.
    """

    kind: ClassVar[int] = MERGE

    def __init__(self, proposers: Sequence[str]) -> None:
        if isinstance(proposers, str) or not isinstance(proposers, Sequence):
            raise SsdgymError(f"proposers must be a list of merge rules, not {shown(proposers)}.")
        self.proposers = [_proposer(name) for name in proposers]
        self.propose("plan", [policy.label for policy in self.proposers])

    def candidates_on(self, devices: Sequence[DeviceConfig]) -> int:
        """Return the number of candidates on the device whose blocks have the smallest parts."""
        return max(len(device.geometry.partial_sizes) for device in devices) + _OTHERS

    def spec(self) -> ObservationSpec:
        """Return the specification of observations; `ask` adds the features."""
        spec = basic_spec(1 << MERGE, merge_describer())
        return spec._replace(proposers=np.array([policy.main.record for policy in self.proposers], RULE))


def _proposer(name: str) -> Policy:
    policy = get_policy(name)
    if policy.main.kind != "merge" or not policy.main.compiled:
        raise SsdgymError(f"proposers name {policy.label}; give compiled merge rules, such as 'mmerge'.")
    return policy


@dataclass(frozen=True, kw_only=True)
class MergePlanOptions(Options):
    """The arguments of `MergePlanEnv`."""

    device: Any = "pen-demo"
    workload: Any = "block_mixed"
    proposers: Sequence[str] = ("mmerge",)

    default_objective: ClassVar[Mapping[str, float]] = {"merge_time": 1.0}
    default_reward: ClassVar[Mapping[str, str]] = {"baseline": "mmerge"}

    def decision(self) -> MergeDecision:
        """Return the kind of decision that this environment leaves to the agent."""
        return MergeDecision(self.proposers)


class MergePlanEnv(DecisionEnv):
    """Choose how the blocks of a bundle are merged.

    ## Description
    Devices of `ftl.mapping: block` map whole blocks. Pages that are overwritten go to further blocks. When
    these are full, or free blocks are needed, the blocks of a *bundle* (a logical block, or a superblock)
    are merged. A *Merge* copies the valid pages to other blocks and erases whole blocks. An *M-Merge* erases
    only the parts of blocks that contain invalid pages: it copies the valid pages of such a part out before
    the erase, and back afterwards. Smaller parts need fewer copies and more erases; an erase of a part takes
    nearly as long as an erase of a block, wears the part and disturbs its neighbours. See
    `ssdgym.envs.DecisionEnv` for spaces, rewards and episodes shared by all environments.

    ## Action Space
    `Discrete(L + 3)`, where L is log2 of `geometry.sub_blocks_per_block`, the largest of all devices:

    | action | what the device does |
    |---|---|
    | 0 | Merge |
    | 1 + l | M-Merge that erases parts of one size: blocks halved l times, l = 0 to L |
    | L + 2 | M-Merge that erases the cheapest parts of any size in each block (PEN, Algorithm 1) |

    Actions beyond a device's own L + 2 are masked. An M-Merge is also masked after `ftl.gc.mmerge_limit`
    M-Merges of the bundle, and if there is no room for the pages that it copies out. If two actions would
    erase the same parts at the same cost, only the one with the lower number is offered. So action L + 2 is
    masked when its plan is that of an action with one size. A Merge is always offered.

    `info["proposed"][j]` is the action that merge rule `j` of `proposers` would choose, or -1 if that is
    not allowed. An agent that always takes the picks of one rule leaves the device as that rule does.

    ## Observation Space
    For each action: its nominal time, also relative to a Merge, its copies and erases, the erases needed
    only because of disturbance, and its number. For the bundle: the cause of the merge, its shares of valid
    and invalid pages, its M-Merges, the wear of its blocks, and the numbers of free blocks and of other
    bundles in the plane. The observation at the end of an episode is that of the last decision.

    ## Rewards
    The default objective is `{"merge_time": 1.0}`, the nominal time of all commands of merges (scans, copies
    and erases) in units of a page program. Other terms: `wear` counts erased blocks, and parts of blocks as
    fractions; `levelling` is the cost of uneven wear; `spoiled` counts pages that erases of neighbours have
    destroyed (only with `ftl.disturb_care: false`). The default reward is `{"baseline": "mmerge"}`: each page
    that the host writes earns the mean merge time per host page under `mmerge`. This time is also the unit,
    so a return of r means that the agent saved the merge time of r host pages.

    ## Starting State
    The device is full and preconditioned by the workload, with Merges only.

    ## Arguments
    | name | type | default | meaning |
    |---|---|---|---|
    | `device` | see `DecisionEnv` | `"pen-demo"` | a device with `ftl.mapping: block` |
    | `workload` | see `DecisionEnv` | `"block_mixed"` | |
    | `proposers` | list of str | `("mmerge",)` | merge rules whose picks info and observation show |
    """

    options_type = MergePlanOptions


MergePlanVectorEnv = vectorized(MergePlanEnv)
