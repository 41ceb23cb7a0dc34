"""The reference as its users see it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..config import ReferenceConfig
from ..lifetime import EndOfLife
from ..loop import Request, Steps, Waits
from ..untimed import UntimedLoop
from .device import Device
from .events import EventLoop
from .policies import Policy


class Reference:
    """The reference device: `run` it with a policy, or take its `decisions` yourself."""

    def __init__(self, config: ReferenceConfig, policy: Policy | None = None) -> None:
        self.config = config
        self.policy = policy
        self.device = Device(config)
        self.loop = UntimedLoop(self.device) if config.timing == "none" else EventLoop(self.device)
        self._serial = 0
        self.has_ended = False

    @property
    def latencies(self) -> dict[int, int]:
        """Request serial (its place in all input so far) -> ns; reads and writes of `timing: event` only."""
        return self.loop.latencies

    @property
    def waits(self) -> Waits:
        """What the latencies consist of."""
        return self.loop.waits

    @property
    def counters(self) -> dict[str, int]:
        return self.device.counters

    def reset_metrics(self) -> None:
        """Count anew; the device stays as it is."""
        self.device.reset_metrics()
        self.loop.latencies.clear()
        self.loop.waits = Waits()
        self._serial = 0

    def run(
        self,
        requests: Iterable[tuple[int, ...]],
        *,
        horizon: int | None = None,
        last: bool = True,
    ) -> None:
        """Carry out (arrival_ns, lpn, pages, op, flags) requests; with `last=False` more are to come.

        A horizon counts the written pages admitted since the last run that ended; give the same with
        every chunk. Raises IllegalEraseSet where the policy chooses a set that may not be erased.
        """
        self.drive(self.decisions(requests, horizon=horizon, last=last))

    def drive(self, steps: Steps) -> None:
        """Go through the steps, with the victims that the policy chooses."""
        assert self.policy is not None, "a reference without a policy is driven by decisions()"
        choice: Any = None
        while True:
            try:
                plane = steps.send(choice)
            except StopIteration:
                return
            choice = self.policy(self.device, plane)

    def decisions(
        self,
        requests: Iterable[tuple[int, ...]],
        *,
        horizon: int | None = None,
        last: bool = True,
    ) -> Steps:
        """As `run`, but yields each plane that needs a victim and takes a list of (block, mask) by `send`.

        A refused set raises IllegalEraseSet and ends the generator, not the run: `decisions([], ...)`
        comes back to the same decision.
        """
        for arrival_ns, lpn, pages, op, flags, *hint in requests:
            self.loop.input.append(
                Request(
                    serial=self._serial,
                    arrival_ns=arrival_ns,
                    lpn=lpn,
                    pages=pages,
                    op=op,
                    flags=flags,
                    hint=hint[0] if hint else 0,
                )
            )
            self._serial += 1
        self.loop.horizon = horizon
        try:
            yield from self.loop.steps(last)
        except EndOfLife:
            self.device.life.over = True
        self.has_ended = last or self.loop.horizon_reached() or self.device.life.over
        if self.has_ended:
            self.device.audit()
            self.loop.reset_input()

    def export(self) -> dict[str, Any]:
        """All state as plain lists; blocks, planes and pages by their device-wide numbers."""
        device, planes = self.device, range(self.config.planes)
        return {
            **self.export_of_collecting(),
            "physical": list(device.physical),
            "written": list(device.written),
            "valid": [device.valid_in_sub_block(sub) for sub in range(len(device.written))],
            "closed_at": list(device.closed_at),
            "invalidated_at": list(device.invalidated_at),
            "open": [
                [self._open_block(p, stream) for stream in range(self.config.open_blocks)] for p in planes
            ],
            "leaders": [-1 if (leader := device.leader_of(p)) is None else leader for p in planes],
            **self.export_of_life(),
            "hotness": [n for row in device.hotness.rows for n in row] if device.hotness else [],
            "groups": [[groups.group_of(block) for block in groups.standing] for groups in device.groups],
        }

    def export_of_life(self) -> dict[str, Any]:
        """Of cells that wear out; nothing of others."""
        life = self.device.life
        if not life.wears:
            return {}
        return {
            "limits": life.limits,
            "worn": sorted(life.worn),
            "retired": sorted(life.retired),
            "gone": life.gone,
            "capacity_left": life.capacity,
            "first_lost_at": life.first_lost_at,
            "over": life.over,
        }

    def export_of_all(self) -> dict[str, Any]:
        """What devices of every family have."""
        device = self.device
        return {
            "logical_ppn": [page.ppn for page in device.logical],
            "logical_version": [page.version for page in device.logical],
            "accepted": [page.accepted for page in device.logical],
            "erases": list(device.erases),
            "pool": [list(pool) for pool in device.pools],
            "clock": device.clock,
            "now": self.loop.now,
        }

    def export_of_collecting(self) -> dict[str, Any]:
        """What devices that collect in rounds have besides."""
        device = self.device
        return {
            **self.export_of_all(),
            "ages": [list(blocks) for blocks in device.ages],
            "buckets": [[list(bucket) for bucket in buckets] for buckets in device.buckets],
            "free_pages": [device.free_pages(plane) for plane in range(self.config.planes)],
            "rounds": [device.rounds.get(plane, []) for plane in range(self.config.planes)],
            "foreground": list(device.foreground),
            "die_cursor": self.loop.die_cursor,
            "plane_cursors": list(device.plane_cursors),
            "est": list(self.loop.est),
        }

    def _open_block(self, plane: int, stream: int) -> int:
        place = self.device.open.get((plane, stream))
        return -1 if place is None else place.block
