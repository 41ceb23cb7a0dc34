"""The decision how the blocks of a bundle are merged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from ssdgym.config.device import DeviceConfig
from ssdgym.engine.decisions import KINDS, MERGE
from ssdgym.engine.planning import merge_describer
from ssdgym.engine.questions import Question
from ssdgym.envs.decisions import DescribedDecision
from ssdgym.envs.features import Setting, select
from ssdgym.envs.kinds.without_sets import question_without_sets
from ssdgym.errors import SsdgymError, shown
from ssdgym.policy import MergeRule, Policy, get_policy, rules_for
from ssdgym.simulator.families import family_of

#: Candidates beside M-Merges at each level below the block: Merge, M-Merge at level 0, that of least cost.
_OTHERS = 3


class MergeDecision(DescribedDecision):
    """How the blocks of a bundle are merged; action k takes candidate k.

    Args:
        proposers: merge rules whose picks are told.

    Raises:
        SsdgymError: an argument is not of that kind.
    """

    kind: ClassVar[int] = MERGE

    def __init__(self, proposers: Sequence[str]) -> None:
        if isinstance(proposers, str) or not isinstance(proposers, Sequence):
            raise SsdgymError(f"proposers must be a list of merge rules, not {shown(proposers)}.")
        self.proposers = [_proposer(name) for name in proposers]
        self.names = [policy.label for policy in self.proposers]
        self.observe("default", ())

    def observe(self, features: Any, devices: Sequence[DeviceConfig]) -> None:
        """Choose the features to observe.

        Args:
            features: `"default"`, `"all"` or a list of names.
            devices: all that the environment has.

        Raises:
            SsdgymError: it is none of these, or names what is not registered.
        """
        for device in devices:
            self.adapt(device)
        self._selection = select(features, Setting(tuple(devices), kinds=(KINDS[MERGE],)), self.names)

    def adapt(self, device: DeviceConfig) -> DeviceConfig:
        """Return the device as it is.

        Raises:
            SsdgymError: nothing is merged on it.
        """
        if MERGE not in family_of(device).agent_decisions:
            raise SsdgymError(
                f"device {device.name} of ftl.mapping {device.ftl.mapping} merges no blocks; choose one of "
                "mapping block, such as pen-demo."
            )
        return device

    def candidates_on(self, devices: Sequence[DeviceConfig]) -> int:
        """Return the number of candidates, on the device whose blocks are divided furthest.

        Args:
            devices: all that the environment has.
        """
        return max(len(device.geometry.partial_sizes) for device in devices) + _OTHERS

    def question(self, candidates: int) -> Question:
        """Return what the engine is to ask, with addresses of this process, but for the features.

        Args:
            candidates: K.
        """
        question = question_without_sets(1 << MERGE, merge_describer())
        if not self.proposers:
            return question
        return question._replace(proposers=np.stack([policy.main.record for policy in self.proposers]))

    def ask(self, candidates: int, device: DeviceConfig) -> Question:
        """Return what the engine is to ask a batch of devices, and who takes the other decisions.

        Args:
            candidates: K.
            device: the first of the batch; its rules are those of all.
        """
        question = self._selection.ask(self.question(candidates), candidates)
        return question._replace(rules=rules_for(device, None))


def _proposer(name: str) -> Policy:
    policy = get_policy(name)
    if not isinstance(policy.main, MergeRule) or not policy.main.compiled:
        raise SsdgymError(f"proposers name {policy.label}; give compiled merge rules, such as 'mmerge'.")
    return policy
