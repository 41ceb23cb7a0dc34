"""Rewards: minus the weighted cost of an objective, plain or relative to the cost of a baseline policy."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ssdgym.config.device import DeviceConfig, PreconditioningConfig
from ssdgym.engine.observation import Tally
from ssdgym.envs.rewards.terms import TERMS, Sum, Totals, find_term
from ssdgym.envs.sources import EpisodeRequests, open_episode, steady_simulator
from ssdgym.errors import SsdgymError
from ssdgym.policy import get_policy
from ssdgym.requests import Requests


@dataclass(frozen=True)
class Scale:
    """The numbers in the formula of rewards: `(price * pages reclaimed - cost) / unit`.

    Attributes:
        price: price of a page that garbage collection reclaims, in the unit of costs.
        unit: cost that corresponds to a reward of -1.
    """

    price: float = 0.0
    unit: float = 1.0


#: Plain rewards are minus the cost.
PLAIN = Scale()


#: A counter that is always 0.
_NOTHING = np.zeros(1, np.int64)
#: Kinds of preconditioning that may write few or no logical pages.
_NOT_FULL = ("none", "reads")


@dataclass(frozen=True)
class Baseline:
    """A scale that is measured from the cost of a policy.

    Attributes:
        policy: policy whose cost sets the price and the unit.
        episode: cost of an episode under the policy, in the unit of rewards. If it is None, the unit is the
            policy's mean cost of a round of garbage collection.
    """

    policy: str
    episode: float | None = None

    def scale_on(
        self,
        device: DeviceConfig,
        workload: Any,
        preconditioning: PreconditioningConfig,
        seed: int,
        cost_on: Callable[[DeviceConfig, Totals], float],
        horizon: int,
    ) -> Scale:
        """Measure the scale while the policy serves as many host pages as the device has logical pages.

        After the preconditioning `none` or `reads`, a warm-up of twice as many host pages comes first. The
        price is the policy's mean cost of a reclaimed page, and the unit (if `episode` is None) its mean cost
        of a round. Where `Totals.pages_reclaimed` returns host pages, both are the mean cost per host page.
        `cost_on` returns the cost of a device; `horizon` is the length of an episode in host pages.

        Returns:
            The scale; `PLAIN` if the policy has reclaimed no page or its cost is 0.
        """
        simulator = steady_simulator(device, self.policy, workload, preconditioning, seed)
        requests = open_episode(workload, device, seed, "wrap")
        pages = device.logical_pages
        warmup = 2 * pages if preconditioning.kind in _NOT_FULL else 0
        simulator.run(_chunks(requests), warmup=warmup, host_pages=pages)
        totals = Totals.of(device, simulator.state)
        rounds, reclaimed = int(totals.rounds()[0]), int(totals.pages_reclaimed()[0])
        paid = cost_on(device, totals)
        if rounds == 0 or reclaimed <= 0 or paid == 0:
            return PLAIN
        if self.episode is not None:
            return Scale(paid / reclaimed, abs(paid) / reclaimed * horizon / self.episode)
        return Scale(paid / reclaimed, abs(paid) / rounds)


def _chunks(requests: EpisodeRequests) -> Iterator[Requests]:
    """Yield chunks of requests until the requests end."""
    while len(chunk := requests.next()):
        yield chunk


def parse_scale(reward: Any) -> Scale | Baseline:
    """Parse the argument `reward` of an environment.

    Args:
        reward: `"plain"`, `{"baseline": policy, "episode": number}` or `{"price": number, "unit": number}`.

    Raises:
        SsdgymError: `reward` has another form.
    """
    if reward == "plain":
        return PLAIN
    if isinstance(reward, Mapping) and "baseline" in reward and set(reward) <= {"baseline", "episode"}:
        get_policy(reward["baseline"])
        if "episode" not in reward:
            return Baseline(reward["baseline"])
        return Baseline(reward["baseline"], _check_positive("reward.episode", reward["episode"]))
    if isinstance(reward, Mapping) and reward and set(reward) <= {"price", "unit"}:
        price = _check_number("reward.price", reward.get("price", PLAIN.price))
        return Scale(price, _check_positive("reward.unit", reward.get("unit", PLAIN.unit)))
    raise SsdgymError(
        "reward must be 'plain', {'baseline': policy, 'episode': number} or "
        f"{{'price': number, 'unit': number}}, not {reward!r:.60}."
    )


def _check_number(where: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number)) or not np.isfinite(value):
        raise SsdgymError(f"{where} must be a number, not {value!r:.60}.")
    return float(value)


def _check_positive(where: str, value: Any) -> float:
    number = _check_number(where, value)
    if number <= 0:
        raise SsdgymError(f"{where} must be above 0, not {number!r}.")
    return number


class Reward:
    """The arrays (see `tally`) by which the compiled step turns counters of devices into rewards.

    Args:
        devices: configurations of the devices.
        objective: weight of each term.

    Attributes:
        timed_terms: names of the objective's terms that need simulated time.
        rewards: float64 (n,), the rewards of the last step. Every step overwrites them.
        terms: float64 (terms, n), minus the increase of each term in the last step, unweighted, in the order
            of the objective.

    Raises:
        SsdgymError: a term is unknown or not counted by the devices, or a weight is not a finite number.
    """

    def __init__(self, devices: Sequence[DeviceConfig], objective: Mapping[str, float]) -> None:
        if not isinstance(objective, Mapping):
            raise SsdgymError(f"objective must be a mapping of terms to weights, not {objective!r}.")
        self.objective = dict(objective)
        self.timed_terms = self._check(devices)
        self._sums = [find_term(name).on(devices) for name in self.objective]
        count = len(devices)
        self._totals, self.terms = np.zeros((2, len(self.objective), count))
        self.rewards, self._reclaimed = np.zeros(count), np.zeros(count, np.int64)
        self._price, self._unit = np.full(count, PLAIN.price), np.full(count, PLAIN.unit)
        self._pays = np.zeros(1, np.int64)

    def _check(self, devices: Sequence[DeviceConfig]) -> list[str]:
        """Check terms and weights; return the names of the terms that need time, sorted."""
        if not self.objective:
            raise SsdgymError(f"objective names no term; choose among {', '.join(TERMS)}.")
        timed = []
        for name, weight in self.objective.items():
            term = find_term(name)
            _check_number(f"objective.{name}", weight)
            if term.needs_time and any(d.ftl.timing == "none" for d in devices):
                raise SsdgymError(f"objective.{name} needs time, but ftl.timing is none; set it to event.")
            timed += [name] if term.needs_time else []
        return sorted(timed)

    def cost_on(self, device: DeviceConfig, totals: Totals) -> float:
        """Return the weighted cost of a device, from its totals."""
        sums = [find_term(name).on([device]) for name in self.objective]
        return sum(
            weight * _cost(one, totals, 0) for one, weight in zip(sums, self.objective.values(), strict=True)
        )

    def tally(
        self, totals: Totals, address: Callable[[str], np.ndarray], shown: np.ndarray, counters: Sequence[str]
    ) -> Tally:
        """Return the arrays from which the compiled step computes rewards.

        `address` returns the addresses of a counter, given by name, int64 (n,). The step also copies the
        values of `counters` to `shown`, int64 (1 + counters, n).
        """
        costs = [(name, cost) for one in self._sums for name, cost in one.items()]
        count = len(self.rewards)
        return Tally(
            ends=np.cumsum([len(one) for one in self._sums], dtype=np.int64),
            counters=_rows([address(name) for name, _ in costs], count, np.int64),
            costs=_rows([cost for _, cost in costs], count, np.float64),
            weights=np.array(list(self.objective.values()), np.float64),
            totals=self._totals,
            terms=self.terms,
            reward=self.rewards,
            reclaimed=self._reclaimed,
            reclaiming=np.array(totals.reclaiming(address, _NOTHING.ctypes.data)),
            reclaimed_pages=totals.pages_per_count,
            price=self._price,
            unit=self._unit,
            pays=self._pays,
            shown=shown,
            shown_counters=_rows([address(name) for name in counters], count, np.int64),
        )

    def start(self, totals: Totals, i: int, scale: Scale | None = None) -> None:
        """Let the next reward of device `i` begin at its present counters; set its scale if it is given."""
        for total, one in zip(self._totals, self._sums, strict=True):
            total[i] = _cost(one, totals, i)
        if scale is not None:
            self._price[i], self._unit[i] = scale.price, scale.unit
            self._pays[0] = self._price.any()
        self._reclaimed[i] = totals.pages_reclaimed()[i] if self._pays[0] else 0

    def clear(self, which: Any = slice(None)) -> None:
        """Set rewards and terms to 0 for the devices `which`, bool (n,), or for all."""
        self.rewards[which] = 0.0
        self.terms[:, which] = 0.0


def _rows(rows: Sequence[np.ndarray], count: int, items: type) -> np.ndarray:
    return np.array(rows, items).reshape(len(rows), count)


def _cost(per_count: Sum, totals: Totals, i: int) -> float:
    """Return the cost of device `i`: the sum of its counters, weighted by `per_count`."""
    return sum((float(totals.counter(name)[i]) * float(cost[i]) for name, cost in per_count.items()), 0.0)
