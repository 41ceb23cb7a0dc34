"""The decision where parts of pages go: to the region of small writes, or to the main area."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from ssdgym.config.device import DeviceConfig
from ssdgym.config.subpage import subpage_ftl
from ssdgym.engine.decisions import ASK_COLLECTED, ASK_FLUSHES, KINDS, REGION
from ssdgym.engine.questions import Question
from ssdgym.engine.regions import region_describer
from ssdgym.enums import SubpageKind
from ssdgym.envs.decisions import DescribedDecision
from ssdgym.envs.features import Setting, select
from ssdgym.envs.kinds.without_sets import question_without_sets, victims_of, with_victims
from ssdgym.errors import SsdgymError, shown
from ssdgym.policy import rules_for
from ssdgym.simulator.families import family_of

#: The questions by their names in a setting of features, each with its bit.
_QUESTIONS = {"FLUSHES": ASK_FLUSHES, "COLLECTED": ASK_COLLECTED}
#: Which of them are asked, by the value of the argument `asks`.
ASKS = {"flushes": ("FLUSHES",), "collected": ("COLLECTED",), "both": tuple(_QUESTIONS)}
#: The label of what the FTL by itself would do, among the proposers.
REGION_RULE = "region_rule"


class RegionDecision(DescribedDecision):
    """Whether parts of pages go to the main area (action 0) or to the region of small writes (action 1).

    Args:
        asks: the questions: of groups that leave the write buffer in part (`flushes`), of subpages of a
            region block that is `collected`, or `both`.
        victims: policy that chooses what is erased in the main area.

    Raises:
        SsdgymError: an argument is not of that kind.
    """

    kind: ClassVar[int] = REGION

    def __init__(self, asks: str, victims: str) -> None:
        if asks not in ASKS:
            raise SsdgymError(f"asks must be one of {', '.join(ASKS)}, not {shown(asks)}.")
        self.asked = ASKS[asks]
        self.policy = victims_of(victims)
        self.names = [REGION_RULE]
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
            _check(device)
        setting = Setting(tuple(devices), kinds=(KINDS[REGION], *self.asked))
        self._selection = select(features, setting, way_proposers=self.names)

    def adapt(self, device: DeviceConfig) -> DeviceConfig:
        """Return a device as the policy that chooses victims runs it.

        Raises:
            SsdgymError: it has no region of single subpages, or it cannot be erased so.
        """
        _check(device)
        return with_victims(device, self.policy)

    def candidates_on(self, devices: Sequence[DeviceConfig]) -> int:
        """Return the number of answers.

        Args:
            devices: all that the environment has, adapted.
        """
        return 2

    def question(self, candidates: int) -> Question:
        """Return what the engine is to ask, with addresses of this process, but for the features.

        Args:
            candidates: K.
        """
        external = (1 << REGION) | sum(_QUESTIONS[name] for name in self.asked)
        return question_without_sets(external, region_describer())

    def ask(self, candidates: int, device: DeviceConfig) -> Question:
        """Return what the engine is to ask a batch of devices, and who takes the other decisions.

        Args:
            candidates: K.
            device: the first of the batch; its rules are those of all.
        """
        question = self._selection.ask(self.question(candidates), candidates)
        return question._replace(rules=rules_for(device, self.policy))


def _check(device: DeviceConfig) -> None:
    """Raise if nothing is decided about a region on a device."""
    if REGION not in family_of(device).agent_decisions:
        raise SsdgymError(
            f"device {device.name} of ftl.mapping {device.ftl.mapping} has no region of small writes; choose "
            "one of mapping subpage, such as subftl-tiny."
        )
    kind = subpage_ftl(device.ftl).kind
    if kind != SubpageKind.SUBFTL:
        raise SsdgymError(
            f"device {device.name} of ftl.kind {kind} decides nothing about a region of small writes; "
            "set ftl.kind to subftl."
        )
