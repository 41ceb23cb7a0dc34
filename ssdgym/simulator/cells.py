"""Cells that wear out: drawing of limits, start of a life, and its metrics."""

from typing import Any

import numpy as np
import numpy.typing as npt

from ssdgym.config.cells import EnduranceConfig
from ssdgym.config.device import DeviceConfig
from ssdgym.engine.core.bits import ENDURANCE_STREAM
from ssdgym.engine.core.family import State
from ssdgym.enums import Capacity
from ssdgym.simulator.families import erases_of, family_of, family_of_state, ratio, sub_blocks_of

_GOLDEN = 0x9E3779B97F4A7C15
_C1, _C2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
#: The last erase of a sub-block that endures more than can be counted.
_MOST_ERASES = 2**31 - 1


def cell_fields(device: DeviceConfig) -> dict[str, float]:
    """Return the constants of cells that wear out, by the names of PARAMS; none where they do not."""
    cells = device.cells
    if cells is None:
        return {}
    return {
        "endures": True,
        "shrinks": cells.capacity == Capacity.VARIANT,
        "least_capacity": max(round(cells.least_capacity * device.logical_pages), 1),
        "mean_endurance": cells.endurance.mean,
    }


def _uniform(seed: int, count: int, k: int) -> npt.NDArray[np.float64]:
    """Return numbers above 0 and up to 1: draw `k` of the endurance of each sub-block."""
    z = np.array([seed], np.uint64)
    for words in (ENDURANCE_STREAM, np.arange(count, dtype=np.uint64), k):
        numbers: npt.NDArray[np.uint64] = np.atleast_1d(np.asarray(words, np.uint64))
        z = np.asarray(z + (numbers + np.uint64(1)) * np.uint64(_GOLDEN), np.uint64)
        z = (z ^ (z >> np.uint64(30))) * _C1
        z = (z ^ (z >> np.uint64(27))) * _C2
        z = z ^ (z >> np.uint64(31))
    return ((z >> np.uint64(11)).astype(np.float64) + 1) * 2.0**-53


def drawn_limits(endurance: EnduranceConfig, seed: int, count: int) -> npt.NDArray[np.int64]:
    """Draw how many erases each sub-block endures, at least 1."""
    if endurance.spread == 0:
        return np.full(count, endurance.mean, np.int64)
    depth = -np.log(_uniform(seed, count, 0))
    # Box and Muller, Annals of Mathematical Statistics 29, 1958
    normal = np.sqrt(2 * depth) * np.cos(2 * np.pi * _uniform(seed, count, 1))
    limits = endurance.mean * (1 + endurance.spread * normal)
    return np.maximum(np.rint(limits), 1).astype(np.int64)


def begin_life(state: State, i: int, device: DeviceConfig) -> None:
    """Start the life of device `i`: count erases against limits from now on."""
    if device.cells is None:
        return
    state.life[i] = 0
    endurance, life = state.endurance[i, : sub_blocks_of(device)], state.life[i, 0]
    erases = erases_of(state, i, device)
    limits = drawn_limits(device.cells.endurance, int(state.params["seed"][i, 0]), len(erases))
    endurance["first"] = erases
    endurance["last"] = np.minimum(erases + limits, _MOST_ERASES)
    life["capacity"] = device.logical_pages
    life["began_at"] = state.control["clock"][i, 0]
    life["first_lost_at"] = -1
    life["programmed"] = -family_of_state(state).pages_programmed(state, i)


def is_over(state: State, i: int) -> bool:
    """Return whether device `i` is at the end of its life."""
    return bool(state.life["over"][i, 0])


def lifetime_metrics(state: State, i: int, device: DeviceConfig) -> dict[str, Any]:
    """Return the metrics of the life of a device whose cells wear out; none for others.

    `end_of_life`, and `lifetime`, which counts since the life began, whatever has been reset:

    | `lifetime` | meaning |
    |---|---|
    | `host_pages_written`, `pages_programmed` | by the host, and in all |
    | `endurance_used` | erases by the sum of all limits |
    | `endurance_per_host_page` | pages that all limits allow to be programmed, by host pages written, None \
    without any: at the end, write amplification over `endurance_used` |
    | `max_erases`, `mean_erases`, `erases_cv` | of sub-blocks: most, mean, standard deviation by mean |
    | `retired_blocks`, `host_pages_at_first_retirement` | and when the first one was, None before |
    | `logical_pages_left` | less than at first with `capacity: variant` only |
    """
    if device.cells is None:
        return {}
    life, endurance = state.life[i, 0], state.endurance[i, : sub_blocks_of(device)]
    first = endurance["first"].astype(np.int64)
    erases, limits = erases_of(state, i, device) - first, endurance["last"] - first
    first_lost, began = int(life["first_lost_at"]), int(life["began_at"])
    written = int(state.control["clock"][i, 0]) - began
    pages_each = device.usable.pages_per_block * device.units_per_page // device.usable.sub_blocks_per_block
    return {
        "end_of_life": is_over(state, i),
        "lifetime": {
            "host_pages_written": written,
            "pages_programmed": int(life["programmed"]) + family_of(device).pages_programmed(state, i),
            "endurance_used": int(np.minimum(erases, limits).sum()) / int(limits.sum()),
            "endurance_per_host_page": ratio(int(limits.sum()) * pages_each, written),
            "max_erases": int(erases.max()),
            "mean_erases": float(erases.mean()),
            "erases_cv": ratio(float(erases.std()), float(erases.mean())),
            "retired_blocks": int(life["retired_blocks"]),
            # a float, as `None` may stand beside it in the array of a vector environment
            "host_pages_at_first_retirement": None if first_lost < 0 else float(first_lost - began),
            "logical_pages_left": int(life["capacity"]),
        },
    }
