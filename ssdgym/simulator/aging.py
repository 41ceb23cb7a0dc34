"""Reads that have errors, around the engine: constants, the beginning of ages, days that pass, metrics."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from ssdgym.config.device import DeviceConfig
from ssdgym.engine.core.family import State
from ssdgym.engine.entries import call_on
from ssdgym.engine.page.refresh import begin_patrols
from ssdgym.engine.page.state import MAX_LIMITS
from ssdgym.enums import ReadsOf, TimeUnit
from ssdgym.errors import SsdgymError
from ssdgym.simulator.families import erases_of, family_of, sub_blocks_of

_SECONDS = {TimeUnit.HOUR: 3_600, TimeUnit.DAY: 86_400}
_DAY_NS = 86_400 * 10**9
#: Of a hundred years, as many as can be counted beside the clock.
_MOST_DAYS = 36_500
#: What is counted since the last reset of the metrics.
COUNTED = ("read_retries", "uncorrectable_reads", "refreshes", "refreshed_pages")


def check_bit_errors(device: DeviceConfig) -> None:
    """Raise if reads have errors and the device's family has none."""
    if device.bit_errors is not None and not family_of(device).has_bit_errors:
        raise SsdgymError(
            f"device {device.name}: reads have no errors with ftl.mapping {device.ftl.mapping}; leave "
            "bit_errors out."
        )


def error_constants(device: DeviceConfig) -> dict[str, Any]:
    """Return the constants of a device whose reads have errors, by the names of ERROR_MODEL."""
    errors = device.bit_errors
    if errors is None:
        return {}
    geometry = device.usable
    pages = geometry.pages_per_block // geometry.sub_blocks_per_block
    return {
        "base": errors.base,
        "wear_factor": errors.wear.factor,
        "wear_cycles": errors.wear.cycles,
        "retention_factor": errors.retention.factor,
        "retention_cycles": errors.retention.cycles,
        "retention_time": errors.retention.time,
        "disturb_factor": errors.disturb.factor,
        "disturb_cycles": errors.disturb.cycles,
        "disturb_reads": errors.disturb.reads,
        "refresh_above": math.inf if errors.refresh_above is None else errors.refresh_above,
        "unit_ns": _SECONDS[errors.time_unit] * 1e9,
        "read_pages": pages if errors.reads_of == ReadsOf.PAGE else 1,
        "cycles_before": errors.cycles_before,
        "retries": errors.retries,
        "limits": [*errors.limits, *[1.0] * (MAX_LIMITS - len(errors.limits))],
    }


def begin_ages(state: State, i: int, device: DeviceConfig) -> None:
    """Let what device `i` holds be new, its cells be as worn as at first, and no read have been made."""
    if device.bit_errors is None:
        return
    state.aging[i] = state.patrol[i] = 0
    age = state.age[i, : sub_blocks_of(device)]
    age["begun_ns"] = state.control["now"][i, 0]
    age["reads"] = 0
    age["first"] = erases_of(state, i, device)


def pass_day(state: State, i: int, device: DeviceConfig) -> None:
    """Make the data of device `i` a day older, and begin patrols."""
    aging = state.aging[i]
    if aging["passed_ns"][0] >= _MOST_DAYS * _DAY_NS:
        raise SsdgymError(f"device {device.name}: {_MOST_DAYS} days have passed, which is the most.")
    aging["passed_ns"] += _DAY_NS
    call_on(begin_patrols, state, i)


def error_rates(state: State, i: int, device: DeviceConfig) -> npt.NDArray[np.float64]:
    """Return the raw bit error rates of the sub-blocks of device `i` that hold data, shape (n,)."""
    errors, subs = device.bit_errors, slice(sub_blocks_of(device))
    assert errors is not None
    model, age, sub_block = state.error_model[i, 0], state.age[i, subs], state.sub_block[i, subs]
    cycles = sub_block["erases"] - age["first"] + model["cycles_before"]
    now_ns = state.control["now"][i, 0] + state.aging["passed_ns"][i, 0]
    rates = errors.rate(
        cycles.astype(np.float64),
        (now_ns - age["begun_ns"]) / float(model["unit_ns"]),
        age["reads"] / float(model["read_pages"]),
    )
    return np.asarray(rates[sub_block["written"] > sub_block["invalid"]])


def error_metrics(state: State, i: int, device: DeviceConfig) -> dict[str, Any]:
    """Return what has come of errors; nothing for devices whose reads have none."""
    if device.bit_errors is None:
        return {}
    rates = error_rates(state, i, device)
    return {
        **{name: int(state.aging[name][i, 0]) for name in COUNTED},
        "mean_bit_error_rate": float(rates.mean()) if len(rates) else None,
        "max_bit_error_rate": float(rates.max()) if len(rates) else None,
    }
