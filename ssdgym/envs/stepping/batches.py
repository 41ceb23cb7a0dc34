"""Devices of several FTL families, or placed by several rules, stepped as if they were one batch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ssdgym.config.device import DeviceConfig
from ssdgym.engine.decisions import PLACE
from ssdgym.engine.questions import Shared, Tally
from ssdgym.envs.decisions import Decision
from ssdgym.envs.stepping.batch import Batch
from ssdgym.policy import rules_for
from ssdgym.policy.policy import idle_of
from ssdgym.simulator import Recording
from ssdgym.simulator.families import family_of_state

#: Requests of a device's input held at a time.
CHUNK = 2048


class Batches:
    """Devices in their order, each in the batch of its family and placement.

    Args:
        devices: their configurations.
        decision: the one that is taken outside.
        candidates: how many it has at most.
        recording: how many latencies each device keeps.
        threads: that steps are shared out to.

    Attributes:
        batches: one for each family, and for each rule that places pages.
        view: the observations of all devices, arrays with the device as first axis; written again by every
            step.
        status: int64 (n,), why each device has stopped: a decision, `HORIZON`, `INPUT_ENDED`, or an error.
        actions: int64 (n,), the candidate that a step takes of each device; -1 leaves its decision due.
    """

    def __init__(
        self,
        devices: Sequence[DeviceConfig],
        decision: Decision,
        candidates: int,
        recording: Recording,
        threads: int,
    ) -> None:
        kinds = [_kind_of(device) for device in devices]
        groups = [np.flatnonzero([k == kind for k in kinds]) for kind in dict.fromkeys(kinds)]
        self.batches = [Batch([devices[int(i)] for i in own], own, decision, recording) for own in groups]
        self._places = {int(i): (batch, k) for batch in self.batches for k, i in enumerate(batch.numbers)}
        self._threads = threads
        self.view = decision.buffers(len(devices), candidates)
        self._shared = Shared.allocate(self.view, CHUNK)
        self.status, self.actions = self._shared.status, self._shared.actions

    def connect(self, tally: Tally) -> None:
        """Store the devices for compiled code, which is elsewhere in every process.

        Args:
            tally: what their rewards are made of.
        """
        for batch in self.batches:
            threads = min(self._threads, len(batch.numbers))
            batch.connect(self.view, self._shared, tally, threads)

    def first_invalid(self, which: np.ndarray) -> int:
        """Return the first of some devices, int64 (m,), whose action is no valid candidate, or -1."""
        return int(self.batches[0].first_invalid(which))

    def place(self, i: int) -> tuple[Batch, int]:
        """Return the batch that device `i` lies in, and its number there."""
        return self._places[i]

    def parts(self, which: np.ndarray) -> list[tuple[Batch, np.ndarray]]:
        """Divide some devices by batch; int64 (m,)."""
        if len(self.batches) == 1:
            return [(self.batches[0], which)]
        parts = [(batch, which[np.isin(which, batch.numbers)]) for batch in self.batches]
        return [(batch, own) for batch, own in parts if len(own)]

    def counter(self, name: str) -> np.ndarray:
        """Return a counter of every device since its metrics were reset, int64 (n,)."""
        return self._of_all([family_of_state(b.state).counter(b.state, name) for b in self.batches])

    def counter_addresses(self, name: str) -> np.ndarray:
        """Return where a counter of every device is in memory, int64 (n,)."""
        counters = [family_of_state(b.state).counter(b.state, name) for b in self.batches]
        return self._of_all([one.ctypes.data + one.strides[0] * np.arange(len(one)) for one in counters])

    def latencies(self) -> np.ndarray:
        """Return the latencies of reads and writes by log-spaced bins, int64 (n, 2, bins)."""
        return self._of_all([batch.state.histogram for batch in self.batches])

    def _of_all(self, parts: Sequence[np.ndarray]) -> np.ndarray:
        """Put together what batches have for each of their devices."""
        if len(parts) == 1:
            return parts[0]
        found = np.zeros((len(self.status), *parts[0].shape[1:]), np.int64)
        for batch, part in zip(self.batches, parts, strict=True):
            found[batch.numbers] = part
        return found

    def observe(self) -> None:
        """Write the view again. Observing is pure, so this changes nothing."""
        for batch in self.batches:
            batch.observe(batch.numbers)


def _kind_of(device: DeviceConfig) -> tuple[str, str, str]:
    """Return the FTL family of a device, its placement if that is a rule, and its idle rule if it has one.

    Equal ones share a batch.
    """
    by_rule, idle = rules_for(device, None)[PLACE]["choose"] != 0, idle_of(device)
    placement = getattr(device.ftl, "placement", "") if by_rule else ""
    return device.ftl.mapping, placement, "" if idle is None else idle.label
