"""The decision where a page goes: to which write stream."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ssdgym.config.checks import is_whole
from ssdgym.config.device import DeviceConfig, with_ftl
from ssdgym.config.ftl import MOST_STREAMS, SUB_BLOCK_PLACEMENTS, page_ftl
from ssdgym.engine.decisions import KINDS, PLACE, RELOCATE, WHOLE_REQUESTS
from ssdgym.engine.placing import stream_describer
from ssdgym.engine.questions import Question
from ssdgym.envs.decisions import DescribedDecision
from ssdgym.envs.features import Setting, select
from ssdgym.envs.kinds.without_sets import question_without_sets, victims_of, with_victims
from ssdgym.errors import SsdgymError, shown
from ssdgym.policy import Policy, rules_for
from ssdgym.policy.rules import PlacementRule
from ssdgym.policy.watching import placement_of, rules_on, watching
from ssdgym.simulator.families import family_of

#: Whose streams the agent chooses, by the value of the argument `pages`.
PAGES = {"host": (PLACE,), "relocated": (RELOCATE,), "both": (PLACE, RELOCATE)}
#: How often it chooses that of host pages, by the value of the argument `per`.
PER = ("page", "request")
#: The label of the device's own placement among the proposers.
PLACEMENT = "placement"


class StreamDecision(DescribedDecision):
    """Which write stream a page goes to; action k takes stream k.

    Args:
        pages: whose streams are chosen: of pages that the host writes, that are relocated, or of both.
        per: a decision for each `page` of the host, or one for all pages of a `request`.
        streams: how many there are; None: as many as the placement of the device, and the proposers, have.
        victims: policy that chooses what is erased, without a placement; None: somebody else does.
        proposers: placements whose choices are told beside that of the device's own placement.

    Raises:
        SsdgymError: an argument is not of that kind.
    """

    kind = PLACE

    def __init__(
        self,
        pages: str,
        per: str,
        streams: int | None,
        victims: str | Policy | None,
        proposers: Sequence[str],
    ) -> None:
        for name, value, known in (("pages", pages, PAGES), ("per", per, PER)):
            if value not in known:
                raise SsdgymError(f"{name} must be one of {', '.join(known)}, not {shown(value)}.")
        if streams is not None and (not is_whole(streams) or not 1 <= streams <= MOST_STREAMS):
            raise SsdgymError(
                f"streams must be None or a whole number from 1 to {MOST_STREAMS}, not {shown(streams)}."
            )
        if isinstance(proposers, str) or not isinstance(proposers, Sequence):
            raise SsdgymError(f"proposers must be a list of placements, not {shown(proposers)}.")
        self.kinds = PAGES[pages]
        self.external = sum(1 << kind for kind in self.kinds)
        self.external |= WHOLE_REQUESTS if per == "request" else 0
        self.streams = streams
        self.policy = victims_of(victims)
        self.placements = [_placement(name) for name in proposers]
        self.names = [PLACEMENT, *proposers]
        self.observe("default", ())

    def observe(self, features: Any, devices: Sequence[DeviceConfig]) -> None:
        """Choose the features to observe.

        Args:
            features: `"default"`, `"all"` or a list of names.
            devices: all that the environment has.

        Raises:
            SsdgymError: it is none of these, or names what is not registered.
        """
        setting = Setting(tuple(devices), kinds=tuple(KINDS[kind] for kind in self.kinds))
        self._selection = select(features, setting, stream_proposers=self.names)

    def adapt(self, device: DeviceConfig) -> DeviceConfig:
        """Return a device with the streams of the agent, and with the rules that watch for it.

        Raises:
            SsdgymError: pages are not placed in streams there, or there are too few of them.
        """
        return self.watched(device, self._selection.watchers)

    def watched(self, device: DeviceConfig, watchers: Sequence[str]) -> DeviceConfig:
        """Return a device with the streams of the agent, and with rules that watch.

        Args:
            device: to adapt.
            watchers: the rules whose records features read.

        Raises:
            SsdgymError: pages are not placed in streams there, or there are too few of them.
        """
        if PLACE not in family_of(device).agent_decisions:
            raise SsdgymError(
                f"device {device.name} of ftl.mapping {device.ftl.mapping} has no placements; choose one of "
                "mapping page."
            )
        if page_ftl(device.ftl).placement in SUB_BLOCK_PLACEMENTS:
            raise SsdgymError(
                f"device {device.name} does not write pages to streams; set ftl.placement to one that does, "
                "such as sep_gc."
            )
        own = placement_of(device)
        assert own is not None, "this FTL has one"
        needed = {rule.name: rule.streams for rule in (own, *self.placements)}
        streams = max(needed.values()) if self.streams is None else self.streams
        for label, count in needed.items():
            if count > streams:
                raise SsdgymError(
                    f"streams = {streams} are too few for the placement {label}, which has {count}; give at "
                    "least as many."
                )
        # Where relocated pages go by the rule alone, its own streams have all the free blocks they need.
        kept = streams if RELOCATE in self.kinds or streams > own.streams else 1
        changes = {"min_streams": kept, "watchers": [*watchers, *(rule.label for rule in self.placements)]}
        return with_victims(with_ftl(device, changes), self.policy)

    def candidates_on(self, devices: Sequence[DeviceConfig]) -> int:
        """Return the number of streams, on the device with most.

        Args:
            devices: all that the environment has, adapted.
        """
        return max(page_ftl(device.ftl).streams for device in devices)

    def question(self, candidates: int) -> Question:
        """Return what the engine is to ask, with addresses of this process, but for the features.

        Args:
            candidates: K.
        """
        # At the horizon a device that has never asked is described as if it asked where a host page goes.
        return question_without_sets(self.external, stream_describer())

    def ask(self, candidates: int, device: DeviceConfig) -> Question:
        """Return what the engine is to ask a batch of devices, and who takes the other decisions.

        Args:
            candidates: K.
            device: the first of the batch; its rules are those of all.
        """
        memories = {rule.name: rule.memory for rule in rules_on(device)[1:]}
        question = self._selection.ask(self.question(candidates), candidates, memories)
        return question._replace(rules=rules_for(device, self.policy))


def _placement(name: str) -> PlacementRule:
    rule = watching(name, "proposers:")
    if not isinstance(rule, PlacementRule):
        raise SsdgymError(f"proposers name {name}, which places nothing; leave it out.")
    return rule
