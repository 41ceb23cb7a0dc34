"""The decision how far an idle die goes with background garbage collection."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from ssdgym.config.device import DeviceConfig, with_ftl
from ssdgym.config.ftl import page_ftl
from ssdgym.engine.decisions import IDLE, IDLE_STEPS, KINDS
from ssdgym.engine.idling import idle_describer
from ssdgym.engine.questions import Question
from ssdgym.envs.decisions import DescribedDecision
from ssdgym.envs.features import Setting, select
from ssdgym.envs.kinds.without_sets import question_without_sets, victims_of, with_victims
from ssdgym.errors import SsdgymError
from ssdgym.policy import rules_for
from ssdgym.policy.policy import idle_of
from ssdgym.simulator.families import family_of

#: The label of the device's own idle rule, which proposes.
IDLE_RULE = "idle_rule"


class IdleDecision(DescribedDecision):
    """How many commands of background collection an idle die takes; action k takes `IDLE_STEPS[k]`.

    Args:
        victims: policy that chooses what is erased, without a placement; None: somebody else does.

    Raises:
        SsdgymError: it is none.
    """

    kind: ClassVar[int] = IDLE

    def __init__(self, victims: str | None) -> None:
        self.policy = victims_of(victims)
        self.names = [IDLE_RULE]
        self.observe("default", ())

    def observe(self, features: Any, devices: Sequence[DeviceConfig]) -> None:
        """Choose the features to observe.

        Args:
            features: `"default"`, `"all"` or a list of names.
            devices: all that the environment has.

        Raises:
            SsdgymError: it is none of these, or names what is not registered.
        """
        setting = Setting(tuple(devices), kinds=(KINDS[IDLE],))
        self._selection = select(features, setting, answer_proposers=self.names)

    def adapt(self, device: DeviceConfig) -> DeviceConfig:
        """Return a device with an idle rule, which proposes, and with the policy that chooses victims.

        Raises:
            SsdgymError: no time passes there, or its idle rule knows the future.
        """
        if IDLE not in family_of(device).agent_decisions or device.ftl.timing == "none":
            raise SsdgymError(
                f"device {device.name} has no idle time; set ftl.mapping to page and ftl.timing to event."
            )
        rule, share = idle_of(device), page_ftl(device.ftl).gc.background_fraction
        if rule is not None and rule.clairvoyant:
            raise SsdgymError(
                f"device {device.name}: idle rule {rule.name} knows the future, which environments do not "
                "tell; choose another one."
            )
        own = "blocking" if share is None else f"threshold(share={share})"
        return with_victims(with_ftl(device, {"gc.idle": own if rule is None else rule.label}), self.policy)

    def candidates_on(self, devices: Sequence[DeviceConfig]) -> int:
        """Return the number of answers.

        Args:
            devices: all that the environment has, adapted.
        """
        return len(IDLE_STEPS)

    def question(self, candidates: int) -> Question:
        """Return what the engine is to ask, with addresses of this process, but for the features.

        Args:
            candidates: K.
        """
        return question_without_sets(1 << IDLE, idle_describer())

    def ask(self, candidates: int, device: DeviceConfig) -> Question:
        """Return what the engine is to ask a batch of devices, and who takes the other decisions.

        Args:
            candidates: K.
            device: the first of the batch; its rules are those of all.
        """
        question = self._selection.ask(self.question(candidates), candidates)
        return question._replace(rules=rules_for(device, self.policy))
