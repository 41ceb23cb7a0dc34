"""The engine and the naive reference side by side: same configuration, same requests, all state compared."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ssdgym.config.device import DeviceConfig
from ssdgym.engine.core.records import INDEXED, MAX_STREAMS, RETIRED, WORN
from ssdgym.engine.entries import attach
from ssdgym.engine.view import view_arrays
from ssdgym.policy import rules_for
from ssdgym.policy.names import label_of
from ssdgym.policy.on_device import rules_on, streams_of
from ssdgym.requests import READ, REQUEST, WRITE
from ssdgym.simulator import Recording, Simulator
from ssdgym.simulator.metrics import metrics_of
from tests.engine.audit_tables import kept_by, tables_fault
from tests.reference import Reference, ReferenceConfig, erase_sets
from tests.reference.erase_sets import MOST_PAIRS, Pair
from tests.reference.page import policies

#: Our name of a policy, and the reference's function.
POLICIES: dict[str, Any] = {
    "random": policies.random_victim,
    "fifo": policies.fifo,
    "greedy": policies.greedy,
    "d_choices(d=3)": policies.d_choices(3),
    "windowed_greedy(window=2)": policies.windowed_greedy(2),
    "cost_benefit": policies.cost_benefit(1, False),
    "cost_benefit(exponent=2, since_close=1)": policies.cost_benefit(2, True),
    "ippbe(limit=3,tau=0.75)": policies.ippbe(3, 0.75),
    "parallel_gc": policies.parallel_gc,
    "chain": policies.chain,
}
#: What a policy needs of the device, by field.
NEEDS: dict[str, dict[str, Any]] = {
    "parallel_gc": {"multi_plane": "strict"},
    "chain": {"placement": "midas"},
}
#: `ippbe` by its parameters: units of a plane, share of valid pages, whether of all units together.
IPPBE: dict[str, Any] = {
    f"ippbe(limit={limit}, tau={tau}, together={together})": policies.ippbe(limit, tau, bool(together))
    for limit, tau in [(1, 2.0), (2, 0.25), (3, 0.5), (4, 1.0), (8, 2.0)]
    for together in (0, 1)
}
#: Those that erase sub-blocks, with the erase unit they need.
SET_POLICIES: dict[str, tuple[str, Any]] = {
    "gsm": ("sub_block_run", policies.best_set),
    "pb": ("sub_block_set", policies.best_set),
}

#: All placements there are, those that put pages in streams only, and those that ask for their hotness.
PLACEMENTS = ("single", "sep_gc", "hot_cold", "hot_to_victims", "hotness_groups")
STREAM_PLACEMENTS = PLACEMENTS[:3]
HOT_PLACEMENTS = PLACEMENTS[2:]
#: Parameters of the placements that are rules, with the largest values that small devices have a use for.
RULE_PARAMETERS: dict[str, dict[str, int]] = {
    "dac": {},
    "fadac": {"inclusive": 1},
    "hints": {},
    "hints_isolated": {},
    "mida": {},
    "mida_hot": {},
    "midas": {},
    "multi_log": {},
    "sepbit": {"nc": 3},
    "sfs": {"period": 3},
    "td_lifetime": {"bootstrap": 1, "planned": 1},
}
#: Rules for idle dies.
IDLE_RULES = ("blocking", "threshold", "idle_predict", "idle_hazard", "oracle_gap")
#: Rules for free blocks.
ALLOCATIONS = ("first_freed", "least_worn")
#: Rules that level wear, and their parameters with the largest values that small devices have a use for.
LEVELLINGS: dict[str, dict[str, int]] = {
    "dual_pool": {"threshold": 4},
    "greedy_mp": {"threshold": 3},
    "known_limits": {"threshold": 4},
    "progressive": {"endurance": 60, "least": 3},
    "rejuvenator": {"tau": 6},
    "swl": {"threshold": 4, "k": 2},
    "wear_threshold": {"threshold": 5},
}
#: Of every sub-block, under hardware isolation.
ISOLATION_LAYERS = 2
RECORDING = Recording(latencies=1 << 12, slowest=4)


def device_config(c: ReferenceConfig) -> DeviceConfig:
    """The reference's configuration as one of ours."""
    plane_pages = c.blocks_per_plane * c.pages_per_block

    def fraction(pages: int | None) -> float | None:
        # Half a page less is rounded up to the whole page again, whatever the division does.
        return None if pages is None else (pages - 0.5) / plane_pages

    # Layers of one page, so that isolation can take any number of pages.
    layers = c.pages_per_sub_block + (ISOLATION_LAYERS if c.isolation == "hardware" else 0)
    return described(
        c,
        {
            "geometry": {
                "sub_blocks_per_block": c.sub_blocks_per_block,
                "pages_per_block": c.sub_blocks_per_block * layers,
                "layers_per_block": c.sub_blocks_per_block * layers,
                "page_size_bytes": 1,
            },
            "erase_unit": c.erase_unit,
            "isolation": c.isolation,
            "isolation_layers": ISOLATION_LAYERS,
            "multi_plane": c.multi_plane,
            "timing": {"transfer_ns_per_byte": c.transfer_ns},
            "ftl": {
                "placement": label_of(c.placement, c.parameters),
                "block_allocation": c.block_allocation,
                "levelling": c.levelling and label_of(c.levelling, c.levelling_parameters),
                "allocation": c.allocation,
                "multi_plane_writes": c.multi_plane_writes,
                "multi_plane_rows": c.multi_plane_rows,
                "pad_limit": c.pad_limit,
                "multi_plane_reads": c.multi_plane_reads,
                "write_completes": c.write_completes,
                "hotness": {
                    "hashes": c.hashes,
                    **row_length(c),
                    "decay_period": c.decay_period,
                    "counts": c.hotness_counts,
                    "scatter": c.hotness_scatter,
                    "thresholds": list(c.thresholds),
                },
                "gc": {
                    "mode": c.gc_mode,
                    "free_fraction": fraction(c.threshold_pages),
                    "free_blocks": c.threshold_blocks,
                    **({"background_fraction": fraction(c.background_pages)} if c.idle is None else {}),
                    **({} if c.idle is None else {"idle": idle_label(c)}),
                    "preemptible": c.preemptible,
                    "priority": c.gc_priority,
                    "start": c.gc_start,
                    "grain": c.gc_grain,
                    "copyback": c.copyback,
                },
            },
        },
    )


