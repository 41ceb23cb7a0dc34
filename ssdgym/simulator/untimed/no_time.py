"""Running a device without time, whatever it is configured for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np

from ssdgym.config.device import DeviceConfig
from ssdgym.config.ftl import page_ftl
from ssdgym.engine.core.family import State
from ssdgym.engine.core.records import BY_RULE, IN_STREAMS
from ssdgym.engine.page.adoption import adopt_placement
from ssdgym.errors import SsdgymError
from ssdgym.policy import Policy
from ssdgym.simulator.families import family_of


class Runnable(Protocol):
    """What is asked of a simulator that runs without time.

    Attributes:
        policy: takes its decisions.
        arrays: the device.
    """

    policy: Policy | None
    arrays: State

    @property
    def device(self) -> DeviceConfig:
        """Its configuration."""

    def feed(self, requests: np.ndarray) -> None:
        """Make requests its input."""

    def proceed(
        self,
        chunks: Iterator[np.ndarray],
        host_pages: int | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> None:
        """Go on with its input and then with the chunks."""

    def metrics(self) -> dict[str, Any]:
        """Return what it has done since the metrics were reset."""

    def reset_metrics(self) -> None:
        """Clear the metrics."""


@contextmanager
def in_no_time(sim: Runnable, policy: Policy | None, seed: int) -> Iterator[None]:
    """Let a device run without time, under another policy and seed, while the context lasts.

    Args:
        sim: holds the device; no transaction is under way there.
        policy: takes the decisions.
        seed: of the device's own draws.
    """
    params = sim.arrays.params[0, 0]
    own = sim.policy, params["timed"], params["seed"]
    scratch = {name: getattr(sim.arrays, name).copy() for name in family_of(sim.device).scratch}
    sim.policy, params["timed"], params["seed"] = policy, 0, seed % 2**64
    try:
        yield
    finally:
        sim.policy, params["timed"], params["seed"] = own
        for name, array in scratch.items():
            getattr(sim.arrays, name)[:] = array


@contextmanager
def in_one_stream(sim: Runnable) -> Iterator[None]:
    """Let a device put all pages in stream 0, without block groups, and start its own placement afterwards.

    Args:
        sim: holds the device.

    Raises:
        SsdgymError: the device is of another family, or its placement is a rule, which has to see every page.
    """
    placement, params = page_ftl(sim.device.ftl).placement, sim.arrays.params[0, 0]
    if params["placement"] == BY_RULE:
        raise SsdgymError(
            f"device {sim.device.name}: the placement {placement} has to see every page from the first on; "
            "choose another preconditioning than until_gc_greedy, such as until_gc."
        )
    own = {name: params[name] for name in ("placement", "gc_stream", "groups")}
    params["placement"], params["gc_stream"], params["groups"] = IN_STREAMS, 0, 0
    try:
        yield
    finally:
        for name, value in own.items():
            params[name] = value
    adopt_placement(sim.arrays, 0)


def seed_of(sim: Runnable) -> int:
    """Return the seed of the draws of a simulator's device."""
    return int(sim.arrays.params["seed"][0, 0])
