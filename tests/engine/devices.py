"""Small devices and requests, for tests of everything that runs a device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ssdgym.config.device import DeviceConfig
from ssdgym.config.geometry import CapacityConfig
from ssdgym.engine.core.family import State
from ssdgym.requests import FLUSH, READ, REQUEST, SYNC, TRIM, WRITE
from ssdgym.simulator import Simulator
from ssdgym.simulator.build import content
from ssdgym.simulator.families.page import thresholds_of

#: One policy of every kind and parameter.
POLICIES = (
    "random",
    "fifo",
    "greedy",
    "d_choices(d=3)",
    "windowed_greedy(window=4)",
    "cost_benefit",
    "cost_benefit(exponent=0.5, since_close=1)",
    "ippbe(limit=3, tau=0.75)",
)

#: Where two runs of one device may differ without being different: their place in the input chunk, where the
#: next stop is, and how many latencies they keep.
INPUT_FIELDS = ("cursor", "horizon")
RECORDINGS = ("latency", "tail")


def device(
    geometry: dict[str, Any] | None = None, ftl: dict[str, Any] | None = None, **fields: Any
) -> DeviceConfig:
    """Two planes of 16 blocks of 8 pages, at 60 % over-provisioning.

    Args:
        geometry: other fields of the geometry.
        ftl: other fields of the FTL.
        fields: other fields of the device; `logical_pages` and `over_provisioning` stand for the capacity.
    """
    capacity = {name: fields.pop(name) for name in CapacityConfig.model_fields if name in fields}
    description: dict[str, Any] = {
        "name": "small",
        "geometry": {
            "channels": 2,
            "blocks_per_plane": 16,
            "pages_per_block": 8,
            "page_size_bytes": 4096,
            **(geometry or {}),
        },
        "timing": {"read_ns": 50, "program_ns": 600, "erase_ns": 3000, "transfer_ns_per_byte": 0.01},
        "energy": {"read_uj": 2.0, "program_uj": 10.0, "erase_uj": 20.0},
        "ftl": {"timing": "none", "gc": {"free_blocks": 2}, **(ftl or {})},
        "capacity": capacity or {"over_provisioning": 0.6},
        **fields,
    }
    return DeviceConfig.model_validate(description)


def full_device(
    geometry: dict[str, Any] | None = None, ftl: dict[str, Any] | None = None, **fields: Any
) -> DeviceConfig:
    """The same with as many logical pages as its GC threshold allows at all."""
    sized = device(geometry, ftl, logical_pages=1, **fields)
    most = sized.geometry.planes * thresholds_of(sized)["valid_limit"] - (sized.ftl.allocation != "static")
    return device(geometry, ftl, logical_pages=most, **fields)


def requests(*rows: tuple[int, ...]) -> np.ndarray:
    """Requests of (op, page, pages), or of (op, page, pages, flags), all arriving at once."""
    made = np.zeros(len(rows), REQUEST)
    for request, (op, lpn, pages, *flags) in zip(made, rows, strict=True):
        request["op"], request["lpn"], request["pages"], request["flags"] = op, lpn, pages, sum(flags)
    return made


def writes(pages: Any, op: int = WRITE) -> np.ndarray:
    """One write, or another request, of one page for each logical page number, all arriving at once."""
    made = np.zeros(len(pages), REQUEST)
    made["lpn"], made["pages"], made["op"] = pages, 1, op
    return made


def random_writes(count: int, logical_pages: int, seed: int = 0) -> np.ndarray:
    """Single-page writes, uniform over the logical space."""
    return writes(np.random.default_rng(seed).integers(0, logical_pages, count))


def mixed_requests(count: int, logical_pages: int, seed: int = 0, gap_ns: int = 200) -> np.ndarray:
    """Reads, writes and some trims of one to three pages, partial ones among them, arriving over time."""
    rng = np.random.default_rng(seed)
    requests = np.zeros(count, REQUEST)
    requests["arrival_ns"] = np.cumsum(rng.integers(0, gap_ns + 1, count))
    requests["pages"] = rng.integers(1, 4, count)
    requests["lpn"] = rng.integers(0, logical_pages - 3, count)
    requests["op"] = rng.choice([READ, WRITE, TRIM], count, p=[0.3, 0.65, 0.05])
    requests["flags"] = rng.integers(0, 4, count)
    return requests


def sync_requests(count: int, logical_pages: int, seed: int = 0, gap_ns: int = 200_000) -> np.ndarray:
    """Requests of all ops, most of them small writes to a few pages that the host waits for."""
    rng = np.random.default_rng(seed)
    requests = np.zeros(count, REQUEST)
    requests["arrival_ns"] = np.cumsum(rng.integers(0, gap_ns + 1, count))
    requests["op"] = rng.choice([READ, WRITE, TRIM, FLUSH], count, p=[0.2, 0.72, 0.06, 0.02])
    few = rng.random(count) < 0.7
    last = logical_pages - 8
    requests["lpn"] = np.where(few, rng.integers(0, last // 8, count), rng.integers(0, last, count))
    requests["pages"] = np.where(few, 1, rng.integers(1, 9, count))
    requests["pages"][requests["op"] == FLUSH] = 0
    requests["flags"] = np.where(rng.random(count) < 0.6, SYNC, 0)
    return requests


def off_by(change: int, record: str, field: str, place: Callable[[State], int] = lambda state: -1) -> Any:
    """Return what miscounts a field of one of a device's records, the last one unless named."""

    def damage(state: State) -> None:
        getattr(state, record)[field][0, place(state)] += change

    damage.__name__ = f"{record}_{field}"
    return damage


def differences(a: State, i: int, b: State, j: int) -> list[str]:
    """Arrays, and fields of them, in which device ``i`` of ``a`` and device ``j`` of ``b`` are not the same.

    Arrays of a batch padded to a larger device are compared over the length that both have.
    """
    found = []
    for name, x, y in zip(a._fields, a, b, strict=True):
        if name in RECORDINGS:
            continue
        common = tuple(slice(min(sizes)) for sizes in zip(x.shape[1:], y.shape[1:], strict=True))
        left, right = x[i][common], y[j][common]
        if left.dtype.names is None:
            found += [] if np.array_equal(left, right) else [name]
        else:
            fields = [f for f in left.dtype.names if name != "control" or f not in INPUT_FIELDS]
            found += [f"{name}.{f}" for f in fields if not np.array_equal(left[f], right[f])]
    return found


def same_device(a: State, i: int, b: State, j: int) -> bool:
    """Return whether device `i` of one batch and device `j` of another are equal in every value."""
    return all(
        x.shape[1:] == y.shape[1:] and content(x[i]) == content(y[j]) for x, y in zip(a, b, strict=True)
    )


def same_as(one: Simulator, other: Simulator) -> bool:
    """Return whether two devices are equal in every value of their state."""
    return same_device(one.arrays, 0, other.arrays, 0)