def described(c: ReferenceConfig, of_family: dict[str, dict[str, Any] | Any]) -> DeviceConfig:
    """A device of any family, with what the reference's configuration says in all of them."""
    of_all: dict[str, dict[str, Any]] = {
        "geometry": {
            "channels": c.channels,
            "chips_per_channel": c.chips_per_channel,
            "dies_per_chip": c.dies_per_chip,
            "planes_per_die": c.planes_per_die,
            "blocks_per_plane": c.blocks_per_plane,
        },
        "capacity": {"logical_pages": c.logical_pages},
        "timing": {"read_ns": c.read_ns, "program_ns": c.program_ns, "erase_ns": c.erase_ns},
        "ftl": {
            "timing": c.timing,
            "queue_depth": c.queue_depth if c.closed_loop else 0,
            "window_pages": c.window_pages,
        },
    }
    merged = {part: {**fields, **of_family.get(part, {})} for part, fields in of_all.items()}
    if c.endurance is not None:
        merged["cells"] = cells_of(c)
    return DeviceConfig.model_validate({"name": "oracle", **of_family, **merged})


def cells_of(c: ReferenceConfig) -> dict[str, Any]:
    """How the cells wear out."""
    variant = {"capacity": "variant", "least_capacity": c.least_capacity / c.logical_pages}
    return {
        "endurance": {"mean": c.endurance, "spread": c.endurance_spread},
        **({"disturbance_wears": True} if c.disturbance_wears else {}),
        **(variant if c.capacity == "variant" else {}),
    }


def row_length(c: ReferenceConfig) -> dict[str, int]:
    """Of the hotness table, given one way or the other."""
    if c.pages_per_counter is None:
        return {"counters": c.counters}
    return {"pages_per_counter": c.pages_per_counter}


def idle_label(c: ReferenceConfig) -> str:
    """Our name of an idle rule; who decides outside is asked in place of the one that does nothing."""
    if c.idle in ("blocking", "outside"):
        return "blocking"
    return f"{c.idle}(blocks={c.idle_blocks})"


def request_array(requests: list[tuple[int, ...]]) -> np.ndarray:
    """Requests as the engine takes them."""
    return np.array([(*request, 0)[:6] for request in requests], REQUEST)


def export_of_all(sim: Simulator) -> dict[str, Any]:
    """What devices of every family have, in the reference's terms."""
    state, control = sim.state, sim.state.control[0, 0]
    logical, heads = state.logical[0], state.plane[0]["pool_head"][: sim.device.geometry.planes]
    return {
        "logical_ppn": logical["ppn"].tolist(),
        "logical_version": logical["version"].tolist(),
        "accepted": (logical["version"] + state.in_flight[0]).tolist(),
        "erases": state.sub_block[0]["erases"].tolist(),
        "pool": [walk(state.block[0], head, "next_pool") for head in heads],
        "clock": int(control["clock"]),
        "now": int(control["now"]),
    }


