"""Run a device in no simulated time: for preconditioning, and when days pass."""

from collections.abc import Iterator
from contextlib import contextmanager

from ssdgym.config.fields import is_whole
from ssdgym.engine.core.records import IN_STREAMS
from ssdgym.engine.decisions import ERASE, PLACE
from ssdgym.engine.entries import attach
from ssdgym.errors import SsdgymError, shown
from ssdgym.policy import Policy, rules_for
from ssdgym.policy.on_device import beside_on
from ssdgym.simulator.cells import is_over
from ssdgym.simulator.deciding import DecidedDevice
from ssdgym.simulator.families import family_of
from ssdgym.workloads.base import NO_REQUESTS


@contextmanager
def in_no_time(sim: DecidedDevice, policy: Policy | None, seed: int | None = None) -> Iterator[None]:
    """Run the `with` block in no simulated time, under `policy` and, if given, with `seed` as device seed."""
    params = sim.arrays.params[0, 0]
    own = sim.policy, params["timed"], params["seed"]
    scratch = {name: getattr(sim.arrays, name).copy() for name in family_of(sim.device).scratch}
    sim.policy, params["timed"] = policy, 0
    if seed is not None:
        params["seed"] = seed
    try:
        yield
    finally:
        sim.policy, params["timed"], params["seed"] = own
        sim.arrays.control["attached"] &= ~(1 << ERASE) & 0xFF
        for name, array in scratch.items():
            getattr(sim.arrays, name)[:] = array


@contextmanager
def in_one_stream(sim: DecidedDevice) -> Iterator[None]:
    """Put all pages in stream 0 during the `with` block, and start the device's own placement afterwards.

    Raise if the placement is a rule that cannot be attached to a device with data.
    """
    rule, params = beside_on(sim.device).get("placement"), sim.arrays.params[0, 0]
    if rule is not None and rule.function is not None and "attached" not in rule.hooks:
        raise SsdgymError(
            f"device {sim.device.name}: the placement {rule.label} has to see every page from the first on; "
            "choose another preconditioning than until_gc_greedy, such as until_gc."
        )
    own = {name: params[name] for name in ("placement", "gc_stream", "targets")}
    params["placement"], params["gc_stream"], params["targets"] = IN_STREAMS, 0, 0
    sim.arrays.control["attached"] &= ~(1 << PLACE) & 0xFF
    try:
        yield
    finally:
        for name, value in own.items():
            params[name] = value
    attach(sim.arrays, 0, rules_for(sim.device, sim.policy))


#: A hundred years. Each day takes time, because it is simulated separately.
_MOST_DAYS = 36_500


def pass_days(sim: DecidedDevice, days: int) -> None:
    """Do what `Simulator.pass_days` describes, but drop the present input."""
    if not is_whole(days) or not 1 <= days <= _MOST_DAYS:
        raise SsdgymError(f"days must be a whole number from 1 to {_MOST_DAYS}, not {shown(days)}.")
    if sim.policy is None:
        raise SsdgymError("a simulator without a policy stops at decisions; give it one before days pass.")
    family = family_of(sim.device)
    family.check_ages(sim.device)
    sim.feed(NO_REQUESTS)
    if is_over(sim.arrays, 0):
        return
    control, params = sim.arrays.control[0, 0], sim.arrays.params[0, 0]
    if control["outstanding"] or control["free_transactions"] < params["window_pages"]:
        raise SsdgymError(
            f"device {sim.device.name} has requests or writes under way; advance to their end before days "
            "pass."
        )
    for _ in range(days):
        family.pass_day(sim.arrays, 0, sim.device)
        with in_no_time(sim, sim.policy):
            sim.proceed(iter(()))
