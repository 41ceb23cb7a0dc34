"""Batches: devices of an environment that compiled code steps together, in one thread or several."""

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
from ssdgym.engine.core.rows import Rows
from ssdgym.engine.core.status import END_OF_LIFE, HORIZON, INPUT_ENDED, PERIOD_DUE
from ssdgym.engine.decisions import PLACE
from ssdgym.engine.observation import ObservationBuffers, Shared, Tally
from ssdgym.engine.stepping import ADVANCE, DESCRIBE, INFO, NOT_DONE, OUT_OF_BOUNDS, REWARD, Stepper
from ssdgym.envs.decisions import Decision
from ssdgym.errors import SsdgymError
from ssdgym.policy import rules_for
from ssdgym.policy.on_device import BESIDE, ROLES, beside_on, rules_on
from ssdgym.policy.rules import Rule, rule_error
from ssdgym.simulator import Recording
from ssdgym.simulator.build import make_state
from ssdgym.simulator.cells import begin_life
from ssdgym.simulator.deciding import begin_period, failure
from ssdgym.simulator.input import start_input
from ssdgym.simulator.metrics import BY_PAGE, metrics_of


def threads_for(devices: int) -> int:
    """Return the number of threads for a step: one for each core, but at most one for each 8 devices."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(min(cores, devices // 8), 1)


class Sharing:
    """Decide whether several threads share a step (`shares`) or one thread runs it, by measured times.

    From time to time a trial measures the alternative. If the alternative is not faster, the pause before the
    next trial doubles.
    """

    #: Number of steps in a trial; first pause and longest pause between two trials, in steps.
    TRIAL, SOON, LATE = 16, 256, 8192
    #: A trial begins without pause if shared steps take this many times as long as steps in one thread.
    _WORSE = 1.5

    def __init__(self) -> None:
        self.shares = True
        self._cost: dict[bool, float] = {}
        self._trying, self._pause = True, self.SOON
        self._begin(self.TRIAL)

    def _begin(self, steps: int) -> None:
        self._left, self._seconds, self._devices = steps, 0.0, 0

    def note(self, seconds: float, devices: int) -> None:
        """Record how long a step took, and for how many devices."""
        self._left -= 1
        self._seconds += seconds
        self._devices += devices
        if self._left % self.TRIAL == 0:
            self._look()

    def _look(self) -> None:
        cost = self._seconds / max(self._devices, 1)
        self._seconds, self._devices = 0.0, 0
        self._cost[self.shares] = cost
        other = self._cost.get(not self.shares)
        if self._trying and other is not None:
            stays = cost < other
            self._pause = self.SOON if stays else min(2 * self._pause, self.LATE)
            self._trying, self.shares = False, self.shares == stays
            self._begin(self._pause)
        elif self._trying or self._left == 0 or (self.shares and other and cost > self._WORSE * other):
            self._trying, self.shares = True, not self.shares
            self._begin(self.TRIAL)


class ThreadPool:
    """Threads that help to step devices. Each thread runs a function of `helpers`, then sleeps until `wake`.

    A helper returns after a while without a step. A step does not wait for a sleeping thread, because any
    thread can step any device. If a helper raises, its exception is added to `errors`, and
    `give_up(number of the thread)` is called.
    """

    def __init__(self, helpers: Sequence[Callable[[], None]], give_up: Callable[[int], None]) -> None:
        self.errors: list[Exception] = []
        self._asleep: list[Any] = []
        self._over = False
        for number, work in enumerate(helpers, 1):
            run = (work, give_up, number)
            threading.Thread(target=self._help, args=run, name=f"ssdgym-{number}", daemon=True).start()

    def wake(self) -> None:
        """Wake the threads that sleep."""
        while self._asleep:
            self._asleep.pop().release()

    def dismiss(self) -> None:
        """End the threads."""
        self._over = True
        self.wake()

    def _help(self, work: Callable[[], None], give_up: Callable[[int], None], number: int) -> None:
        while not self._over:
            try:
                work()
            except Exception as error:  # noqa: BLE001 - raised again by the step in the calling thread
                self.errors.append(error)
                give_up(number)
            self._sleep()

    def _sleep(self) -> None:
        gate = threading.Lock()
        gate.acquire()
        self._asleep.append(gate)
        if not self._over:
            gate.acquire()


#: Largest number of requests in the input of a device.
CHUNK = 2048
_STEP, _REWARDED_STEP = ADVANCE | DESCRIBE | INFO, ADVANCE | DESCRIBE | INFO | REWARD


class Batch:
    """The devices of an environment that have the same FTL family and the same compiled rules.

    A device has a number in the environment, its index in observations and actions, and a number `k` in the
    batch.

    Attributes:
        state: state of the devices in the engine.
        numbers: numbers of the devices in the environment, int64.
        first_invalid: function of numbers of devices, also of other batches, int64 (m,), that returns the
            first device with an invalid action, or -1.
    """

    def __init__(
        self, devices: Sequence[DeviceConfig], numbers: np.ndarray, decision: Decision, recording: Recording
    ) -> None:
        for device in devices:
            placement = beside_on(device).get("placement")
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
        """Store the addresses of the arrays, which differ in every process, for compiled code."""
        # All devices of a batch have the same rules.
        questions = [self.decision.ask(views.mask.shape[1], self.devices[0]) for _ in range(threads)]
        self._views, self._shared = views, shared
        self._stepper = Stepper(self.state, self.numbers, questions, views, shared, tally)
        self.first_invalid = self._stepper.first_invalid
        self._rows, self._measured = Rows(self.state), Rows(self.state, BY_PAGE)
        self._placed: list[np.ndarray | None] = [None] * len(self.devices)
        self._pool, self._sharing = None, Sharing()
        if self._stepper.helpers:
            self._pool = ThreadPool(self._stepper.helpers, self._stepper.give_up)
            weakref.finalize(self, self._pool.dismiss)

    def dismiss(self) -> None:
        """End the helping threads; the calling thread runs later steps alone."""
        if self._pool is not None:
            self._pool.dismiss()

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes without those that `connect` sets, which are valid in this process only."""
        local = {"_views", "_shared", "_stepper", "first_invalid", "_rows", "_measured", "_placed"}
        local |= {"_pool", "_sharing"}
        return {name: value for name, value in vars(self).items() if name not in local}

    # -- some devices, by their numbers in the environment

    def step(self, which: np.ndarray, rewarded: bool) -> int:
        """Carry out the actions of devices `which`, int64 (m,), and run each to its next decision.

        Return how many devices have stopped for another reason. If `rewarded`, reward the other devices.
        """
        if self._broken and not self._broken.isdisjoint(which.tolist()):
            raise SsdgymError("a rule has failed in the middle of a step; reset the environment.")
        others = self._run(which, _REWARDED_STEP if rewarded else _STEP)
        while others and len(due := which[self._shared.status[which] == PERIOD_DUE]):
            others += self._begin_periods(due, rewarded) - len(due)
        return others

    def _run(self, which: np.ndarray, tasks: int) -> int:
        """Carry out tasks for devices; return the number of devices that do not wait for a decision."""
        try:
            others = self._stepper.run(which, tasks) if self._pool is None else self._share_out(which, tasks)
        except Exception as error:  # a rule or feature of a user may raise any exception
            self._give_up(which, tasks)
            raise self.decision.selection.explain(error) or rule_error(error, self._rules()) from error
        if others >= OUT_OF_BOUNDS:
            self._check(which)
        return int(others)

    def _share_out(self, which: np.ndarray, tasks: int) -> int:
        """Carry out tasks as `_run` does, with all threads, or in the calling thread if that is faster."""
        stepper, pool, sharing = self._stepper, self._pool, self._sharing
        assert pool is not None, "steps are shared out"
        before = sharing.shares
        if before:
            pool.wake()
        started = time.perf_counter()
        others = stepper.run(which, tasks)
        if others == NOT_DONE:
            others = self._wait(len(which))
        if tasks & ADVANCE and len(which) == len(self.numbers):
            sharing.note(time.perf_counter() - started, len(which))
        if sharing.shares != before:
            stepper.stand_aside(before)
        if pool.errors:
            raise pool.errors[0]
        return int(others)

    def _wait(self, count: int) -> int:
        """Wait until other threads have stepped the `count` devices of a step; return as `_run` does."""
        while (others := self._stepper.wait(count)) == NOT_DONE:
            time.sleep(0)
        return int(others)

    def _give_up(self, which: np.ndarray, tasks: int) -> None:
        """Stop the step after a user's code has failed, and mark its devices as broken if they advanced."""
        self._stepper.give_up(0)
        if self._pool is not None:
            self._wait(len(which))
            self._pool.errors.clear()
        if tasks & ADVANCE:
            self._broken.update(which.tolist())

    def _check(self, which: np.ndarray) -> None:
        """Raise SsdgymError for a feature outside its bounds, and mark the devices of the step as broken."""
        self._broken.update(which.tolist())
        outside = self._stepper.outside
        found = outside[outside["column"] != 0][:1].copy()
        outside["column"] = 0
        self.decision.selection.check(found)

    def _begin_periods(self, due: np.ndarray, rewarded: bool) -> int:
        """Call the placement's `period` function for devices, then continue their step as `_run` does."""
        try:
            for k in np.searchsorted(self.numbers, due):
                begin_period(self.state, int(k), rules_on(self.devices[k])[0])
        except SsdgymError:
            self._broken.update(due.tolist())
            raise
        return self._run(due, _REWARDED_STEP if rewarded else _STEP)

    def observe(self, which: np.ndarray) -> None:
        """Compute the observations of devices again; the states of the devices do not change."""
        self._run(which, DESCRIBE)

    def tell(self, which: np.ndarray, rewarded: bool) -> None:
        """Compute `shown`, and rewards if `rewarded`, for devices that do not wait for a decision."""
        self._run(which, INFO | REWARD if rewarded else INFO)

    def _rules(self) -> list[Rule]:
        """Return the rules that the engine runs: of proposers, of the victim policy, and of the devices."""
        inside = [] if self.decision.policy is None else [self.decision.policy.victim]
        proposers = [policy.main for policy in self.decision.proposers]
        beside = [rule for role in ROLES for rule in rules_on(self.devices[0], role)]
        return [*proposers, *inside, *beside]

    def stopped(self, which: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the numbers of devices that need requests, and of those at their horizon or end of life.

        Raises:
            SsdgymError: a device has failed.
        """
        status = self._shared.status[which]
        if (status < 0).any():
            i = int(which[np.argmax(status < 0)])
            device = self.devices[int(np.searchsorted(self.numbers, i))]
            raise failure(int(self._shared.status[i]), device, "the agent's")
        return which[status == INPUT_ENDED], which[(status == HORIZON) | (status == END_OF_LIFE)]

    # -- one device, by its number in the batch

    def row_of(self, saved: State) -> np.ndarray:
        """Convert the state of one device to a row, the form in which `place` takes a saved state."""
        return self._rows.row_of(saved)

    def place(self, k: int, row: np.ndarray, seed: int) -> None:
        """Restore the state of device `k` from a saved row, empty its input, and seed its random draws."""
        i = int(self.numbers[k])
        self._broken.discard(i)
        self._rows.restore(k, row)
        self.state.params["seed"][k] = seed
        begin_life(self.state, k, self.devices[k])
        control = self.state.control[k, 0]
        self._views.taken[i] = (control["clock"], control["now"])
        self._shared.counts[i], self._shared.actions[i] = 0, -1
        start_input(self.state, k)
        if self._placed[k] is not row:  # then parameters other than the seed may have changed
            self._stepper.bind(k)
            self._placed[k] = row

    def measure(self, k: int) -> Callable[[], dict[str, Any]]:
        """Save the data for the metrics of device `k`; return a function that computes the metrics later."""
        rows, row = self._measured, self._measured.save(k)
        lost, device = self._stepper.count_lost(k), self.devices[k]
        return lambda: metrics_of(rows.state_of(row), 0, device, lost)

    def feed(self, k: int, requests: np.ndarray) -> None:
        """Copy requests, at most `CHUNK`, into the input of device `k`."""
        i = self.numbers[k]
        # Copied as bytes, because numpy copies records with padding field by field.
        self._shared.requests[i, : len(requests)].view(np.uint8)[:] = requests.view(np.uint8)
        self._shared.counts[i] = len(requests)
        start_input(self.state, k)

    def set_horizon(self, k: int, host_pages: int) -> None:
        """Let device `k` stop when it has completed `host_pages` more host pages."""
        control = self.state.control[k, 0]
        control["horizon"] = control["admitted_pages"] + host_pages


def kind_of(device: DeviceConfig) -> tuple[str, ...]:
    """Return the FTL family of a device and the names of its compiled rules, which are equal in a batch."""
    by_rule, beside = rules_for(device, None)[PLACE]["choose"] != 0, beside_on(device)
    placement = getattr(device.ftl, "placement", "") if by_rule else ""
    others = (beside[kind].label if kind in beside else "" for kind in BESIDE if kind != "placement")
    return device.ftl.mapping, placement, *others
