"""Devices of an environment, stepped together in compiled code: no other module here calls the engine."""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ssdgym.config.device import DeviceConfig
from ssdgym.engine.core.family import State
from ssdgym.engine.core.status import END_OF_LIFE, HORIZON, INPUT_ENDED, PERIOD_DUE
from ssdgym.engine.decisions import PLACE
from ssdgym.engine.observation import ObservationBuffers, Shared, Tally
from ssdgym.engine.stepping import ADVANCE, DESCRIBE, NOT_DONE, OUT_OF_BOUNDS, REWARD, TELL, Stepper
from ssdgym.envs.decisions import Decision
from ssdgym.errors import SsdgymError
from ssdgym.policy import rules_for
from ssdgym.policy.failures import rule_error
from ssdgym.policy.policy import idle_of, wear_rules_on
from ssdgym.policy.registry import placement_of, rules_on
from ssdgym.policy.rules import PlacementRule, Rule
from ssdgym.simulator import Recording
from ssdgym.simulator.build import make_state, restore_device
from ssdgym.simulator.cells import begin_life
from ssdgym.simulator.deciding import begin_period, failure
from ssdgym.simulator.input import start_input


def threads_for(devices: int) -> int:
    """Return how many threads some devices are worth: the cores this process may use, 8 devices for each."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(min(cores, devices // 8), 1)


class Crew:
    """Threads that help the one that steps devices; each sleeps where there has been no step for a while.

    A step does not wait for a thread that sleeps or has not begun: the others take its devices. `errors` has
    what the threads have raised.
    """

    def __init__(self, helpers: Sequence[Callable[[], None]], give_up: Callable[[int], None]) -> None:
        self.errors: list[Exception] = []
        self._asleep: list[Any] = []
        self._over = False
        for number, work in enumerate(helpers, 1):
            run = (work, give_up, number)
            threading.Thread(target=self._help, args=run, name=f"ssdgym-{number}", daemon=True).start()

    def wake(self) -> None:
        """Let the threads look for steps again."""
        while self._asleep:
            self._asleep.pop().release()

    def dismiss(self) -> None:
        """Let the threads end."""
        self._over = True
        self.wake()

    def _help(self, work: Callable[[], None], give_up: Callable[[int], None], number: int) -> None:
        while not self._over:
            try:
                work()
            except Exception as error:  # noqa: BLE001 - whatever code of a user raises is raised by the step
                self.errors.append(error)
                give_up(number)
            self._sleep()

    def _sleep(self) -> None:
        gate = threading.Lock()
        gate.acquire()
        self._asleep.append(gate)
        if not self._over:
            gate.acquire()


#: Requests of a device's input held at a time.
CHUNK = 2048
_STEP, _REWARDED_STEP = ADVANCE | DESCRIBE | TELL, ADVANCE | DESCRIBE | TELL | REWARD


class Batch:
    """Devices of an environment of one FTL family, placed by one rule.

    A device has a number in the environment, its place in the arrays of observations and steps, and another
    one, `k`, in the batch.

    Attributes:
        state: the devices.
        numbers: of them in the environment, int64.
        first_invalid: returns the first of some devices, of any batch, whose action is no valid candidate.
    """

    def __init__(
        self, devices: Sequence[DeviceConfig], numbers: np.ndarray, decision: Decision, recording: Recording
    ) -> None:
        for device in devices:
            placement = placement_of(device)
            if placement is not None and placement.oracle:
                raise SsdgymError(
                    f"device {device.name}: placement {placement.name} uses the future, which environments "
                    "do not tell; choose another one."
                )
        self.devices = devices
        self.numbers = numbers
        self.decision = decision
        self.state: State = make_state(devices, [0] * len(devices), recording)
        self._broken: set[int] = set()

    def connect(self, views: ObservationBuffers, shared: Shared, tally: Tally, threads: int) -> None:
        """Store the devices for compiled code, which is elsewhere in every process."""
        # All devices of a batch have the same rules.
        questions = [self.decision.ask(views.mask.shape[1], self.devices[0]) for _ in range(threads)]
        self._views, self._shared = views, shared
        self._stepper = Stepper(self.state, self.numbers, questions, views, shared, tally)
        self.first_invalid = self._stepper.first_invalid
        self._crew = None
        if self._stepper.helpers:
            self._crew = Crew(self._stepper.helpers, self._stepper.give_up)
            weakref.finalize(self, self._crew.dismiss)

    def dismiss(self) -> None:
        """Let the threads end; steps go on without them."""
        if self._crew is not None:
            self._crew.dismiss()

    def __getstate__(self) -> dict[str, Any]:
        """Leave behind what points into this process; `connect` makes it anew."""
        local = ("_views", "_shared", "_stepper", "_crew", "first_invalid")
        return {name: value for name, value in vars(self).items() if name not in local}

    # -- some devices, by their numbers in the environment

    def step(self, which: np.ndarray, rewarded: bool) -> int:
        """Carry out the actions of devices `which`, int64 (m,), and run to the next decisions.

        Returns how many of them do not wait for a decision now. Those that do are rewarded, if wanted.
        """
        if self._broken and not self._broken.isdisjoint(which.tolist()):
            raise SsdgymError("a rule has failed in the middle of a step; reset the environment.")
        others = self._run(which, _REWARDED_STEP if rewarded else _STEP)
        while others and len(due := which[self._shared.status[which] == PERIOD_DUE]):
            others += self._begin_periods(due, rewarded) - len(due)
        return others

    def _run(self, which: np.ndarray, tasks: int) -> int:
        """Do something with devices; see `Stepper`."""
        stepper, crew = self._stepper, self._crew
        try:
            if crew is not None:
                crew.wake()
            others = stepper.run(which, tasks)
            if others == NOT_DONE:
                others = self._wait(len(which))
            if crew is not None and crew.errors:
                raise crew.errors[0]
        except Exception as error:  # whatever a rule of a user raises
            self._give_up(which, tasks)
            raise self.decision.explain(error) or rule_error(error, self._rules()) from error
        if others >= OUT_OF_BOUNDS:
            self._check(which)
        return int(others)

    def _wait(self, count: int) -> int:
        """Wait for the other threads; return as `_run`."""
        while (others := self._stepper.wait(count)) == NOT_DONE:
            time.sleep(0)
        return int(others)

    def _give_up(self, which: np.ndarray, tasks: int) -> None:
        """Let all threads stop where code of a user has failed; devices in mid-step cannot go on."""
        self._stepper.give_up(0)
        if self._crew is not None:
            self._wait(len(which))
            self._crew.errors.clear()
        if tasks & ADVANCE:
            self._broken.update(which.tolist())

    def _check(self, which: np.ndarray) -> None:
        """Raise for a feature that has left its bounds; devices in mid-step cannot go on."""
        self._broken.update(which.tolist())
        outside = self._stepper.outside
        found = outside[outside["column"] != 0][:1].copy()
        outside["column"] = 0
        self.decision.check(found)

    def _begin_periods(self, due: np.ndarray, rewarded: bool) -> int:
        """Let the placement begin its period on some devices, and go on; return as `step`."""
        try:
            for k in np.searchsorted(self.numbers, due):
                placement = rules_on(self.devices[k])[0]
                assert isinstance(placement, PlacementRule), "the first is"
                begin_period(self.state, int(k), placement)
        except SsdgymError:
            self._broken.update(due.tolist())
            raise
        return self._run(due, _REWARDED_STEP if rewarded else _STEP)

    def observe(self, which: np.ndarray) -> None:
        """Write observations again. Observing is pure, so this changes nothing."""
        self._run(which, DESCRIBE)

    def tell(self, which: np.ndarray, rewarded: bool) -> None:
        """Write what is shown of devices that do not wait for a decision, and their rewards, if wanted."""
        self._run(which, TELL | REWARD if rewarded else TELL)

    def _rules(self) -> list[Rule]:
        """Return the rules that run inside: what proposes, decides, places, idles or tracks."""
        inside = [] if self.decision.policy is None else [self.decision.policy.victim]
        idle = idle_of(self.devices[0])
        proposers = [policy.main for policy in self.decision.proposers]
        beside = [*([] if idle is None else [idle]), *wear_rules_on(self.devices[0])]
        return [*proposers, *inside, *rules_on(self.devices[0]), *beside]

    def stopped(self, which: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return which of some devices need input, and which have reached their horizon or end of life.

        Raises:
            SsdgymError: one of them has failed.
        """
        status = self._shared.status[which]
        if (status < 0).any():
            i = int(which[np.argmax(status < 0)])
            device = self.devices[int(np.searchsorted(self.numbers, i))]
            raise failure(int(self._shared.status[i]), device, "the agent's")
        return which[status == INPUT_ENDED], which[(status == HORIZON) | (status == END_OF_LIFE)]

    # -- one device, by its number in the batch

    def place(self, k: int, saved: State, seed: int) -> None:
        """Make device `k` the saved one, without input, with draws and a life of its own."""
        i = self.numbers[k]
        self._broken.discard(int(i))
        restore_device(self.state, k, saved)
        self.state.params["seed"][k] = seed
        begin_life(self.state, k, self.devices[k])
        for name in ("clock", "now"):
            self._views.taken[name][i] = self.state.control[name][k, 0]
        self._shared.counts[i], self._shared.actions[i] = 0, -1
        start_input(self.state, k)
        self._stepper.bind(k)

    def feed(self, k: int, requests: np.ndarray) -> None:
        """Make requests, as many as there is room for at most, the input of device `k`."""
        i = self.numbers[k]
        # As bytes: numpy copies records with padding field by field.
        self._shared.requests[i, : len(requests)].view(np.uint8)[:] = requests.view(np.uint8)
        self._shared.counts[i] = len(requests)
        start_input(self.state, k)

    def set_horizon(self, k: int, host_pages: int) -> None:
        """Stop device `k` once so many more host pages have been admitted."""
        control = self.state.control[k, 0]
        control["horizon"] = control["admitted_pages"] + host_pages


def kind_of(device: DeviceConfig) -> tuple[str, ...]:
    """Return the FTL family of a device and those of its rules that have code of their own.

    Equal ones share a batch.
    """
    by_rule, idle = rules_for(device, None)[PLACE]["choose"] != 0, idle_of(device)
    placement = getattr(device.ftl, "placement", "") if by_rule else ""
    wear = (rule.label for rule in wear_rules_on(device))
    return device.ftl.mapping, placement, "" if idle is None else idle.label, *wear
