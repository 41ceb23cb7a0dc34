"""The environment of merges: the agent chooses how the blocks of a bundle are merged (block family)."""

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

#: Number of candidates that do not depend on the sizes of parts: actions 0, 1 and L + 2 of `MergePlanEnv`.
_OTHERS = 3


class MergeDecision(Decision):
    """The decision how the blocks of a bundle are merged.

    `proposers` are the merge rules whose picks `info["proposed"]` contains.
    """

    kind: ClassVar[int] = MERGE

    def __init__(self, proposers: Sequence[str]) -> None:
        if isinstance(proposers, str) or not isinstance(proposers, Sequence):
            raise SsdgymError(f"proposers must be a list of merge rules, not {shown(proposers)}.")
        self.proposers = [_proposer(name) for name in proposers]
        self.propose("plan", [policy.label for policy in self.proposers])

    def candidates_on(self, devices: Sequence[DeviceConfig]) -> int:
        """Return the number of candidates, L + 3 of `MergePlanEnv`, the largest of all devices."""
        return max(len(device.geometry.partial_sizes) for device in devices) + _OTHERS

    def spec(self) -> ObservationSpec:
        """Return the specification of observations without features, which `ask` adds."""
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
        """Return the `Decision` that has the values of these arguments."""
        return MergeDecision(self.proposers)


class MergePlanEnv(DecisionEnv):
    """Choose how the blocks of a bundle are merged.

    ## Description
    Devices of `ftl.mapping: block` map whole blocks. Pages that are overwritten go to further blocks. When
    the further blocks are full, or free blocks are needed, the blocks of a *bundle* (a logical block, or a
    superblock) are merged. A *Merge* copies the valid pages to other blocks and erases whole blocks. An
    *M-Merge* erases only the parts of blocks that contain invalid pages: it copies the valid pages of such a
    part out before the erase, and back after the erase. M-Merges of smaller parts need fewer copies but more
    erases. An erase of a part takes nearly as long as an erase of a block, wears the part and disturbs its
    neighbours. See `ssdgym.envs.DecisionEnv` for spaces, rewards and episodes shared by all environments.

    ## Action Space
    `Discrete(L + 3)`, where L is log2 of `geometry.sub_blocks_per_block`, the largest of all devices:

    | action | what the device does |
    |---|---|
    | 0 | Merge |
    | 1 + l | M-Merge that erases parts of one size: blocks halved l times, l = 0 to L |
    | L + 2 | M-Merge that erases the cheapest parts of any size in each block (PEN, Algorithm 1) |

    A device with a smaller L uses its own L here; later actions are masked. M-Merges are masked after
    `ftl.gc.mmerge_limit` M-Merges of the bundle, if one of its blocks is worn out, and if there is no room
    for the pages to copy out. If several actions would erase the same parts at the same cost, only the one
    with the lowest number is valid. Action L + 2 is thus masked if its parts have one size. Action 0 is
    always valid.

    `info["proposed"][j]` is the action that merge rule `j` of `proposers` would choose, or -1 if this action
    is not allowed. An agent that always chooses the action of one rule leaves the same device as this rule.

    ## Observation Space
    For each action: its nominal time, its copies and erases, the erases needed only because of disturbance,
    its number, and which proposers choose it. If devices have superblocks, the nominal time is also given
    relative to a Merge. For the bundle: the cause of the merge, its share of invalid pages (with superblocks
    also of valid pages), its M-Merges since its last Merge, and the wear of its blocks and of the plane. If
    the number of free blocks varies between merges, it is observed, and the number of other bundles in the
    plane. The observation at the end of an episode is that of the last decision.

    ## Rewards
    The default objective is `{"merge_time": 1.0}`, the nominal time of all commands of merges (scans, copies
    and erases) in units of a page program. Other terms are `wear`, which counts erased blocks, and parts of
    blocks as fractions; `levelling`, the cost of uneven wear; and `spoiled`, which counts pages that erases
    of neighbours have destroyed (only with `ftl.disturb_care: false`). The default reward is
    `{"baseline": "mmerge"}`. Its price, for each page that the host writes, is the mean merge time per host
    page under `mmerge`. Its unit is the same time. A return of r therefore means that the agent has saved, in
    comparison with `mmerge`, the merge time of r host pages.

    ## Starting State
    The device is full and preconditioned by the workload, with Merges only.

    ## Arguments
    | name | type | default | meaning |
    |---|---|---|---|
    | `device` | see `DecisionEnv` | `"pen-demo"` | a device with `ftl.mapping: block` |
    | `workload` | see `DecisionEnv` | `"block_mixed"` | a workload for devices that map blocks |
    | `proposers` | list of str | `("mmerge",)` | merge rules whose picks info and observation contain |
    """

    options_type = MergePlanOptions


MergePlanVectorEnv = vectorized(MergePlanEnv)
