"""Wear of cells: draw how many erases sub-blocks endure, begin the life of a device, and measure it."""

from typing import Any

import numpy as np
import numpy.typing as npt

from ssdgym.config.cells import EnduranceConfig
from ssdgym.config.device import DeviceConfig
from ssdgym.engine.core.bits import ENDURANCE_STREAM, draw
from ssdgym.engine.core.family import State
from ssdgym.engine.core.kernel import entry
from ssdgym.enums import Capacity
from ssdgym.simulator.families import erases_of, family_of, family_of_state, ratio, sub_blocks_of

#: Largest erase count that can be stored; no sub-block endures more erases.
_MOST_ERASES = 2**31 - 1


def cell_fields(device: DeviceConfig) -> dict[str, float]:
    """Return the constants of wear, by the names of PARAMS; empty if cells do not wear out."""
    cells = device.cells
    if cells is None:
        return {}
    return {
        "endures": True,
        "shrinks": cells.capacity == Capacity.VARIANT,
        "least_capacity": max(round(cells.least_capacity * device.logical_pages), 1),
        "mean_endurance": cells.endurance.mean,
    }


@entry
def _draw(seed: Any, found: Any) -> Any:
    """Fill (n, 2) with numbers above 0 and up to 1: two draws for each of n sub-blocks."""
    for sub in range(found.shape[0]):
        for k in range(found.shape[1]):
            bits = draw(seed, ENDURANCE_STREAM, sub, k) >> np.uint64(11)
            found[sub, k] = (np.float64(bits) + 1.0) * 2.0**-53


def drawn_limits(endurance: EnduranceConfig, seed: int, count: int) -> npt.NDArray[np.int64]:
    """Draw how many erases each of `count` sub-blocks endures, at least 1: int64 (count,)."""
    if endurance.spread == 0:
        return np.full(count, endurance.mean, np.int64)
    drawn = np.empty((count, 2))
    _draw(np.uint64(seed), drawn)
    # Box and Muller, Annals of Mathematical Statistics 29, 1958
    normal = np.sqrt(-2 * np.log(drawn[:, 0])) * np.cos(2 * np.pi * drawn[:, 1])
    limits = endurance.mean * (1 + endurance.spread * normal)
    return np.maximum(np.rint(limits), 1).astype(np.int64)


def begin_life(state: State, i: int, device: DeviceConfig) -> None:
    """Begin the life of device `i`: erases after this call count against newly drawn limits."""
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
    """Return the lifetime metrics of a device; empty if its cells do not wear out.

    They are `end_of_life` and `lifetime`, whose counts begin with the life of the device and are never reset:

    | `lifetime` | meaning |
    |---|---|
    | `host_pages_written`, `pages_programmed` | pages written by the host; pages programmed in all |
    | `endurance_used` | erases of all sub-blocks / erases that all sub-blocks endure |
    | `endurance_per_host_page` | pages that all these erases allow to program / host pages written, None if \
    there are none; at the end of life: write amplification / `endurance_used` |
    | `max_erases`, `mean_erases`, `erases_cv` | erases of sub-blocks: most, mean, standard deviation / mean |
    | `retired_blocks` | number of blocks that are worn and no longer used |
    | `host_pages_at_first_retirement` | host pages written before the first block retired; None if none has |
    | `logical_pages_left` | logical pages; only `capacity: variant` lowers their number |
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
            # A float, as in a column of results that also contains None.
            "host_pages_at_first_retirement": None if first_lost < 0 else float(first_lost - began),
            "logical_pages_left": int(life["capacity"]),
        },
    }
