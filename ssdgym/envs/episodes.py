"""Devices that stop at decisions: their episodes, preconditioned starts, input, observations and rewards.

What the single and the vector environment have in common, free of Gymnasium.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ssdgym.config.fields import is_whole
from ssdgym.engine.core.family import State
from ssdgym.envs.batch import Batch, Batches, threads_for
from ssdgym.envs.options import Options
from ssdgym.envs.rewards import CountedTotals, Reward
from ssdgym.envs.rewards.yardstick import Yardstick
from ssdgym.envs.sources import EpisodeRequests, load_devices, load_workloads, open_episode
from ssdgym.errors import SsdgymError
from ssdgym.simulator import Recording, Simulator
from ssdgym.simulator.build import copy_device
from ssdgym.simulator.families import PageMap
from ssdgym.simulator.preconditioning import precondition
from ssdgym.types import Observation

#: What is shown after every step: the host pages programmed since the last decision, and counters.
SHOWN = ("host_pages", "host_pages_written", "relocated_pages")


class Episodes:
    """Devices and the episodes they are in.

    Args:
        options: arguments of the environment.
        count: number of devices n; those of `options` are taken in turn.
        threads: that steps are shared out to; None stands for as many as cores, for 8 devices each at least.

    Attributes:
        devices: their configurations.
        view: the observations, arrays with the environment as first axis. They are written again by every
            call: copy what is to be kept.
        actions: int64 (n,), the candidate that the next step chooses in each device.
        status: int64 (n,), why each device has stopped.
        seeds: int64 (n,), the seed that repeats the episode of each device.
        over: bool (n,), whose episode has reached its horizon, or the end of its workload.
        ended: bool (n,), whose episode a step has ended, or has not begun.
        shown: int64 (3, n), what is shown of each device (`SHOWN`); written again by every step.
        rows: of each device candidates, context, mask, proposals, and what is shown; written again likewise.
        terms: what rewards are made of, float64 (n,) by name; written again by every step.
        counter: returns a counter, by name, of every device since its metrics were reset, int64 (n,).

    Raises:
        SsdgymError: an argument names what is not there or does not fit the others.
    """

    def __init__(self, options: Options, count: int, threads: int | None = None) -> None:
        self.options = options
        self.workloads = load_workloads(options.workload)
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
        self._yardstick = Yardstick(options, self.devices, len(pool), self.workloads, self.reward.cost_on)
        self._check_pace()
        threads = threads_for(count) if threads is None else threads
        self._batches = Batches(self.devices, self.decision, self.candidates, self._recording(), threads)
        self.view, self.status, self.counter = self._batches.view, self._batches.status, self._batches.counter
        self.actions = self._batches.actions
        self._totals = CountedTotals(self.devices, self.counter, self._batches.latencies)
        self._requests: list[EpisodeRequests | None] = [None] * count
        self.seeds = np.zeros(count, np.int64)
        self.over = np.zeros(count, bool)
        self.ended = np.ones(count, bool)
        #: Which devices are in the unmeasured part of their episode.
        self._warming_up = np.zeros(count, bool)
        #: Preconditioned devices by (place in the pool, workload); device `i` has place `i % self._kinds`.
        self._preconditioned: dict[tuple[int, int], State] = {}
        self._kinds = len(pool)
        self.all = np.arange(count)
        self.shown = np.zeros((len(SHOWN), count), np.int64)
        self._connect()

    def _connect(self) -> None:
        """Store the devices for compiled code, which is elsewhere in every process."""
        addresses, view = self._batches.counter_addresses, self.view
        self._batches.connect(self.reward.tally(self._totals, addresses, self.shown, SHOWN[1:]))
        self.rows = list(
            zip(view.features, view.context, view.mask, view.proposed, self.shown.T, strict=True)
        )
        self.terms = dict(zip(self.reward.objective, self.reward.terms, strict=True))

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the attributes in this process."""
        vars(self).update(state)
        self._connect()

    def _check_pace(self) -> None:
        """Raise where latencies are rewarded and every request of a workload arrives at the same instant."""
        timed_terms = self.reward.timed_terms
        open_loop = any(device.ftl.queue_depth == 0 for device in self.devices)
        paceless = [w.kind for w in self.workloads if not w.has_pace]
        if timed_terms and open_loop and paceless:
            raise SsdgymError(
                f"objective.{timed_terms[0]} means nothing where the requests of workload {paceless[0]} "
                "all arrive at once; set ftl.queue_depth (a closed loop) or the workload's interarrival_ns."
            )

    def _recording(self) -> Recording:
        """Return how many latencies the devices keep."""
        if all(device.ftl.timing == "none" for device in self.devices):
            return Recording(1, 1)
        return Recording(min(4 * self.options.horizon, Recording.latencies), 1024)

    @property
    def state(self) -> State:
        """The devices, where all are of one FTL family."""
        (batch,) = self._batches.batches
        return batch.state

    # -- episodes

    def start(self, which: Sequence[int], seeds: Sequence[int]) -> None:
        """Begin an episode in some devices and run it to its first decision.

        An episode is a function of its seed: the workload's draws, the choice among several workloads, and
        the device's own random draws.

        Args:
            which: numbers of the devices.
            seeds: one for each.

        Raises:
            SsdgymError: a seed is out of range, or a workload does not fit the device.
        """
        for i, seed in zip(which, seeds, strict=True):
            if not 0 <= seed < 2**63:
                raise SsdgymError(f"seed {seed} of environment {i} must be from 0 to 2**63 - 1.")
            self._begin(i, int(seed))
        self._run(np.asarray(which, np.int64), rewarded=False)
        self.ended[which] = False

    def _begin(self, i: int, seed: int) -> None:
        number = self._draw_workload(seed)
        batch, k = self._batches.place(i)
        batch.place(k, self._precondition(i, number), seed)
        self._requests[i] = open_episode(self.workloads[number], self.devices[i], seed, self.options.at_end)
        self.seeds[i] = seed
        self._warming_up[i] = self.options.warmup > 0
        self.over[i] = False
        batch.set_horizon(k, self.options.warmup or self.options.horizon)
        self.reward.start(self._totals, i, self._yardstick.begin(i, number, seed))
        if not self._warming_up[i]:
            self._yardstick.measure(i)

    def _draw_workload(self, seed: int) -> int:
        """Return the number of the workload that the episode of a seed plays."""
        if len(self.workloads) == 1:
            return 0
        return int(np.random.default_rng([seed, 1]).integers(len(self.workloads)))

    def _precondition(self, i: int, number: int) -> State:
        """Return the start of a device under a workload, made once."""
        key = (i % self._kinds, number)
        if key not in self._preconditioned:
            sim = Simulator(self.devices[i], policy=None, recording=Recording(1, 1))
            options = self.options
            precondition(
                sim, options.how_preconditioned, self.workloads[number], options.preconditioning_seed
            )
            self._preconditioned[key] = copy_device(sim.state, 0)
        return self._preconditioned[key]

    # -- stepping

    def step(self, which: np.ndarray) -> None:
        """Carry out the `actions` of some devices, and write the rewards and terms of `reward`.

        `over` marks the episodes that have ended; the view then shows the state at their end.

        Args:
            which: int64 (m,), the devices that take part. The others stand still and are rewarded with 0.

        Raises:
            SsdgymError: an action is no valid candidate; nothing has happened then.
        """
        i = self._batches.first_invalid(which)
        if i >= 0:
            allowed = np.flatnonzero(self.view.mask[i]).tolist()
            raise SsdgymError(
                f"action {self.actions[i]} of environment {i} is outside the action mask; choose one of "
                f"{allowed}."
            )
        reward = self.reward
        if len(which) < len(self.all):
            reward.clear()
        self._run(which, reward.compiled)
        if not reward.compiled:
            reward.take(self._totals)
        self._yardstick.take_off(reward.rewards, self._host_pages)
        if self.options.warmup and self._warming_up.any():
            reward.clear(self._warming_up)

    def _run(self, which: np.ndarray, rewarded: bool) -> None:
        """Advance devices to their next decision or to the end of their episode, and reward them."""
        for batch, part in self._batches.parts(which):
            if batch.step(part, rewarded):
                self._go_on(batch, part, rewarded)

    def _go_on(self, batch: Batch, which: np.ndarray, rewarded: bool) -> None:
        """Go on with devices that have stopped, until they wait for a decision or their episode ends."""
        over: list[int] = []
        others = len(which)
        while others:
            hungry, ended = batch.stopped(which)
            again = {int(i): self._end_warmup(int(i)) for i in ended}
            again |= {int(i): self._feed(int(i)) for i in hungry}
            over += [i for i, goes_on in again.items() if not goes_on]
            which = np.array([i for i, goes_on in again.items() if goes_on], np.int64)
            others = batch.step(which, rewarded) if len(which) else 0
        if over:
            self.ended[over] = True
            batch.tell(np.array(over), rewarded)

    def _end_warmup(self, i: int) -> bool:
        """Begin the measured part of a device at its horizon; return false if its episode is over."""
        if not self._warming_up[i]:
            self.over[i] = True
            return False
        self._begin_measuring(i)
        batch, k = self._batches.place(i)
        batch.set_horizon(k, self.options.horizon)
        return True

    def _begin_measuring(self, i: int) -> None:
        """Begin the measured part of device `i`."""
        self._warming_up[i] = False
        batch, k = self._batches.place(i)
        batch.reset_metrics(k)
        self.reward.start(self._totals, i)
        self._yardstick.measure(i)

    def _feed(self, i: int) -> bool:
        """Give device `i` its next requests; return false if there are none."""
        requests = self._requests[i]
        assert requests is not None, "an episode has been started"
        chunk = requests.next()
        batch, k = self._batches.place(i)
        if len(chunk):
            batch.feed(k, chunk)
            return True
        if self._warming_up[i]:
            self._begin_measuring(i)
        self.over[i] = True
        batch.observe(np.array([i]))
        return False

    def _host_pages(self) -> np.ndarray:
        return self.counter("host_pages_written")

    # -- looking

    def observation(self) -> Observation:
        """Return the observations of all devices, in the buffers of `view`."""
        return {
            "candidates": self.view.features,
            "context": self.view.context,
            "action_mask": self.view.mask,
        }

    def kind_asked(self, i: int) -> int:
        """Return the number of the kind of decision that device `i` waits for, or did last."""
        batch, k = self._batches.place(i)
        return batch.kind_asked(k)

    def metrics(self, i: int) -> dict[str, Any]:
        """Return the metrics of device `i` since its measured part began."""
        batch, k = self._batches.place(i)
        return batch.metrics(k)

    def page_map(self, i: int) -> PageMap:
        """Return what the pages of device `i` hold.

        Raises:
            SsdgymError: its FTL family has no map of pages.
        """
        batch, k = self._batches.place(i)
        return batch.page_map(k)

    def dismiss(self) -> None:
        """Let the threads end that steps are shared out to."""
        for batch in self._batches.batches:
            batch.dismiss()

    def observe_again(self) -> None:
        """Write the view again. Observing is pure, so this changes nothing."""
        self._batches.observe()
