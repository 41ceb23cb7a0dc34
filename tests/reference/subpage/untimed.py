"""The sub-page reference without time: requests are carried out one after the other, part by part."""

from __future__ import annotations

from collections import deque

from ..loop import Request, Steps
from .at_once import AtOnce
from .device import SubpageDevice
from .jobs import Job
from .rules import Asked


class UntimedLoop(AtOnce):
    def __init__(self, device: SubpageDevice, to_region: Asked | None = None) -> None:
        super().__init__(device, to_region)
        self.jobs: deque[Job] = deque()

    def steps(self, last: bool) -> Steps:
        while True:
            if self.jobs:
                yield from self.carry_out(self.jobs.popleft())
            elif self.horizon_reached() or not self.input:
                return
            else:
                self.step_of_input()

    def submit(self, jobs: list[Job]) -> None:
        self.jobs.extend(jobs)

    def submit_reads(self, request: Request, reads: list[list[int]]) -> None:
        for read in reads:
            self.device.read_page(read)

    def sectors_done(self, request: Request, count: int) -> None:
        """A request takes no time."""
