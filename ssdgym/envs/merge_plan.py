"""The environment of merges: how blocks of the block family are merged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ssdgym.config.device import DeviceConfig
from ssdgym.engine.block.describing import merge_describer
from ssdgym.engine.decisions import MERGE
from ssdgym.engine.observation import ObservationSpec
from ssdgym.envs.decision_env import DecisionEnv
from ssdgym.envs.decisions import DescribedDecision, Options, spec_without_sets
from ssdgym.envs.vector import vectorized
from ssdgym.errors import SsdgymError, shown
from ssdgym.policy import Policy, get_policy

#: Candidates beside M-Merges at each level below the block: Merge, M-Merge at level 0, that of least cost.
_OTHERS = 3


class MergeDecision(DescribedDecision):
    """How the blocks of a bundle are merged; action k takes candidate k.

    `proposers` are merge rules whose picks are shown.
    """

    kind: ClassVar[int] = MERGE

    def __init__(self, proposers: Sequence[str]) -> None:
        if isinstance(proposers, str) or not isinstance(proposers, Sequence):
            raise SsdgymError(f"proposers must be a list of merge rules, not {shown(proposers)}.")
        self.proposers = [_proposer(name) for name in proposers]
        self.propose("plan", [policy.label for policy in self.proposers])

    def candidates_on(self, devices: Sequence[DeviceConfig]) -> int:
        """Return the number of candidates, on the device whose blocks are divided furthest."""
        return max(len(device.geometry.partial_sizes) for device in devices) + _OTHERS

    def spec(self) -> ObservationSpec:
        """Return the request for observations without features."""
        spec = spec_without_sets(1 << MERGE, merge_describer())
        if not self.proposers:
            return spec
        return spec._replace(proposers=np.stack([policy.main.record for policy in self.proposers]))


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
        """Return the decision that the agent takes."""
        return MergeDecision(self.proposers)


class MergePlanEnv(DecisionEnv):
    """Choose how the blocks of a bundle are merged.

    ## Description
    On devices of `ftl.mapping: block` pages are mapped by the block. Pages that are written again go to
    further blocks; when these are full, or free blocks are wanted, the blocks of a *bundle* (a logical
    block, or a superblock) are merged. A *Merge* copies what is valid elsewhere and erases whole blocks.
    An *M-Merge* erases only the parts of blocks in which pages are invalid: valid pages of such a part
    leave it before, and come back behind. Small parts cost few copies and many erases, each of which
    takes nearly as long as that of a block, wears what it erases and disturbs what is beside. See
    `ssdgym.envs.DecisionEnv` for spaces, rewards and episodes shared by all environments.

    ## Action Space
    `Discrete(L + 3)` with L = log2 of `geometry.sub_blocks_per_block`, that of the device where it is
    largest:

    | action | what is done |
    |---|---|
    | 0 | Merge |
    | 1 + l | M-Merge that erases parts of one size: blocks halved l times, l = 0 to L |
    | L + 2 | M-Merge that erases parts of any size, as costs least for each block (PEN, Algorithm 1) |

    Actions after a device's own L + 2 are masked, and M-Merges that are not allowed: after
    `ftl.gc.mmerge_limit` of them a bundle has a Merge, and where there is no room for pages that leave.
    Of several candidates that would erase the same parts at the same figures only the first is offered, so
    the last one is where parts of one size are best. A Merge always is.

    `info["proposed"][j]` is the candidate that merge rule `j` of `proposers` would take, and -1 where that is
    not allowed. Playing one of them gives the same device as the rule, bit for bit.

    ## Observation Space
    Of every candidate: its nominal time, by itself and in that of a Merge, copies and erases, what is done
    because of disturbance, and which one it is. Of the bundle: why it is merged, how much of it is valid and
    invalid, how many M-Merges it has had, how worn its blocks are, and how many free blocks and other bundles
    its plane has. The observation at the end of an episode is that of the last decision.

    ## Rewards
    The default is `{"merge_time": 1.0}`, the nominal time of all commands of merges (scans, copies and
    erases) in page programs, against `{"baseline": "mmerge"}`. `wear` costs blocks erased, parts of them by
    their share; `levelling` uneven wear; and `spoiled` pages that erases beside them have destroyed, which
    happens with `ftl.disturb_care: false` only. Each page that the host writes earns the flash time that
    merges take for it under `mmerge`, which is also the unit: a return above 0 is so many host pages served
    for free.

    ## Starting State
    Full and preconditioned by its workload, with Merges alone.

    ## Arguments
    | name | type | default | meaning |
    |---|---|---|---|
    | `device` | as everywhere | `"pen-demo"` | one of mapping block |
    | `workload` | as everywhere | `"block_mixed"` | |
    | `proposers` | list of str | `("mmerge",)` | merge rules whose picks are shown and marked |
    """

    options_type = MergePlanOptions


MergePlanVectorEnv = vectorized(MergePlanEnv)
