"""Days that pass while the host does nothing."""

from __future__ import annotations

import numpy as np

from ssdgym.config.checks import is_whole
from ssdgym.errors import SsdgymError, shown
from ssdgym.requests import REQUEST
from ssdgym.simulator.families import family_of
from ssdgym.simulator.untimed.no_time import Runnable, in_no_time, seed_of

_EMPTY = np.zeros(0, REQUEST)
#: A hundred years: each day is looked at by itself.
_MOST_DAYS = 36_500


def pass_days(sim: Runnable, days: int) -> None:
    """Let the data on a device grow older by whole days.

    Args:
        sim: holds the device, whose input is used up afterwards.
        days: 1 to 36,500.

    Raises:
        SsdgymError: data does not age in the device's family, something is under way, or nobody takes
            decisions.
    """
    if not is_whole(days) or not 1 <= days <= _MOST_DAYS:
        raise SsdgymError(f"days must be a whole number from 1 to {_MOST_DAYS}, not {shown(days)}.")
    if sim.policy is None:
        raise SsdgymError("a simulator without a policy stops at decisions; give it one before days pass.")
    family = family_of(sim.device)
    family.check_ages(sim.device)
    sim.feed(_EMPTY)
    control, params = sim.arrays.control[0, 0], sim.arrays.params[0, 0]
    if control["outstanding"] or control["free_transactions"] < params["window_pages"]:
        raise SsdgymError(
            f"device {sim.device.name} has requests or writes under way; advance to their end before days "
            "pass."
        )
    for _ in range(days):
        family.pass_day(sim.arrays, 0, sim.device)
        with in_no_time(sim, sim.policy, seed_of(sim)):
            sim.proceed(iter(()))