def export_of_collecting(sim: Simulator) -> dict[str, Any]:
    """What devices that collect in rounds have besides."""
    state, planes = sim.state, range(sim.device.geometry.planes)
    plane, control = state.plane[0], state.control[0, 0]
    timed = sim.device.ftl.timing == "event"
    collecting = plane["collecting"] if timed else np.array(planes) == control["gc_plane"]
    heads = state.bucket[0]["head"].reshape(len(planes), -1)
    return {
        **export_of_all(sim),
        "ages": [walk(state.block[0], plane[p]["age_head"], "next_age") for p in planes],
        "buckets": [[walk(state.block[0], head, "next_bucket") for head in heads[p]] for p in planes],
        "free_pages": plane["free_pages"].tolist(),
        "rounds": [pairs_of(sim, p) for p in planes],
        "foreground": [bool(flag) for flag in collecting],
        "die_cursor": int(control["die_cursor"]),
        "plane_cursors": state.die[0]["plane_cursor"].tolist(),
        "est": state.die[0]["estimate_ns"].tolist(),
    }


def engine_export(sim: Simulator) -> dict[str, Any]:
    """The engine's state in the reference's terms."""
    state, g = sim.state, sim.device.usable
    sub, block, subs = state.sub_block[0], state.block[0], state.open_sub_block[0]
    return {
        **export_of_collecting(sim),
        "physical": [(int(p["lpn"]), int(p["version"])) for p in state.physical[0]],
        "written": sub["written"].tolist(),
        "valid": (sub["written"] - sub["invalid"]).tolist(),
        "closed_at": block["closed_at"].tolist(),
        "invalidated_at": block["invalidated_at"].tolist(),
        "open": [
            [
                _block_of(sim, subs[p * MAX_STREAMS + s])
                for s in range(streams_of(sim.device) + (sim.device.ftl.levelling is not None))
            ]
            for p in range(g.planes)
        ],
        "leaders": state.plane[0]["round_leader"].tolist(),
        "indexed": np.flatnonzero(block["status"] & INDEXED).tolist(),
        **export_of_life(sim),
        "hotness": _counters(sim),
        "groups": _groups(sim),
    }


def export_of_life(sim: Simulator) -> dict[str, Any]:
    """Of cells that wear out; nothing of others."""
    if sim.device.cells is None:
        return {}
    state, life = sim.state, sim.state.life[0, 0]
    status = state.block[0]["status"]
    return {
        "limits": (state.endurance["last"] - state.endurance["first"])[0].tolist(),
        "worn": np.flatnonzero(status & WORN).tolist(),
        "retired": np.flatnonzero(status & RETIRED).tolist(),
        "gone": state.plane[0]["gone_pages"].tolist(),
        "capacity_left": int(life["capacity"]),
        "first_lost_at": int(life["first_lost_at"]),
        "over": bool(life["over"]),
    }


def pairs_of(sim: Simulator, plane: int) -> list[Pair]:
    """The running round that the plane leads; empty where it leads none."""
    leading = sim.state.plane[0, plane]
    if leading["round_leader"] != plane:
        return []
    jobs = sim.state.round_pairs[0, plane * MOST_PAIRS : plane * MOST_PAIRS + leading["round_count"]]
    return [(int(job["block"]), int(job["mask"])) for job in jobs]


def _counters(sim: Simulator) -> list[int]:
    """The hotness table row by row; empty where the placement asks for none."""
    ftl = sim.device.ftl
    if ftl.placement not in HOT_PLACEMENTS:
        return []
    view = _placement_view(sim)
    groups = ftl.placement == "hotness_groups"
    first = sim.device.usable.planes * int(view.memory[0]["plane_words"]) if groups else 0
    count = ftl.hotness.hashes * ftl.hotness.counters_of(sim.logical_pages)
    return [int(view.table[first + (c >> 3)]) >> (4 * (c & 7)) & 15 for c in range(count)]


def _groups(sim: Simulator) -> list[list[int]]:
    """The group of every block, plane by plane; empty where blocks have none."""
    if sim.device.ftl.placement != "hotness_groups":
        return []
    from_zero = _placement_view(sim).block_memory["group"].astype(int)
    return (from_zero + 1).reshape(sim.device.usable.planes, -1).tolist()


def _placement_view(sim: Simulator) -> Any:
    """What the placement of a device sees, which has been told of the device."""
    attach(sim.arrays, 0, rules_for(sim.device, sim.policy))
    return view_arrays(sim.state, 0, rules_on(sim.device)[0].memory, "place")


