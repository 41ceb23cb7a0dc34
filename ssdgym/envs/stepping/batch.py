"""Devices of one FTL family, stepped together in one compiled call.

No other module of the environments calls the engine.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ssdgym.config.device import DeviceConfig
from ssdgym.engine.core.family import State
from ssdgym.engine.core.status import HORIZON, INPUT_ENDED, PERIOD_DUE
from ssdgym.engine.entries import first_invalid_action, loop_addresses, observe_batch, step_batch
from ssdgym.engine.questions import Input
from ssdgym.envs.decisions import Decision
from ssdgym.errors import SsdgymError
from ssdgym.policy.failures import rule_error
from ssdgym.policy.policy import idle_of
from ssdgym.policy.rules import PlacementRule, Rule
from ssdgym.policy.watching import placement_of, rules_on
from ssdgym.requests import REQUEST
from ssdgym.simulator import Recording
from ssdgym.simulator.build import make_state
from ssdgym.simulator.deciding.failures import failure
from ssdgym.simulator.deciding.periods import begin_period
from ssdgym.simulator.families import PageMap, family_of_state
from ssdgym.simulator.input import start_input
from ssdgym.simulator.metrics import metrics_of, reset_metrics
from ssdgym.simulator.snapshot import restore_device

#: Requests of a device's input held at a time.
CHUNK = 2048


class Batch:
    """Devices whose decisions of a kind are taken outside; those of one family share a state.

    Args:
        devices: their configurations.
        decision: the one that is taken outside.
        candidates: how many it has at most.
        recording: how many latencies each device keeps.

    Attributes:
        state: the devices.
        view: the observations, the device as first axis; written again by every call.
        status: int64 (n,), why each device stopped: a decision, `HORIZON`, `INPUT_ENDED`, or an error.
    """

    def __init__(
        self, devices: Sequence[DeviceConfig], decision: Decision, candidates: int, recording: Recording
    ) -> None:
        for device in devices:
            placement = placement_of(device)
            if placement is not None and placement.foresight:
                raise SsdgymError(
                    f"device {device.name}: placement {placement.name} knows the future, which environments "
                    "do not tell; choose another one."
                )
        count = len(devices)
        self.devices = devices
        self.decision = decision
        self.state: State = make_state(devices, [0] * count, recording)
        self.view = decision.buffers(count, candidates)
        self.status = np.zeros(count, np.int64)
        self._requests = np.zeros((count, CHUNK), REQUEST)
        self._counts = np.zeros(count, np.int64)
        self._all = np.arange(count)
        self._broken: set[int] = set()
        self._locate()

    def _locate(self) -> None:
        """Look up the machine code, which is elsewhere in every process."""
        # All devices of a batch have the same rules.
        candidates = self.view.mask.shape[1]
        self._question = self.decision.ask(candidates, self.devices[0])
        self._input = Input(self._requests, self._counts, loop_addresses(self.state))

    def __getstate__(self) -> dict[str, Any]:
        """Leave the addresses of machine code behind."""
        return {name: value for name, value in vars(self).items() if name not in ("_question", "_input")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the attributes in this process."""
        vars(self).update(state)
        self._locate()

    # -- all devices

    def step(self, which: np.ndarray, actions: np.ndarray) -> int:
        """Carry out decisions and run to the next ones.

        Args:
            which: int64 (m,), devices.
            actions: int64 (n,), chosen candidate of every device; -1 leaves its decision due.

        Returns:
            How many devices of `which` do not wait for a decision now.
        """
        if self._broken and not self._broken.isdisjoint(which.tolist()):
            raise SsdgymError("a rule has failed in the middle of a step; reset the environment.")
        others = self._step(which, actions)
        while others and len(due := which[self.status[which] == PERIOD_DUE]):
            others += self._begin_periods(due) - len(due)
        self._check(which)
        return others

    def _step(self, which: np.ndarray, actions: np.ndarray) -> int:
        try:
            return step_batch(self.state, which, actions, self._input, self._question, self.view, self.status)
        except Exception as error:  # whatever a rule of a user raises
            self._broken.update(which.tolist())
            raise self.decision.explain(error) or rule_error(error, self._rules()) from error

    def _begin_periods(self, due: np.ndarray) -> int:
        """Let the placement begin its period on some devices, and go on; return as `step`."""
        try:
            for i in due:
                placement = rules_on(self.devices[i])[0]
                assert isinstance(placement, PlacementRule), "the first is"
                begin_period(self.state, int(i), placement)
        except SsdgymError:
            self._broken.update(due.tolist())
            raise
        return self._step(due, np.full(len(self.devices), -1))

    def _check(self, which: np.ndarray) -> None:
        """Raise if a feature has left its bounds; the devices cannot go on from the middle of a step."""
        try:
            self.decision.check(self._question)
        except SsdgymError:
            self._broken.update(which.tolist())
            raise

    def observe(self, which: np.ndarray | None = None) -> None:
        """Write the view again. Observing is pure, so this changes nothing.

        Args:
            which: int64 (m,), devices; all by default.
        """
        devices = self._all if which is None else which
        try:
            observe_batch(self.state, devices, self._question, self.view)
        except Exception as error:  # whatever a rule of a user raises
            raise self.decision.explain(error) or rule_error(error, self._rules()) from error
        self._check(devices)

    def _rules(self) -> list[Rule]:
        """Return the rules that run inside: what proposes, decides, places, idles or watches."""
        inside = [] if self.decision.policy is None else [self.decision.policy.victim]
        idle = idle_of(self.devices[0])
        proposers = [policy.main for policy in self.decision.proposers]
        return [*proposers, *inside, *rules_on(self.devices[0]), *([] if idle is None else [idle])]

    def first_invalid(self, actions: np.ndarray) -> int:
        """Return the first device whose action (of int64 (n,)) is no valid candidate, or -1."""
        return first_invalid_action(self.view.mask, actions)

    def stopped(self, which: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return which of some devices need input, and which have reached their horizon.

        Raises:
            SsdgymError: one of them has failed.
        """
        status = self.status[which]
        if (status < 0).any():
            i = int(which[np.argmax(status < 0)])
            raise self._failure(i)
        return which[status == INPUT_ENDED], which[status == HORIZON]

    def _failure(self, i: int) -> SsdgymError:
        return failure(int(self.status[i]), self.devices[i], "the agent's")

    def counter(self, name: str) -> np.ndarray:
        """Return a counter of every device, int64 (n,); it changes with the devices."""
        return family_of_state(self.state).counter(self.state, name)

    def kind_asked(self, i: int) -> int:
        """Return the number of the kind of decision that device `i` waits for, or did last."""
        return int(self.state.control["decision_kind"][i, 0])

    def latencies(self) -> np.ndarray:
        """Return the latencies of reads and writes by log-spaced bins, int64 (n, 2, bins)."""
        return self.state.histogram

    def host_pages(self) -> np.ndarray:
        """Return the host pages programmed in every device since its last decision, int64 (n,)."""
        return self.state.control["clock"][:, 0] - self.view.taken["clock"]

    # -- one device

    def place(self, i: int, saved: State, seed: int) -> None:
        """Make device `i` the saved one, without input, with draws of its own."""
        self._broken.discard(i)
        restore_device(self.state, i, saved)
        self.state.params["seed"][i] = seed % 2**64
        for name in ("clock", "now"):
            self.view.taken[name][i] = self.state.control[name][i, 0]
        self._counts[i] = 0
        start_input(self.state, i)

    def feed(self, i: int, requests: np.ndarray) -> None:
        """Make `requests`, at most `CHUNK` of them, the input of device `i`."""
        self._requests[i, : len(requests)] = requests
        self._counts[i] = len(requests)
        start_input(self.state, i)

    def set_horizon(self, i: int, host_pages: int) -> None:
        """Stop device `i` once so many more host pages have been admitted."""
        control = self.state.control[i, 0]
        control["horizon"] = control["admitted_pages"] + host_pages

    def reset_metrics(self, i: int) -> None:
        """Count anew in device `i`."""
        reset_metrics(self.state, i)

    def metrics(self, i: int) -> dict[str, Any]:
        """Return the metrics of device `i` since they were reset."""
        return metrics_of(self.state, i, self.devices[i])

    def page_map(self, i: int) -> PageMap:
        """Return what the pages of device `i` hold.

        Raises:
            SsdgymError: the FTL family has no map of pages.
        """
        return family_of_state(self.state).page_map(self.state, i, self.devices[i])
