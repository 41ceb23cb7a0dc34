"""What rewards are centred and scaled by: what a baseline policy pays for the pages that it wins."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ssdgym.config.device import DeviceConfig
from ssdgym.config.preconditioning import PreconditioningConfig
from ssdgym.envs.rewards.terms import Measure
from ssdgym.envs.rewards.totals import CountedTotals
from ssdgym.envs.sources.workloads import EpisodeRequests, open_episode
from ssdgym.errors import SsdgymError
from ssdgym.policy import get_policy
from ssdgym.requests import Requests
from ssdgym.simulator import Recording, Simulator
from ssdgym.simulator.families import family_of
from ssdgym.simulator.preconditioning import precondition


@dataclass(frozen=True)
class Scale:
    """How a cost becomes a reward: `(price * pages won - cost) / unit`.

    Attributes:
        price: paid for a page that collection wins.
        unit: what a reward of 1 is worth.
    """

    price: float = 0.0
    unit: float = 1.0


#: Rewards are minus the cost.
PLAIN = Scale()


@dataclass(frozen=True)
class Baseline:
    """Scales by what a policy pays.

    Attributes:
        policy: that sets the price.
        paired: whether what it earns in the same episode is taken off.
    """

    policy: str
    paired: bool = False

    def scale_on(
        self,
        device: DeviceConfig,
        workload: Any,
        preconditioning: PreconditioningConfig,
        seed: int,
        cost_on: Callable[[Sequence[DeviceConfig]], Measure],
    ) -> Scale:
        """Measure the scale while the policy serves as many host pages as the device has logical ones.

        A page won is paid with what it costs the policy, and the unit is what one of its rounds costs. So
        its own rewards are 0 on average, and of size 1. On devices that win room without an erase, too, a
        page that the host writes stands for both.

        Args:
            device: that carries it out.
            workload: the model of it.
            preconditioning: of the device.
            seed: of the draws of both.
            cost_on: returns what tells the cost of devices.

        Returns:
            The scale; that of plain rewards where the policy has nothing to collect.
        """
        simulator = Simulator(device, policy=self.policy, recording=Recording(1, 1))
        precondition(simulator, preconditioning, workload, seed)
        requests = open_episode(workload, device, seed, "wrap")
        simulator.run(_chunks(requests), host_pages=device.logical_pages)
        state, family = simulator.state, family_of(device)
        totals = CountedTotals([device], partial(family.counter, state), lambda: state.histogram)
        rounds, won = int(totals.rounds()[0]), int(totals.pages_won()[0])
        paid = float(cost_on([device])(totals)[0])
        if rounds == 0 or won <= 0 or paid == 0:
            return PLAIN
        return Scale(paid / won, abs(paid) / rounds)


def _chunks(requests: EpisodeRequests) -> Iterator[Requests]:
    """Yield requests to their end."""
    while len(chunk := requests.next()):
        yield chunk


def parse_scale(reward: Any) -> Scale | Baseline:
    """Return what the argument `reward` of an environment says.

    Args:
        reward: `"plain"`; `{"baseline": policy}` or `{"paired": policy}`; or
            `{"price": number, "unit": number}`.

    Raises:
        SsdgymError: it is none of these.
    """
    if reward == "plain":
        return PLAIN
    if isinstance(reward, Mapping) and set(reward) in ({"baseline"}, {"paired"}):
        [(kind, policy)] = reward.items()
        get_policy(policy)
        return Baseline(policy, kind == "paired")
    if isinstance(reward, Mapping) and reward and set(reward) <= {"price", "unit"}:
        price, unit = (_number(reward, name, default) for name, default in (("price", 0.0), ("unit", 1.0)))
        if unit <= 0:
            raise SsdgymError(f"reward.unit must be above 0, not {unit!r}.")
        return Scale(price, unit)
    raise SsdgymError(
        "reward must be 'plain', {'baseline': policy}, {'paired': policy}, or "
        f"{{'price': number, 'unit': number}}, not {reward!r:.60}."
    )


def _number(reward: Mapping[str, Any], name: str, default: float) -> float:
    value = reward.get(name, default)
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number)) or not np.isfinite(value):
        raise SsdgymError(f"reward.{name} must be a number, not {value!r:.60}.")
    return float(value)
