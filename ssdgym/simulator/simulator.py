"""Run one simulated device from plain Python."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ssdgym.config.fields import seed_number
from ssdgym.config.loading import Source
from ssdgym.engine.decisions import MERGE
from ssdgym.engine.view import view_arrays
from ssdgym.errors import SsdgymError
from ssdgym.policy.on_device import ROLES
from ssdgym.simulator.build import Snapshot, check_snapshot, copy_device, restore_device
from ssdgym.simulator.deciding import DecidedDevice, erase_choice
from ssdgym.simulator.families import family_of
from ssdgym.simulator.input import check_horizon, chunks_of, portions_of
from ssdgym.simulator.preconditioning import PreconditioningReport, fill, make_steady
from ssdgym.simulator.untimed import pass_days
from ssdgym.threads import exclusive
from ssdgym.workloads.base import NO_REQUESTS, WorkloadConfig
from ssdgym.workloads.python import PythonSource


class Simulator(DecidedDevice):
    """A device, its FTL and the policy that takes its decisions; one thread can use it at a time.

    Args:
        device: name in `configs/devices`, path of a YAML file, mapping or `DeviceConfig`.
        ftl: another `FtlConfig`, or a mapping of the fields to change (`{"placement": "single"}`).
        policy: a name (`"greedy"`, `"d_choices(d=5)"`, `"gsm+hotness_groups"`) or a `Policy`. The attribute
            `device` has the policy's placement and, if the victim rule needs another erase unit, that unit
            (`Policy.adapt`). `"default"` is `greedy`, and `merge` on devices of mapping block. If None, the
            caller chooses victims (on devices of mapping block: merges) by `advance` and `apply`.
        seed: seed of the random draws of the device (random policies, proposals).
        recording: how many latencies are stored one by one; None: the defaults of `Recording`.

    Raises:
        SsdgymError: the configuration does not fit, or a full device cannot reach its GC threshold.
    """

    @property
    def logical_pages(self) -> int:
        """Number of logical pages."""
        return self.device.logical_pages

    @property
    def now_ns(self) -> int:
        """Simulated time, ns."""
        return int(self.arrays.control["now"][0, 0])

    # -- running

    @exclusive
    def run(
        self,
        workload: Source | WorkloadConfig | PythonSource | Iterator[np.ndarray],
        *,
        host_pages: int | None = None,
        warmup: int = 0,
        days: int = 0,
        seed: int = 0,
        progress: Callable[[int], None] | None = None,
        progress_every: int | None = None,
    ) -> dict[str, Any]:
        """Carry out a workload to its end, or until some host pages have been written.

        If cells wear out, the life of the device may end earlier; a device whose life has ended does nothing.

        Args:
            workload: an input of `load_workload`, or an iterator of REQUEST arrays. An endless workload needs
                `host_pages`. Arrival times in arrays count from time 0 of the device; arrival times of other
                workloads count from the simulated time at the call.
            host_pages: number of measured host pages, after which the run stops; None: at the workload's end.
            warmup: host pages that are written before the measurement, to reach the policy's steady state.
            days: days that pass after the warm-up, as in `pass_days`; the metrics include their relocations.
            seed: seed of the random draws of the workload.
            progress: function called regularly with the number of host pages measured so far.
            progress_every: host pages of the workload between calls of `progress`; None: at irregular
                intervals. It does not change what the device does.

        Returns:
            The metrics (`metrics_of`) since the warm-up; without a warm-up, since the last reset.

        Raises:
            SsdgymError: a request does not fit the device, or the run would never end.
        """
        number = seed_number(seed, "the seed of a workload")
        chunks = chunks_of(workload, self.device, host_pages, number, start_ns=self.now_ns)
        self.feed(NO_REQUESTS)
        check_horizon(host_pages)
        check_horizon(warmup or None, "warmup")
        check_horizon(progress_every, "progress_every")
        chunks = self._foreseen(chunks, None if host_pages is None else warmup + host_pages)
        if progress_every is not None:
            chunks = portions_of(chunks, progress_every)
        if warmup:
            self.proceed(chunks, warmup)
            self.reset_metrics()
        if days:
            self.pass_days(days)
        self.proceed(chunks, host_pages, progress)
        self._future = None
        return self.metrics()

    @exclusive
    def precondition(
        self,
        workload: Source | WorkloadConfig | PythonSource | None = None,
        *,
        seed: int = 0,
        share: float = 1.0,
        cache: bool = True,
    ) -> PreconditioningReport:
        """Fill this new device and overwrite it until garbage collection is steady; reset the metrics.

        No simulated time passes. The FTL family's default policy decides, but with this device's placement.

        Args:
            workload: the workload whose writes overwrite the device; None: uniform writes.
            seed: seed of the random draws of the workload.
            share: share of the logical pages that are filled, beginning with page 0.
            cache: whether to load the preconditioned device from disk, or to store it if it is not there.

        Returns:
            How many pages were written after the fill, and whether the device has become steady.

        Raises:
            SsdgymError: the device is in use.
        """
        return make_steady(self, workload, seed=seed, share=share, cache=cache)

    @exclusive
    def fill(self, share: float = 1.0) -> None:
        """Write the logical pages of this new device once, in order, in zero time; reset the metrics.

        Args:
            share: share of the logical pages that are written, beginning with page 0.

        Raises:
            SsdgymError: the device is in use.
        """
        fill(self, share)

    @exclusive
    def pass_days(self, days: int) -> None:
        """Let the data on the device grow older by whole days, in which the host does nothing.

        At the end of each day, a GC round under way is finished, and data that is too old for its place is
        moved. No simulated time passes. Afterwards the input goes on. If a horizon (`set_horizon`) has cut a
        request, the rest of the request is dropped.

        Args:
            days: 1 to 36,500.

        Raises:
            SsdgymError: data does not age in the device's family, requests or writes are under way, or the
                simulator has no policy.
        """
        control = self.arrays.control[0, 0]
        rest = self._input[int(control["cursor"]) + bool(control["offset"]) :]
        pass_days(self, days)
        self.feed(rest)

    @exclusive
    def advance(self, *, last: bool = True) -> int:
        """Run to the end of the input, to the horizon, or to a decision that the caller takes.

        Returns `INPUT_ENDED`, `HORIZON`, `END_OF_LIFE`, `ERASE_DECISION` or, on devices of mapping
        block, `MERGE_DECISION` of `ssdgym.engine.core.status`. Set `last` to False if more input
        will follow (`feed`); the device then stops as soon as all requests are admitted.
        """
        return self._advance(last)

    @exclusive
    def apply(self, block: int | list[tuple[int, int]], mask: int | None = None) -> None:
        """Take the decision that is due: an erase set or, on devices of mapping block, a merge.

        Args:
            block: the block to erase, or a list of pairs (block, bit mask of its sub-blocks) to erase
                together. On devices of mapping block, the index of a merge candidate in `state.figure[0]`.
            mask: bit mask of the sub-blocks to erase, if `block` is a number; None: all sub-blocks.

        Raises:
            SsdgymError: the choice is not legal, or a list comes with a mask. The device has not changed.
        """
        if family_of(self.device).policy_decision == MERGE:
            self._merge(block, mask)
            return
        policy = "none" if self.policy is None else self.policy.label
        self._apply(erase_choice(block, mask, self.device, policy))

    # -- copies

    @exclusive
    def snapshot(self) -> Snapshot:
        """Return an independent copy of the device and of its present input.

        Raises:
            SsdgymError: a policy has failed in the middle of a step.
        """
        self._refuse_broken()
        return Snapshot(copy_device(self.arrays, 0), self._input.copy())

    @exclusive
    def restore(self, snapshot: Snapshot) -> None:
        """Restore the saved state of this device, in place.

        Raises:
            SsdgymError: the snapshot has been changed since it was made, or is of another device.
        """
        check_snapshot(snapshot, self.arrays, self.device.name)
        restore_device(self.arrays, 0, snapshot.state)
        self._input = snapshot.requests.copy()
        self._broken = False
        self._future = None

    @exclusive
    def rule_memory(self, kind: str = "placement") -> np.ndarray:
        """Return the record that a rule of the policy stores per device; the caller may change it.

        Args:
            kind: kind of the rule: `victim`, `placement`, `idle`, `allocation` or `levelling`.

        Returns:
            The record that the rule declares as its `memory`, shape (1,), shared with the device.

        Raises:
            SsdgymError: the policy has no such rule, or the rule declares no `memory`.
        """
        roles: dict[str, str] = {kind: role for role, kinds in ROLES.items() for kind in kinds}
        parts = () if self.policy is None else self.policy.parts
        rule = next((part for part in parts if part.kind == kind), None)
        if rule is None or kind not in roles or rule.memory.device is None:
            label = "none" if self.policy is None else self.policy.label
            raise SsdgymError(
                f"rule_memory: policy {label} has no rule {kind!r} that declares a memory; name another kind "
                f"({', '.join(roles)}) or run a policy that has one, such as greedy+td_lifetime."
            )
        return view_arrays(self.arrays, 0, rule.memory, roles[kind]).memory
