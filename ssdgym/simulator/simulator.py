"""One simulated device, from plain Python."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ssdgym.config.checks import is_whole
from ssdgym.config.device import DeviceConfig, FtlConfig
from ssdgym.config.loading import Source
from ssdgym.deprecation import old_arguments, old_attributes
from ssdgym.engine.core import status as codes
from ssdgym.engine.core.family import State
from ssdgym.engine.core.records import MAX_PAIRS
from ssdgym.engine.decisions import ERASE
from ssdgym.engine.entries import advance, apply
from ssdgym.engine.page.view import view_arrays
from ssdgym.errors import SsdgymError
from ssdgym.policy import Policy, device_for, get_policy, new_choice, rules_for
from ssdgym.requests import REQUEST
from ssdgym.simulator.build import Recording, make_state
from ssdgym.simulator.choices import erase_choice
from ssdgym.simulator.failures import failure
from ssdgym.simulator.input import check_requests, chunks_of, pages_not_admitted, start_input
from ssdgym.simulator.metrics import metrics_of, reset_metrics
from ssdgym.simulator.preconditioning import Preconditioning, PreconditioningReport, fill, make_steady
from ssdgym.simulator.snapshot import copy_device, fits, restore_device, same_device
from ssdgym.workloads.base import WorkloadConfig
from ssdgym.workloads.python import PythonSource

_NO_HORIZON = 2**62
_EMPTY = np.zeros(0, REQUEST)


class Simulator:
    """A device, its FTL and the policy that takes its decisions.

    Args:
        device: name in `configs/devices`, path of a YAML file, mapping or `DeviceConfig`.
        ftl: another `FtlConfig`, or a mapping of the fields to change (`{"placement": "single"}`).
        policy: by name (`"greedy"`, `"d_choices(d=5)"`, `"gsm+hotness_groups"`) or as a `Policy`; its
            placement and, where its rule needs another, its erase unit become those of `self.device`
            (`Policy.adapt`). `None` leaves every decision to the caller (`advance`, `apply`).
        seed: of the device's own randomness (random policies, proposals).
        recording: how many latencies are kept exactly.

    Raises:
        SsdgymError: a configuration that does not fit, or a GC threshold a full device cannot reach.
    """

    def __init__(
        self,
        device: Source | DeviceConfig,
        *,
        ftl: FtlConfig | dict[str, Any] | None = None,
        policy: str | Policy | None = "greedy",
        seed: int = 0,
        recording: Recording | None = None,
    ) -> None:
        if not is_whole(seed):
            raise SsdgymError(f"the seed of a Simulator must be a whole number, not {seed!r:.60}.")
        self.policy = None if policy is None else get_policy(policy)
        self.device = device_for(device, ftl, self.policy)
        self.state: State = make_state([self.device], [seed], recording or Recording())
        self._choice = new_choice()
        self._input = _EMPTY

    @property
    def logical_pages(self) -> int:
        """Pages the host sees."""
        return self.device.logical_pages

    @property
    def now_ns(self) -> int:
        """Simulated time."""
        return int(self.state.control["now"][0, 0])

    # -- running

    @old_arguments(settle="warmup")
    def run(
        self,
        workload: Source | WorkloadConfig | PythonSource | Iterator[np.ndarray],
        *,
        host_pages: int | None = None,
        warmup: int = 0,
        seed: int = 0,
        progress: Callable[[int], None] | None = None,
    ) -> dict[str, Any]:
        """Carry out a workload to its end, or until some host pages have been written.

        Args:
            workload: as `load_workload` takes it, or an iterator of REQUEST arrays. An endless one needs
                `host_pages`. Times of arrays count from the making of the device, others from now.
            host_pages: stop after so many host pages.
            warmup: host pages before them that are not measured, so that the policy's own steady state is.
            seed: of the workload's draws.
            progress: called now and then with the host pages written so far by this call.

        Returns:
            The metrics.

        Raises:
            SsdgymError: a request does not fit the device, or the run would never end.
        """
        chunks = chunks_of(workload, self.device, host_pages, seed, start_ns=self.now_ns)
        self.feed(_EMPTY)
        if warmup:
            self.proceed(chunks, warmup)
            self.reset_metrics()
        self.proceed(chunks, host_pages, progress)
        return self.metrics()

    def proceed(
        self,
        chunks: Iterator[np.ndarray],
        host_pages: int | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> None:
        """Go on with the present input and then with chunks of requests.

        Args:
            chunks: arrays of REQUEST.
            host_pages: after which to stop; None: at the end of the chunks.
            progress: called after each chunk with the host pages written so far by this call.

        Raises:
            SsdgymError: they end before `host_pages` have been written.
        """
        self.set_horizon(host_pages)
        before = int(self.state.counters["host_pages_written"][0, 0])
        kind = self._finish_input(last=False)
        while kind != codes.HORIZON:
            chunk = next(chunks, None)
            self.feed(_EMPTY if chunk is None else chunk)
            kind = self._finish_input(last=chunk is None)
            if progress is not None:
                progress(int(self.state.counters["host_pages_written"][0, 0]) - before)
            if chunk is None:
                break
        self.set_horizon(None)
        if host_pages is not None and kind != codes.HORIZON:
            written = int(self.state.counters["host_pages_written"][0, 0]) - before
            raise SsdgymError(
                f"the workload ended after {written} of {host_pages} host pages; give it more requests or "
                "loops, or ask for fewer host pages."
            )

    @old_arguments(ageing="settings")
    def precondition(
        self,
        workload: Source | WorkloadConfig | PythonSource | None = None,
        *,
        seed: int = 0,
        settings: Preconditioning | None = None,
        cache: bool = True,
    ) -> PreconditioningReport:
        """Fill this new device and overwrite it until garbage collection is steady; reset the metrics.

        No simulated time passes. The steady state depends on the device, the workload, the seed and the
        policy of the settings, not on the policy of this simulator.

        Args:
            workload: whose writes overwrite the device; uniform writes by default.
            seed: of the workload's draws.
            settings: under which policy, and when the device counts as steady.
            cache: keep the result on disk, and take it from there.

        Returns:
            What was written, and whether the device has become steady.

        Raises:
            SsdgymError: the device is in use, or the policy of the settings would run another device.
        """
        return make_steady(self, workload, seed=seed, settings=settings, cache=cache)

    __getattr__ = old_attributes("Simulator", {"age": "precondition"})

    def fill(self, share: float = 1.0) -> None:
        """Write the logical pages of this new device once, in order, in no time; reset the metrics.

        Args:
            share: of the logical pages, the first ones.

        Raises:
            SsdgymError: the device is in use.
        """
        fill(self, share)

    def _finish_input(self, *, last: bool) -> int:
        """Advance to the end of the present input; a policy that is not compiled decides in Python."""
        while True:
            kind = self.advance(last=last)
            if kind != codes.ERASE_DECISION:
                return kind
            if self.policy is None:
                raise SsdgymError(
                    "a simulator without a policy stops at decisions; use advance() and apply()."
                )
            self._decide_in_python(self.policy)

    def _decide_in_python(self, policy: Policy) -> None:
        plane = int(self.state.control["decision_plane"][0, 0])
        choice = self._choice.view(np.recarray)
        rule = policy.victim
        pairs = rule.function(view_arrays(self.state, 0, rule.memory), plane, rule.values, choice)
        if not isinstance(pairs, (int, np.integer)) or not 1 <= pairs <= MAX_PAIRS:
            self._fail(codes.NO_VICTIM)
        self._choice["mask"][int(pairs) :] = 0
        self._apply(self._choice)

    def set_horizon(self, host_pages: int | None) -> None:
        """Stop admission once `host_pages` more host pages have been admitted (None: never)."""
        control = self.state.control[0, 0]
        if host_pages is not None and (not is_whole(host_pages) or not 1 <= host_pages < _NO_HORIZON):
            raise SsdgymError(
                f"host_pages must be a whole number from 1 to 2**62 - 1, not {host_pages!r:.60}."
            )
        control["horizon"] = _NO_HORIZON if host_pages is None else control["admitted_pages"] + host_pages

    def feed(self, requests: np.ndarray) -> None:
        """Make requests (m,) REQUEST the device's input; what is left of the one before is forgotten."""
        check_requests(requests, self.device)
        start_input(self.state, 0, pages_not_admitted(self.state, 0, self._input))
        self._input = np.ascontiguousarray(requests)

    def advance(self, *, last: bool = True) -> int:
        """Run to the end of the input or horizon, or to a decision the caller takes.

        Returns `INPUT_ENDED`, `HORIZON` or `ERASE_DECISION` of `ssdgym.engine.core.status`. With
        `last` false more input is to follow, and the device stops the moment the input ends.
        """
        inside = self.policy is not None and self.policy.victim.compiled
        external = 0 if inside else 1 << ERASE
        kind = advance(self.state, 0, self._input, last, self._rules, external, self._choice)
        if kind < 0:
            self._fail(kind)
        return int(kind)

    def apply(self, block: int | list[tuple[int, int]], mask: int | None = None) -> None:
        """Take the ERASE decision that is due.

        Args:
            block: the block to erase; or what to erase together, a list of pairs (block, bit mask of its
                sub-blocks).
            mask: of a single block, the sub-blocks of it to erase (default all).

        Raises:
            SsdgymError: the choice is not legal, or a list comes with a mask; the device is as it was.
        """
        if isinstance(block, list) and mask is not None:
            raise SsdgymError(
                "apply takes a mask with a single block only; give each pair of the list its own."
            )
        choice, status = erase_choice(block, mask, self.device.geometry.sub_blocks_per_block)
        if status < 0:
            self._fail(status)
        self._apply(choice)

    @property
    def _rules(self) -> np.ndarray:
        return rules_for(self.device, self.policy)

    def _apply(self, choice: np.ndarray) -> None:
        status = apply(self.state, 0, self._rules, choice, 0)
        if status < 0:
            self._fail(status)

    def _fail(self, status: int) -> None:
        raise failure(status, self.device, "none" if self.policy is None else self.policy.label)

    # -- metrics and copies

    def metrics(self) -> dict[str, Any]:
        """Return what the device has done since the metrics were reset."""
        return metrics_of(self.state, 0, self.device)

    def reset_metrics(self) -> None:
        """Start counting again; the device itself, its wear included, stays as it is."""
        reset_metrics(self.state, 0)

    def snapshot(self) -> tuple[State, np.ndarray]:
        """Return an independent copy of the device and of the input it is at."""
        return copy_device(self.state, 0), self._input

    def restore(self, snapshot: tuple[State, np.ndarray]) -> None:
        """Make this device the saved one, in place."""
        saved, requests = snapshot
        if not fits(saved, self.state):
            raise SsdgymError(
                f"device {self.device.name}: the snapshot is of another device, or of one that records "
                "another number of latencies; restore it to a Simulator made as that one was."
            )
        restore_device(self.state, 0, saved)
        self._input = requests

    def same_as(self, other: Simulator) -> bool:
        """Return whether two devices are equal in every value of their state."""
        return same_device(self.state, 0, other.state, 0)
