"""Devices and their episodes: the part of single and vector environments that does not use Gymnasium."""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ssdgym.config.fields import is_whole
from ssdgym.engine.core.family import State
from ssdgym.engine.decisions import ERASE
from ssdgym.engine.observation import Shared
from ssdgym.envs.batch import CHUNK, Batch, kind_of, threads_for
from ssdgym.envs.decisions import Options
from ssdgym.envs.rewards import Reward, Totals
from ssdgym.envs.rewards.reward import Scale, parse_scale
from ssdgym.envs.sources import (
    EpisodeRequests,
    check_pace,
    load_devices,
    load_workloads,
    name_of,
    named_workloads,
    open_episode,
    steady_simulator,
)
from ssdgym.errors import SsdgymError
from ssdgym.garbage import uncollected
from ssdgym.simulator import Recording
from ssdgym.simulator.cells import is_over
from ssdgym.simulator.families import PageMap, family_of_state
from ssdgym.simulator.metrics import metrics_of, reset_metrics
from ssdgym.types import Observation
from ssdgym.unread import Unread
from ssdgym.workloads.stream import check_addresses

#: Numbers in the info of every step: host pages written since the last decision, and two counters, which
#: count from the start of the episode (after its warm-up).
SHOWN = ("host_pages", "host_pages_written", "relocated_pages")

#: Largest number of ended episodes, per device, whose metrics wait to be computed.
_MOST_UNREAD = 4


