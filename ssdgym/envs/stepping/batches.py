"""Devices of several FTL families, or placed by several rules, as if they were one batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ssdgym.config.device import DeviceConfig
from ssdgym.engine.decisions import PLACE
from ssdgym.envs.decisions import Decision
from ssdgym.envs.stepping.batch import Batch
from ssdgym.policy import rules_for
from ssdgym.policy.policy import idle_of
from ssdgym.simulator import Recording


class Batches:
    """Devices in their order, each in the batch of its family and placement.

    Args:
        devices: their configurations.
        decision: the one that is taken outside.
        candidates: how many it has at most.
        recording: how many latencies each device keeps.

    Attributes:
        batches: one for each family, and for each rule that places pages.
        view: the observations of all devices, arrays with the device as first axis; written again by every
            step.
        status: int64 (n,), why each device has stopped.
    """

    def __init__(
        self, devices: Sequence[DeviceConfig], decision: Decision, candidates: int, recording: Recording
    ) -> None:
        kinds = [_kind_of(device) for device in devices]
        #: Of each batch, the numbers of its devices.
        self._numbers = [np.flatnonzero([k == kind for k in kinds]) for kind in dict.fromkeys(kinds)]
        self.batches = [
            Batch([devices[int(i)] for i in own], decision, candidates, recording) for own in self._numbers
        ]
        self._places = {
            int(i): (batch, k)
            for batch, own in zip(self.batches, self._numbers, strict=True)
            for k, i in enumerate(own)
        }
        self._alone = self.batches[0] if len(self.batches) == 1 else None
        self.view, self.status = self.batches[0].view, self.batches[0].status
        if self._alone is None:
            count = len(devices)
            self.view = type(self.view)(*(np.zeros((count, *a.shape[1:]), a.dtype) for a in self.view))
            self.status = np.zeros(count, np.int64)

    def place(self, i: int) -> tuple[Batch, int]:
        """Return the batch that device `i` lies in, and its number there."""
        return self._places[i]

    def parts(
        self, which: np.ndarray, actions: np.ndarray
    ) -> Iterator[tuple[Batch, np.ndarray, np.ndarray, np.ndarray]]:
        """Divide some devices by family; go on to the next part when one has been stepped.

        Args:
            which: int64 (m,), numbers of devices.
            actions: int64 (n,), of every device.

        Yields:
            A batch; the numbers of its devices; and of the batch, which devices are meant, and the actions
            of all.
        """
        if self._alone is not None:
            yield self._alone, self._numbers[0], which, actions
            return
        for batch, own in zip(self.batches, self._numbers, strict=True):
            yield batch, own, np.flatnonzero(np.isin(own, which)), actions[own]
            self.status[own] = batch.status
        self._collect_views()

    def _collect_views(self) -> None:
        for batch, own in zip(self.batches, self._numbers, strict=True):
            for whole, part in zip(self.view, batch.view, strict=True):
                whole[own] = part

    def first_invalid(self, actions: np.ndarray) -> int:
        """Return the first device whose action (of int64 (n,)) is no valid candidate, or -1."""
        if self._alone is not None:
            return self._alone.first_invalid(actions)
        invalid = [
            int(own[k])
            for batch, own in zip(self.batches, self._numbers, strict=True)
            if (k := batch.first_invalid(actions[own])) >= 0
        ]
        return min(invalid, default=-1)

    def counter(self, name: str) -> np.ndarray:
        """Return a counter of every device since its metrics were reset, int64 (n,)."""
        if self._alone is not None:
            return self._alone.counter(name)
        values = np.zeros(len(self.status), np.int64)
        for batch, own in zip(self.batches, self._numbers, strict=True):
            values[own] = batch.counter(name)
        return values

    def kind_asked(self, i: int) -> int:
        """Return the number of the kind of decision that device `i` waits for, or did last."""
        batch, k = self._places[i]
        return batch.kind_asked(k)

    def latencies(self) -> np.ndarray:
        """Return the latencies of reads and writes by log-spaced bins, int64 (n, 2, bins)."""
        if self._alone is not None:
            return self._alone.latencies()
        found = np.zeros((len(self.status), *self.batches[0].latencies().shape[1:]), np.int64)
        for batch, own in zip(self.batches, self._numbers, strict=True):
            found[own] = batch.latencies()
        return found

    def host_pages(self) -> np.ndarray:
        """Return the host pages programmed in every device since its last decision, int64 (n,)."""
        values = np.zeros(len(self.status), np.int64)
        for batch, own in zip(self.batches, self._numbers, strict=True):
            values[own] = batch.host_pages()
        return values

    def observe(self) -> None:
        """Write the view again. Observing is pure, so this changes nothing."""
        for batch in self.batches:
            batch.observe()
        if self._alone is None:
            self._collect_views()


def _kind_of(device: DeviceConfig) -> tuple[str, str, str]:
    """Return the FTL family of a device, its placement if that is a rule, and its idle rule if it has one.

    Equal ones share a batch.
    """
    by_rule, idle = rules_for(device, None)[PLACE]["choose"] != 0, idle_of(device)
    placement = getattr(device.ftl, "placement", "") if by_rule else ""
    return device.ftl.mapping, placement, "" if idle is None else idle.label
