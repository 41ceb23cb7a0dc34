"""The block reference as its users see it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..loop import Steps
from ..page.simulator import Reference
from .config import BlockConfig
from .device import BlockDevice
from .figures import Case, Figures
from .loops import BlockEventLoop, UntimedLoop

#: A rule for MERGE: the figures of all candidates and the case -> the number of a candidate.
Rule = Callable[[list[Figures], Case], int]


def merge(plans: list[Figures], case: Case) -> int:
    return 0


def mmerge(plans: list[Figures], case: Case) -> int:
    best = plans[-1]
    return len(plans) - 1 if best.allowed and best.cost_ns < plans[0].cost_ns else 0


class BlockReference(Reference):
    """As the page family's; `decisions` yields (figures, case) and takes the number of a candidate."""

    def __init__(self, config: BlockConfig, rule: Rule | None = None) -> None:
        self.config = config
        self.rule = rule
        self.device = BlockDevice(config)
        self.loop = UntimedLoop(self.device) if config.timing == "none" else BlockEventLoop(self.device)
        self._serial = 0

    def drive(self, steps: Steps) -> None:
        """Go through the steps, with the candidates that the rule chooses."""
        assert self.rule is not None, "a reference without a rule is driven by decisions()"
        choice: Any = None
        while True:
            try:
                question = steps.send(choice)
            except StopIteration:
                return
            choice = self.rule(*question)

    def export(self) -> dict[str, Any]:
        """All state as plain lists; what an erase or a trim has made meaningless is left out."""
        device, planes = self.device, range(self.config.planes)
        written = [page for page in range(len(device.physical)) if device.is_written(page)]
        return {
            **self.export_of_all(),
            **self.export_of_life(),
            "physical": {page: device.physical[page] for page in written},
            "disturbed": list(device.disturbed),
            "slots": [[-1 if block is None else block for block in slots] for slots in device.slots],
            "since_merge": list(device.since_merge),
            "invalid": [device.invalid_in_bundle(bundle) for bundle in range(self.config.bundles)],
            "waiting": [sorted(device.waiting(plane), key=self._preference) for plane in planes],
            "jobs": [self._job(plane) for plane in planes],
        }

    def _preference(self, bundle: int) -> tuple[int, int]:
        """Of a bundle among the victims, the first of which is chosen."""
        return -self.device.invalid_in_bundle(bundle), self.device.since[bundle]

    def _job(self, plane: int) -> tuple[int, ...]:
        """Bundle, cause, whether it is urgent and planned; step and debt where they count."""
        job = self.device.jobs.get(plane)
        if job is None:
            return ()
        known = job.bundle, job.cause, int(job.is_urgent), int(job.commands is not None)
        return known if job.is_urgent or job.commands is None else (*known, job.step, job.owed)