class Episodes:
    """The devices of an environment, numbered from 0 to n - 1, and an episode on each device.

    Args:
        options: arguments of the environment.
        count: number of devices n. If `options.device` is a list, device i is item i modulo its length.
        threads: number of threads that share a step. If it is None, there is one for each core, but at most
            one for each 8 devices.

    Attributes:
        devices: configurations of the devices.
        view: the observations; the first axis of each array is the device. Every step overwrites these
            arrays, and `shown`, `rows` and `terms`.
        actions: int64 (n,), the candidate that the next step chooses on each device; -1 if none is chosen.
        status: int64 (n,), why each device has stopped, a code of `ssdgym.engine.core.status`.
        seeds: uint64 (n,), the seed that repeats the episode of each device.
        over: bool (n,), whether the episode has reached its horizon or the end of the workload or device.
        died: bool (n,), whether the device has reached the end of its life.
        ended: bool (n,), whether a step has ended the episode, or no episode has begun.
        any_ended: whether any value of `ended` is true.
        shown: int64 (3, n), the numbers of `SHOWN` on each device.
        rows: for each device, its rows of the candidates' features, the context, mask, picks, and `shown`.
        terms: float64 (n,) by name, minus the increase of each term of the objective in the last step.
        credits: the costs of single decisions; see `Decision.credits`.

    Raises:
        SsdgymError: an argument names something unknown or does not fit the others.
    """

    @uncollected()
    def __init__(self, options: Options, count: int, threads: int | None = None) -> None:
        self.options = options
        self.workloads = load_workloads(options.workload)
        self._names = [*map(name_of, named_workloads(options.workload), self.workloads)]
        #: Episodes draw from this many first workloads. Resets may append workloads, which are not drawn.
        self._drawn_workloads = len(self.workloads)
        pool = load_devices(options.device, options.ftl, self.workloads, options.size_to_trace)
        if not is_whole(count) or count < 1:
            raise SsdgymError(f"num_envs must be a whole number from 1 up, not {count!r}.")
        if threads is not None and (not is_whole(threads) or threads < 1):
            raise SsdgymError(f"threads must be a whole number from 1 up, not {threads!r}.")
        self.decision = options.decision()
        for device in pool:
            self.decision.check_asked_on(device)
        self.decision.observe(options.features, pool)
        pool = [self.decision.adapt(device) for device in pool]
        self.devices = [pool[i % len(pool)] for i in range(count)]
        self.candidates = self.decision.candidates_on(pool)
        objective = options.default_objective if options.objective is None else options.objective
        self.reward = Reward(self.devices, objective)
        self._scale = parse_scale(options.default_reward if options.reward is None else options.reward)
        #: Measured scales of rewards, by (number of the configuration, number of the workload).
        self._scales: dict[tuple[int, int], Scale] = {}
        check_pace(self.workloads, self.devices, self.reward.timed_terms)
        self._threads = threads_for(count) if threads is None else threads
        self.batches = self._make_batches()
        self._places = {int(i): (batch, k) for batch in self.batches for k, i in enumerate(batch.numbers)}
        self.view = self.decision.buffers(count, self.candidates)
        self._shared = Shared.allocate(self.view, CHUNK)
        self.status, self.actions = self._shared.status, self._shared.actions
        self._totals = Totals(self.devices, self.counter)
        #: The requests of each episode; None before the first episode, and after the last request.
        self._requests: list[EpisodeRequests | None] = [None] * count
        self.seeds = np.zeros(count, np.uint64)
        self._playing = [0] * count
        self.over = np.zeros(count, bool)
        self.died = np.zeros(count, bool)
        self.ended = np.ones(count, bool)
        self.any_ended = True
        #: The erase set chosen last in the episode, (pairs,) ERASE_PAIR, by device. Pictures show it.
        self.chosen: dict[int, np.ndarray] = {}
        self.keeps_chosen = False
        #: The candidates that replaced invalid actions in the last step, by device.
        self.replaced: dict[int, int] = {}
        #: Which devices are in the warm-up of their episode, bool (n,).
        self._warming_up = np.zeros(count, bool)
        #: Preconditioned states, rows for `Batch.place`, by (number of the configuration, of the workload).
        self._preconditioned: dict[tuple[int, int], np.ndarray] = {}
        self._kinds = len(pool)
        self.all = np.arange(count)
        self.shown = np.zeros((len(SHOWN), count), np.int64)
        self.credits = self.decision.credits(self.batches, self.view)
        self._connect()

    def _connect(self) -> None:
        """Store the addresses of the arrays, which differ in every process, for compiled code."""
        view = self.view
        self._unread: deque[weakref.ref[Unread]] = deque()
        tally = self.reward.tally(self._totals, self._counter_addresses, self.shown, SHOWN[1:])
        for batch in self.batches:
            batch.connect(view, self._shared, tally, min(self._threads, len(batch.numbers)))
        self.rows = list(
            zip(view.features, view.context, view.mask, view.proposed, self.shown.T, strict=True)
        )
        self.terms = dict(zip(self.reward.objective, self.reward.terms, strict=True))

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes without metrics that are not yet computed."""
        return {name: value for name, value in vars(self).items() if name != "_unread"}

    def __setstate__(self, state: dict[str, Any]) -> None:

        vars(self).update(state)
        self._connect()

    def _make_batches(self) -> list[Batch]:
        """Return batches of the devices. Devices of a batch have the same FTL family and compiled rules."""
        recording = Recording(min(4 * self.options.horizon, Recording.latencies), 1024)
        if all(device.ftl.timing == "none" for device in self.devices):
            recording = Recording(1, 1)
        kinds = [kind_of(device) for device in self.devices]
        groups = [np.flatnonzero([k == kind for k in kinds]) for kind in dict.fromkeys(kinds)]
        return [
            Batch([self.devices[i] for i in numbers.tolist()], numbers, self.decision, recording)
            for numbers in groups
        ]

    @property
    def state(self) -> State:
        """State of the devices, which must be in a single batch."""
        (batch,) = self.batches
        return batch.state

    def counter(self, name: str) -> np.ndarray:
        """Return a counter of every device since its metrics were reset, int64 (n,)."""
        return self._of_all([family_of_state(b.state).counter(b.state, name) for b in self.batches])

    def _counter_addresses(self, name: str) -> np.ndarray:
        """Return the address of a counter of every device, int64 (n,)."""
        counters = [family_of_state(b.state).counter(b.state, name) for b in self.batches]
        return self._of_all([one.ctypes.data + one.strides[0] * np.arange(len(one)) for one in counters])

    def _of_all(self, parts: Sequence[np.ndarray]) -> np.ndarray:
        """Return the values of all devices, (n, ...), from the values of the devices of each batch."""
        if len(parts) == 1:
            return parts[0]
        found = np.zeros((len(self.devices), *parts[0].shape[1:]), np.int64)
        for batch, part in zip(self.batches, parts, strict=True):
            found[batch.numbers] = part
        return found

    def parts(self, which: np.ndarray) -> list[tuple[Batch, np.ndarray]]:
        """Divide device numbers, int64 (m,), among batches; return each batch with its numbers, if any."""
        if len(self.batches) == 1:
            return [(self.batches[0], which)]
        parts = [(batch, which[np.isin(which, batch.numbers)]) for batch in self.batches]
        return [(batch, own) for batch, own in parts if len(own)]

    def workload_of(self, options: Mapping[str, Any] | None, *others: str) -> int | None:
        """Return the number of the workload that the options of a reset name; None if they name none.

        Args:
            options: options of the reset.
            others: names of further options that are allowed.

        Raises:
            SsdgymError: an option is not allowed, or the workload does not fit a device.
        """
        given = options or {}
        known = ("workload", *others)
        if "device" in given:
            raise SsdgymError(
                "reset cannot change the device, on which the spaces depend; make an environment of each, or "
                "give make_vec a list, device=[...], of which each environment has one."
            )
        if unknown := [name for name in given if name not in known]:
            raise SsdgymError(f"reset has no option {unknown[0]!r}; it has {' and '.join(known)}.")
        if given.get("workload") is None:
            return None
        (workload,) = load_workloads([given["workload"]])
        if workload not in self.workloads:
            for device in self.devices:
                check_addresses(workload, device)
            check_pace([workload], self.devices, self.reward.timed_terms)
            self.workloads.append(workload)
            self._names.append(name_of(given["workload"], workload))
        return self.workloads.index(workload)

    def start(self, which: Sequence[int], seeds: Sequence[int], workload: int | None = None) -> None:
        """Begin an episode on each of the devices `which`, and run it to its first decision.

        The episode's seed determines the random draws of workload and device. If `workload`, the number of a
        workload, is None, the seed also draws the workload.

        Raises:
            SsdgymError: a workload does not fit the device.
        """
        for i, seed in zip(which, seeds, strict=True):
            self._begin(i, seed, self._draw_workload(seed) if workload is None else workload)
        self._run(np.asarray(which, np.int64), rewarded=False)
        self.ended[which] = False
        self.any_ended = bool(self.ended.any())

    def _begin(self, i: int, seed: int, number: int) -> None:
        batch, k = self._places[i]
        batch.place(k, self._precondition(i, number), seed)
        if self.credits is not None:
            self.credits.begin(i)
        self.chosen.pop(i, None)
        self._requests[i] = open_episode(self.workloads[number], self.devices[i], seed, self.options.at_end)
        self.seeds[i] = seed
        self._playing[i] = number
        self._warming_up[i] = self.options.warmup > 0
        self.over[i] = self.died[i] = False
        batch.set_horizon(k, self.options.warmup or self.options.horizon)
        self.reward.start(self._totals, i, self.scale_of(i, number))

    def _draw_workload(self, seed: int) -> int:
        """Draw the workload of an episode by the episode's seed; return its number."""
        if self._drawn_workloads == 1:
            return 0
        return int(np.random.default_rng([seed, 1]).integers(self._drawn_workloads))

    def _precondition(self, i: int, number: int) -> np.ndarray:
        """Return the preconditioned state of device `i` for a workload, as `Batch.place` takes it."""
        key = (i % self._kinds, number)
        if key not in self._preconditioned:
            options, workload = self.options, self.workloads[number]
            how, seed = options.how_preconditioned, options.preconditioning_seed
            sim = steady_simulator(self.devices[i], None, workload, how, seed)
            self._preconditioned[key] = self._places[i][0].row_of(sim.state)
        return self._preconditioned[key]

    def scale_of(self, i: int, number: int) -> Scale:
        """Return the scale of the rewards of device `i` under workload `number`."""
        if isinstance(self._scale, Scale):
            return self._scale
        key = (i % self._kinds, number)
        if key not in self._scales:
            options, workload = self.options, self.workloads[number]
            how, seed = options.how_preconditioned, options.preconditioning_seed
            self._scales[key] = self._scale.scale_on(
                self.devices[i], workload, how, seed, self.reward.cost_on, options.horizon
            )
        return self._scales[key]

    def step(self, which: np.ndarray) -> None:
        """Carry out the `actions` of devices, run to the next decisions, and set rewards and terms.

        If an episode ends, its value of `ended` is set, and `view` contains the observation at its end.

        Args:
            which: int64 (m,), the devices to step. The other devices do not change, and their reward is 0.

        Raises:
            SsdgymError: an action is outside the mask and `invalid` is `"error"`. No device has changed.
        """
        i = int(self.batches[0].first_invalid(which))
        if i >= 0 or self.replaced:
            self.replaced = self._replace_invalid(which, i)
        if self.credits is not None:
            self.credits.note(which, self.actions)
        taken = self._taken(which) if self.keeps_chosen else None
        reward = self.reward
        if len(which) < len(self.all):
            reward.clear()
        self._run(which, rewarded=True)
        if taken is not None:
            self.chosen.update(taken)
        if self.options.warmup and self._warming_up.any():
            reward.clear(self._warming_up)
        if self.options.invalid == "penalty":
            reward.rewards[[*self.replaced]] -= 1

    def _taken(self, which: np.ndarray) -> dict[int, np.ndarray]:
        """Return the chosen erase set of each of the devices whose decision is about an erase, by device."""
        erasing = [i for i in which.tolist() if self.kind_asked(i) == ERASE]
        return {i: self.view.sets[i, self.actions[i]].copy() for i in erasing}

    def _replace_invalid(self, which: np.ndarray, first: int) -> dict[int, int]:
        """Replace invalid actions, from device `first` on (-1: none is); return the new ones by device."""
        if first >= 0 and self.options.invalid == "error":
            allowed = np.flatnonzero(self.view.mask[first]).tolist()
            raise SsdgymError(
                f"action {self.actions[first]} of environment {first} is outside the action mask; choose one "
                f"of {allowed}, use an algorithm with masks (MaskablePPO), or set invalid to replace."
            )
        replaced = {}
        while first >= 0:
            valid = np.flatnonzero(self.view.mask[first])
            replaced[first] = int(valid[np.searchsorted(valid, self.actions[first]) % len(valid)])
            self.actions[first] = replaced[first]
            first = int(self.batches[0].first_invalid(which))
        return replaced

    def _run(self, which: np.ndarray, rewarded: bool) -> None:
        """Run devices to the next decision or the end of the episode; if `rewarded`, compute rewards."""
        if len(self.batches) == 1:
            if self.batches[0].step(which, rewarded):
                self._go_on(self.batches[0], which, rewarded)
            return
        for batch, part in self.parts(which):
            if batch.step(part, rewarded):
                self._go_on(batch, part, rewarded)

    def _go_on(self, batch: Batch, which: np.ndarray, rewarded: bool) -> None:
        """Continue devices that need requests or end a warm-up, until they stop for the reasons of `_run`."""
        over: list[int] = []
        others = len(which)
        while others:
            hungry, ended = (stopped.tolist() for stopped in batch.stopped(which))
            for i in hungry:
                self._feed(i)
            for i in ended:
                self._end_warmup(i)
            over += [i for i in ended if self.over[i]]
            which = np.array([i for i in (*ended, *hungry) if not self.over[i]], np.int64)
            others = batch.step(which, rewarded) if len(which) else 0
        if over:
            self.ended[over] = self.any_ended = True
            batch.tell(np.array(over), rewarded)

    def _end_warmup(self, i: int) -> None:
        """Begin the measured part of an episode after its warm-up; otherwise mark the episode as over."""
        batch, k = self._places[i]
        self.died[i] = is_over(batch.state, k)
        self.over[i] = self.died[i] or self._requests[i] is None or not self._warming_up[i]
        if self._warming_up[i]:
            self._warming_up[i] = False
            reset_metrics(batch.state, k)
            self.reward.start(self._totals, i)
        if not self.over[i]:
            batch.set_horizon(k, self.options.horizon)

    def _feed(self, i: int) -> None:
        """Copy the next requests to device `i`; if there are none, let it complete the requests under way."""
        requests = self._requests[i]
        assert requests is not None, "an episode has been started"
        chunk = requests.next()
        batch, k = self._places[i]
        if len(chunk):
            batch.feed(k, chunk)
        else:
            self._requests[i] = None
            batch.set_horizon(k, 0)

    def observation(self) -> Observation:
        """Return the observations of all devices: arrays of `view`, which the next step overwrites."""
        return {"candidates": self.view.features, "context": self.view.context, "action_mask": self.view.mask}

    def names(self, i: int) -> dict[str, str]:
        """Return the entries `workload` and `device` of the info of a reset: the names on device `i`."""
        return {"workload": self._names[self._playing[i]], "device": self.devices[i].name}

    def kind_asked(self, i: int) -> int:
        """Return the number of the kind of decision that device `i` waits for or took last."""
        batch, k = self._places[i]
        return int(batch.state.control["decision_kind"][k, 0])

    def metrics(self, i: int) -> dict[str, Any]:
        """Return the metrics of the episode of device `i` up to now, without its warm-up."""
        batch, k = self._places[i]
        return metrics_of(batch.state, k, self.devices[i])

    def last_metrics(self, i: int) -> dict[str, Any]:
        """Return the present metrics of device `i` in a dictionary that computes them when it is first read.

        If more than `_MOST_UNREAD` dictionaries per device are unread, this call computes the oldest.
        """
        batch, k = self._places[i]
        metrics = Unread(batch.measure(k))
        self._unread.append(weakref.ref(metrics))
        while len(self._unread) > _MOST_UNREAD * len(self.devices):
            older = self._unread.popleft()()
            if older is not None:
                older.read()
        return metrics

    def page_map(self, i: int) -> PageMap:
        """Return the state of each page of device `i`.

        Raises:
            SsdgymError: the FTL family of the device has no map of pages.
        """
        batch, k = self._places[i]
        return family_of_state(batch.state).page_map(batch.state, k, self.devices[i])

    def dismiss(self) -> None:
        """End the threads that help to step devices."""
        for batch in self.batches:
            batch.dismiss()

    def observe_again(self) -> None:
        """Compute all observations again; the states of the devices do not change."""
        for batch in self.batches:
            batch.observe(batch.numbers)
