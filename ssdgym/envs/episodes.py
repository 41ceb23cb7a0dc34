"""Devices that stop at decisions: their episodes, preconditioned starts, input, observations and rewards.

What the single and the vector environment have in common, free of Gymnasium.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ssdgym.config.checks import is_whole
from ssdgym.engine.core.family import State
from ssdgym.envs.options import Options
from ssdgym.envs.rewards import CountedTotals, Reward
from ssdgym.envs.rewards.yardstick import Yardstick
from ssdgym.envs.sources.devices import load_devices
from ssdgym.envs.sources.workloads import EpisodeRequests, load_workloads, open_episode
from ssdgym.envs.stepping.batch import Batch
from ssdgym.envs.stepping.batches import Batches
from ssdgym.errors import SsdgymError
from ssdgym.simulator import Recording, Simulator
from ssdgym.simulator.families import PageMap
from ssdgym.simulator.preconditioning import precondition
from ssdgym.simulator.snapshot import copy_device
from ssdgym.types import Observation


class Episodes:
    """Devices and the episodes they are in.

    Args:
        options: arguments of the environment.
        count: number of devices n; those of `options` are taken in turn.

    Attributes:
        devices: their configurations.
        view: the observations, arrays with the environment as first axis. They are written again by every
            call: copy what is to be kept.
        status: int64 (n,), why each device has stopped.
        seeds: int64 (n,), the seed that repeats the episode of each device.
        over: bool (n,), whose episode has reached its horizon, or the end of its workload.
        ended: bool (n,), whose episode a step has ended, or has not begun.
        counter: returns a counter, by name, of every device since its metrics were reset, int64 (n,).

    Raises:
        SsdgymError: an argument names what is not there or does not fit the others.
    """

    def __init__(self, options: Options, count: int) -> None:
        self.options = options
        self.workloads = load_workloads(options.workload)
        pool = load_devices(options.device, options.ftl, self.workloads, options.size_to_trace)
        if not is_whole(count) or count < 1:
            raise SsdgymError(f"num_envs must be a whole number from 1 up, not {count!r}.")
        self.decision = options.decision()
        self.decision.observe(options.features, pool)
        pool = [self.decision.adapt(device) for device in pool]
        self.devices = [pool[i % len(pool)] for i in range(count)]
        self.candidates = self.decision.candidates_on(pool)
        objective = options.default_objective if options.objective is None else options.objective
        self.reward = Reward(self.devices, objective)
        self._yardstick = Yardstick(options, self.devices, len(pool), self.workloads, self.reward.cost_on)
        self._check_pace()
        self._batches = Batches(self.devices, self.decision, self.candidates, self._recording())
        self.view, self.status, self.counter = self._batches.view, self._batches.status, self._batches.counter
        self.kind_asked = self._batches.kind_asked
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
        self._actions = np.full(count, -1, np.int64)
        self._no_actions = np.full(count, -1, np.int64)
        self._all = np.arange(count)

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
        self._run(np.asarray(which, np.int64), self._no_actions)
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

    def step(
        self, actions: np.ndarray, which: np.ndarray | None = None
    ) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """Carry out one decision per device.

        `over` tells which episodes have ended; the view then shows the state at their end.

        Args:
            actions: whole numbers (n,), the candidate chosen in each device.
            which: int64 (m,), the devices that take part; all if None. The others stand still, whatever their
                action is, and are rewarded with 0.

        Returns:
            Rewards (n,) and the unweighted terms they are made of.

        Raises:
            SsdgymError: an action is no valid candidate; nothing has happened then.
        """
        self._take_actions(actions, which)
        members = self._all if which is None else which
        self._run(members, self._actions)
        self.ended[members] = self.over[members]
        reward, terms = self.reward.take(self._totals)
        reward -= self._yardstick.earned(self.counter("host_pages_written"))
        if self.options.warmup and self._warming_up.any():
            reward[self._warming_up] = 0.0
            for term in terms.values():
                term[self._warming_up] = 0.0
        return reward, terms

    def _take_actions(self, actions: np.ndarray, which: np.ndarray | None) -> None:
        if actions.dtype.kind not in "iu":
            raise SsdgymError(f"actions must be whole numbers of 64 bits, not {actions.tolist()!r:.60}.")
        if actions.shape != self.status.shape:
            raise SsdgymError(
                f"step was given actions of shape {actions.shape}; "
                f"give one for each of the {len(self.status)} environments."
            )
        self._actions[:] = actions
        if which is not None:
            still = np.delete(self._all, which)
            self._actions[still] = self.view.mask[still].argmax(1)  # valid, and not carried out
        i = self._batches.first_invalid(self._actions)
        if i >= 0:
            allowed = np.flatnonzero(self.view.mask[i]).tolist()
            raise SsdgymError(
                f"action {actions[i]} of environment {i} is outside the action mask; choose one of {allowed}."
            )

    def _run(self, which: np.ndarray, actions: np.ndarray) -> None:
        """Advance devices to their next decision or to the end of their episode."""
        for batch, own, members, taken in self._batches.parts(which, actions):
            self._run_batch(batch, own, members, taken)

    def _run_batch(self, batch: Batch, own: np.ndarray, which: np.ndarray, actions: np.ndarray) -> None:
        """Advance the devices `which` of a batch whose devices have the numbers `own`."""
        while batch.step(which, actions):
            hungry, ended = batch.stopped(which)
            again = [k for k in ended if self._end_warmup(int(own[k]))]
            again += [k for k in hungry if self._feed(batch, k, int(own[k]))]
            which = np.array(again, np.int64)
            if not len(which):
                return
            actions = self._no_actions

    def _end_warmup(self, i: int) -> bool:
        """Begin the measured part of a device at its horizon; return false if its episode is over."""
        if not self._warming_up[i]:
            self.over[i] = True
            return False
        batch, k = self._batches.place(i)
        self._begin_measuring(batch, k, i)
        batch.set_horizon(k, self.options.horizon)
        return True

    def _begin_measuring(self, batch: Batch, k: int, i: int) -> None:
        """Begin the measured part of device `i`, number `k` of a batch."""
        self._warming_up[i] = False
        batch.reset_metrics(k)
        self.reward.start(self._totals, i)
        self._yardstick.measure(i)

    def _feed(self, batch: Batch, k: int, i: int) -> bool:
        """Give device `i`, number `k` of a batch, its next requests; return false if there are none."""
        requests = self._requests[i]
        assert requests is not None, "an episode has been started"
        chunk = requests.next()
        if len(chunk):
            batch.feed(k, chunk)
            return True
        if self._warming_up[i]:
            self._begin_measuring(batch, k, i)
        self.over[i] = True
        batch.observe(np.array([k]))
        return False

    # -- looking

    def observation(self) -> Observation:
        """Return the observations of all devices, in the buffers of `view`."""
        return {
            "candidates": self.view.features,
            "context": self.view.context,
            "action_mask": self.view.mask,
        }

    def host_pages(self) -> np.ndarray:
        """Return the host pages programmed in each device since its last decision, int64 (n,)."""
        return self._batches.host_pages()

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

    def observe_again(self) -> None:
        """Write the view again. Observing is pure, so this changes nothing."""
        self._batches.observe()