def check_best_sets(sim: Simulator, reference: Reference) -> None:
    """The best sets that rules hold for up to date are those the reference finds by trying all.

    With block groups all are kept up to date; otherwise those of blocks that have changed wait to be asked
    for. A running victim keeps the one it had, for its group's sake.
    """
    device, view = reference.device, kept_by(sim)
    victims = {block for pairs in device.rounds.values() for block, _ in pairs}
    if view is None:
        return
    for block, best in enumerate(view.block_memory):
        if best["stale"] or block in victims:
            continue
        mask = erase_sets.best_set_of_block(device, block) or 0
        assert int(best["mask"]) == mask, f"best set of block {block}"
        assert mask == 0 or int(best["gain"]) == erase_sets.invalid_in_set(device, block, mask)
    assert list(tables_fault(sim)) == []


def _block_of(sim: Simulator, unit: int) -> int:
    return -1 if unit < 0 else int(unit) // sim.device.geometry.sub_blocks_per_block


def walk(block: np.ndarray, head: int, link: str) -> list[int]:
    found = []
    while head >= 0:
        found.append(int(head))
        head = block[head][link]
    return found


def engine_latencies(sim: Simulator) -> dict[int, int]:
    """Latency in ns by the serial number of the request."""
    kept = sim.state.latency[0]
    return {int(serial): int(kept[serial]["ns"]) for serial in np.flatnonzero(kept["op"])}


def assert_same(sim: Simulator, reference: Reference) -> None:
    """All state, every counter and every latency agree."""
    theirs, counters = reference.export(), dict(reference.counters)
    if reference.config.allocation != "dynamic":
        del theirs["est"]  # the engine keeps estimates only where they bind a die
    theirs["indexed"] = sorted(b for ages in theirs["ages"] for b in ages)
    theirs["physical"] = [tuple(p) for p in theirs["physical"]]
    counters["gc_invocations"] = counters.pop("rounds")
    assert_same_in(sim, reference, engine_export(sim), theirs, counters)
    check_best_sets(sim, reference)
    of_planes = sim.state.stream["overflow_pages"][0].reshape(-1, MAX_STREAMS)
    assert of_planes.sum(axis=0)[: len(reference.device.overflow)].tolist() == reference.device.overflow


def assert_same_in(
    sim: Simulator,
    reference: Reference,
    ours: dict[str, Any],
    theirs: dict[str, Any],
    counters: dict[str, int],
) -> None:
    """These states, counters and all latencies agree, in any family."""
    for key in theirs:
        assert ours[key] == theirs[key], f"{key}: {ours[key]} against {theirs[key]}"
    metrics = metrics_of(sim.state, 0, sim.device)
    for name, value in counters.items():
        assert (metrics[name] if name in metrics else sim.state.counters[0, 0][name]) == value, name
    assert engine_latencies(sim) == reference.latencies
    assert_same_waits(sim, reference)


def assert_same_waits(sim: Simulator, reference: Reference) -> None:
    """The parts of all latencies agree in their sums, and waiting for garbage collection in its p99."""
    counters, metrics = sim.state.counters[0, 0], metrics_of(sim.state, 0, sim.device)
    met = 0
    for op, name in ((READ, "read"), (WRITE, "write")):
        parts = reference.waits.of_op(op)
        waits = sorted(part.gc_wait_ns for part in parts)
        met += np.count_nonzero(waits)
        assert counters[f"{name}_service_sum_ns"] == sum(part.service_ns for part in parts), name
        assert counters[f"{name}_gc_wait_sum_ns"] == sum(waits), name
        p99 = metrics[f"{name}_parts_ns"]["gc_wait_p99"]
        if waits:
            exact = waits[math.ceil(0.99 * len(waits)) - 1]
            assert abs(p99 - exact) <= exact / 128, name
        else:
            assert p99 is None
    assert counters["met_gc_requests"] == met


def run_in_pieces(
    sim: Simulator,
    reference: Reference,
    requests: list[Any],
    chunks: list[int],
    horizon: int | None,
    go_on: Callable[[np.ndarray, bool], Any],
) -> None:
    """Give both the requests in pieces, until the input ends or so many pages are written.

    The engine goes on by `go_on`, which is called with a piece that has been fed, and whether it is the last.
    """
    sim.set_horizon(horizon)
    bounds = [0, *sorted(chunks), len(requests)]
    for number, (first, end) in enumerate(itertools.pairwise(bounds)):
        last = number == len(bounds) - 2
        piece = request_array(requests[first:end])
        sim.feed(piece)
        go_on(piece, last)
        reference.run(requests[first:end], horizon=horizon, last=last)
        if reference.has_ended:
            break
