"""Decisions of several kinds in one episode: what to erase, where pages go, how far idle dies collect."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ssdgym.config.device import DeviceConfig
from ssdgym.engine.decisions import ERASE, IDLE, KINDS
from ssdgym.engine.questions import Question
from ssdgym.envs.decisions import DescribedDecision, EraseDecision
from ssdgym.envs.features import Setting, select
from ssdgym.envs.kinds.idle import IdleDecision
from ssdgym.envs.kinds.streams import StreamDecision
from ssdgym.policy import rules_for
from ssdgym.policy.watching import rules_on


class JointDecision(DescribedDecision):
    """Whatever is due next: what to erase, which write stream a page goes to, how far an idle die collects.

    Args:
        erase: how the first is asked.
        streams: how the second is asked.
        idle: how the third is asked; None: the device's own idle rule decides.
    """

    kind = ERASE

    def __init__(
        self, erase: EraseDecision, streams: StreamDecision, idle: IdleDecision | None = None
    ) -> None:
        self.erase, self.streams, self.idle = erase, streams, idle
        self.proposers = erase.proposers
        self.kinds = (ERASE, *streams.kinds, *(() if idle is None else (IDLE,)))
        self.observe("default", ())

    def observe(self, features: Any, devices: Sequence[DeviceConfig]) -> None:
        """Choose the features to observe.

        Args:
            features: `"default"`, `"all"` or a list of names.
            devices: all that the environment has.

        Raises:
            SsdgymError: it is none of these, or names what is not registered.
        """
        kinds = tuple(KINDS[kind] for kind in self.kinds)
        setting = Setting(tuple(devices), self.erase.most_blocks, kinds)
        idle = () if self.idle is None else self.idle.names
        self._selection = select(features, setting, self.erase.names, self.streams.names, idle)

    def adapt(self, device: DeviceConfig) -> DeviceConfig:
        """Return a device with the streams of the agent, and with the rules that watch for it.

        Raises:
            SsdgymError: pages are not placed in streams there, there are too few of them, or idle dies cannot
                be asked for.
        """
        adapted = device if self.idle is None else self.idle.adapt(device)
        return self.streams.watched(adapted, self._selection.watchers)

    def candidates_on(self, devices: Sequence[DeviceConfig]) -> int:
        """Return the number of candidates: of the kind that has most.

        Args:
            devices: all that the environment has, adapted.

        Raises:
            SsdgymError: a proposer needs another device, or there are too many erase sets to list all.
        """
        parts = (self.erase, self.streams) if self.idle is None else (self.erase, self.streams, self.idle)
        return max(part.candidates_on(devices) for part in parts)

    def question(self, candidates: int) -> Question:
        """Return what the engine is to ask, with addresses of this process, but for the features.

        Args:
            candidates: K.
        """
        erase, streams = self.erase.undescribed(), self.streams.question(candidates)
        describers = np.where(np.arange(len(KINDS)) == ERASE, 0, streams.describers)
        external = erase.external | streams.external
        if self.idle is not None:
            idle = self.idle.question(candidates)
            describers[IDLE] = idle.describers[IDLE]
            external |= idle.external
        return erase._replace(external=external, describers=describers)

    def ask(self, candidates: int, device: DeviceConfig) -> Question:
        """Return what the engine is to ask a batch of devices, and who takes the other decisions.

        Args:
            candidates: K.
            device: the first of the batch; its rules are those of all.
        """
        memories = {rule.name: rule.memory for rule in rules_on(device)[1:]}
        question = self._selection.ask(self.question(candidates), candidates, memories)
        return question._replace(rules=rules_for(device, None))
