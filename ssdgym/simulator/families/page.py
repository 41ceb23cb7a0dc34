"""The page-mapping family: its thresholds in pages, the check that a full device can run, its metrics."""

import math
from typing import Any

import numpy as np

from ssdgym.config.device import DeviceConfig
from ssdgym.config.page import STREAMS, PageFtl
from ssdgym.engine.core import records
from ssdgym.engine.core.family import Sizes, State
from ssdgym.engine.decisions import ERASE, IDLE, LEVEL, PLACE, RELOCATE
from ssdgym.engine.page.family import PAGE
from ssdgym.engine.view import view_arrays
from ssdgym.enums import PlaneRows
from ssdgym.errors import SsdgymError
from ssdgym.policy import Rule
from ssdgym.policy.on_device import beside_on, rules_on, streams_of
from ssdgym.simulator import families
from ssdgym.simulator.memory import constants_of, memory_at, memory_bytes, memory_sizes

#: Counters of each stream that are metrics.
_COUNTED_BY_STREAM = (
    "host_pages_written",
    "relocated_pages",
    "overflow_pages",
    "victims",
    "victim_valid_pages",
)


def _shares_open_blocks(device: DeviceConfig) -> bool:
    """Return whether relocated pages have several streams, which share open blocks if few blocks are free."""
    ftl, placement = PageFtl.of(device.ftl), beside_on(device)["placement"]
    several = max(placement.relocation_streams, ftl.min_streams) > 1
    return several or (device.cells is not None and ftl.placement == "hot_cold")


def _open_blocks(device: DeviceConfig) -> int:
    """Return the largest number of open blocks of a plane: one per stream, and one for a levelling rule."""
    return streams_of(device) + (PageFtl.of(device.ftl).levelling is not None)


def _floor_blocks(device: DeviceConfig) -> int:
    """Return the minimum of free blocks in the pool of a plane between GC rounds.

    One block is for the host and one for relocated pages. One more is needed if streams share open blocks,
    and one more if cells wear out.
    """
    return 2 + _shares_open_blocks(device) + families.reserve_blocks(device)


def thresholds_of(device: DeviceConfig) -> dict[str, int]:
    """Return the thresholds of GC and the limit of valid pages of a plane, in pages.

    The names are those of PARAMS.
    """
    geometry, ftl = device.usable, PageFtl.of(device.ftl)
    gc = ftl.gc
    floor = _floor_blocks(device) * geometry.pages_per_block
    low_free = _pages(gc.free_fraction, geometry.plane_pages)
    low_pool = max((gc.free_blocks or 0) * geometry.pages_per_block, floor)
    background_free = _pages(gc.background_fraction, geometry.plane_pages)
    open_pages = _open_blocks(device) * geometry.pages_per_block
    kept = max(low_free, background_free, low_pool)
    barrier = gc.mode == "barrier"
    return {
        "low_free": low_free,
        "low_pool": low_pool,
        "stop_free": low_free if barrier else 0,
        "stop_pool": low_pool if barrier else floor,
        "floor_pool": floor,
        "background_free": background_free,
        "valid_limit": geometry.plane_pages - kept - open_pages,
    }


def _placed_by(rule: Rule) -> int:
    """Return the engine's code for the field `placement` of PARAMS: which pages a rule places, and where."""
    if rule.function is None:
        return records.IN_STREAMS
    if rule.relocation_streams == 0:
        return records.TO_THE_POOL
    return records.BY_RULE if rule.relocated_to is None else records.HOST_BY_RULE


def _pages(fraction: float | None, plane_pages: int) -> int:
    return 0 if fraction is None else math.ceil(fraction * plane_pages)


class PageFamily(families.FamilyBuilder):
    """Devices with page-level mapping."""

    engine = PAGE
    agent_decisions = frozenset({ERASE, PLACE, RELOCATE, IDLE, LEVEL})

    def check(self, device: DeviceConfig) -> None:
        """Raise if GC could not reach its threshold once the device is full, or if options do not fit."""
        planes, valid_limit = device.geometry.planes, thresholds_of(device)["valid_limit"]
        ftl, open_blocks = PageFtl.of(device.ftl), _open_blocks(device)
        # Checked here, not in the configuration, because a policy may bring another placement.
        if open_blocks > records.MAX_STREAMS:
            raise SsdgymError(
                f"device {device.name}: placement {ftl.placement} has {open_blocks - 1} streams and "
                f"leaves none of {records.MAX_STREAMS} for ftl.levelling; leave that out or choose another "
                "placement."
            )
        if ftl.multi_plane_rows == PlaneRows.ALIGNED and ftl.placement != "sep_gc":
            raise SsdgymError(
                f"device {device.name}: ftl.multi_plane_rows aligned needs a stream for the host alone; "
                f"choose the placement sep_gc, not {ftl.placement}."
            )
        if device.cells is not None and ftl.hotness.scatter.code:
            raise SsdgymError(
                f"device {device.name}: cells that wear out need ftl.hotness.scatter page, not "
                f"{ftl.hotness.scatter}."
            )
        most = math.ceil(device.logical_pages / planes)
        fits = device.logical_pages < planes * valid_limit
        if ftl.allocation == "static":
            fits = most <= valid_limit
        if not fits:
            raise SsdgymError(
                f"device {device.name}: the GC threshold (field ftl.gc) cannot be reached once the device "
                f"is full: a plane then holds {most} valid pages, and with the threshold and {open_blocks} "
                f"open blocks it has room for {max(valid_limit, 0)}; lower the threshold, or raise "
                "over_provisioning."
            )

    def params(self, device: DeviceConfig) -> dict[str, Any]:
        """Return thresholds, streams, options of the FTL, placement, and constants for rules."""
        ftl, beside = PageFtl.of(device.ftl), beside_on(device)
        gc, rule, levelling = ftl.gc, beside["placement"], beside.get("levelling")
        # If GC repeats rounds up to a threshold, each round must reclaim pages.
        repeated = gc.mode == "barrier" or gc.start == "queue_empty" or gc.background_fraction or gc.idle
        most_padding = ftl.pad_limit or device.geometry.pages_per_block - 1
        last = STREAMS.get(ftl.placement, streams_of(device)) - 1
        return {
            "allocation": ftl.allocation.code,
            "streams": streams_of(device),
            "gc_stream": last if rule.relocated_to is None else rule.relocated_to,
            "overflows": _shares_open_blocks(device),
            **thresholds_of(device),
            "multi_plane_writes": ftl.multi_plane_writes,
            "copyback": gc.copyback,
            "multi_plane_reads": ftl.multi_plane_reads,
            "pad_limit": most_padding if ftl.multi_plane_rows == PlaneRows.PAD else 0,
            "aligned_rows": ftl.multi_plane_rows == PlaneRows.ALIGNED,
            "counts_updates": ftl.hotness.counts.code,
            "keeps_blocks": ftl.hotness.scatter.code,
            "early_writes": ftl.write_completes.code,
            "defers_gc": gc.start.code,
            "whole_rounds": gc.grain.code,
            "must_gain": bool(repeated),
            "preemptible": gc.preemptible,
            "levels": records.LEVELS | records.BY_LIMITS * levelling.oracle if levelling else 0,
            "placement": _placed_by(rule),
            "targets": rule.targets,
            "memory_at": memory_at(device),
            **constants_of(device),
            "reads_first": gc.priority.code,
        }

    def sizes(self, device: DeviceConfig) -> Sizes:
        """Return the lengths of the arrays of rounds, open blocks and buckets, and of memory for rules."""
        geometry = device.geometry
        return {
            "round_pairs": geometry.planes * records.MAX_PAIRS,
            "open_sub_blocks": geometry.planes * records.MAX_STREAMS,
            "buckets": geometry.planes * (device.usable.pages_per_block + 1),
            **memory_sizes(device),
        }

    def metrics(self, state: State, i: int, device: DeviceConfig) -> dict[str, Any]:
        """Return the sizes of the records and tables of rules, `overflow_share`, and the counts of streams.

        `policy_bytes_per_logical_page` is `policy_memory_bytes` per logical page. `streams` has, by number:
        pages programmed, `victims` (blocks), and the valid pages of victims when their rounds started. With a
        levelling rule there are `levelling_rounds` and `levelling_moves`, the pages moved by its rounds.
        """
        kept, for_controller = memory_bytes(device)
        count = streams_of(device)
        of_planes = state.stream[i].reshape(-1, records.MAX_STREAMS)
        by_stream = {
            str(k): {name: int(of_planes[name][:, k].sum()) for name in _COUNTED_BY_STREAM}
            for k in range(count)
        }
        counted = state.counters[i, 0]
        rule, written = rules_on(device)[0], counted["host_pages_written"] > 0
        own: Any = view_arrays(state, i, rule.memory, "place").memory
        of_levelling = ("levelling_rounds", "levelling_moves") if PageFtl.of(device.ftl).levelling else ()
        return {
            # The rule clears these counters at the first page after a reset; without a page they are 0.
            **{name: int(own[name][0]) if written else 0 for name in rule.counted},
            **({"streams": by_stream} if count > 1 else {}),
            **{name: int(counted[name]) for name in of_levelling},
            "overflow_share": families.ratio(int(counted["overflow_pages"]), int(counted["relocated_pages"])),
            "policy_memory_bytes": kept,
            "controller_table_bytes": for_controller,
            "policy_bytes_per_logical_page": kept / device.logical_pages,
        }

    def reset_metrics(self, state: State, i: int) -> None:
        """Clear the counters, and in each block the length of the run of relocated pages that may go on."""
        super().reset_metrics(state, i)
        for name in _COUNTED_BY_STREAM:
            state.stream[name][i] = 0
        state.block["relocated_run"][i] = 0

    def page_map(self, state: State, i: int, device: DeviceConfig) -> families.PageMap:
        """Return the map of pages of device `i`, without isolation layers."""
        geometry, params = device.usable, state.params[i, 0]
        count = geometry.physical_pages
        ppn, per_sub_block = np.arange(count), int(params["pages_per_sub_block"])
        written = ppn % per_sub_block < np.repeat(
            state.sub_block["written"][i, : count // per_sub_block], per_sub_block
        )
        newest = state.logical["ppn"][i][state.physical["lpn"][i, :count]] == ppn
        pages = np.where(written, np.where(newest, families.VALID, families.INVALID), families.FREE)
        blocks = geometry.planes * geometry.blocks_per_plane
        return families.PageMap.of(geometry, pages, state.block["status"][i, :blocks] & records.OPEN)

    def weighed(self, device: DeviceConfig) -> dict[str, Any]:
        """Return the times of commands if a rule places pages, otherwise the costs of sub-block erases."""
        if beside_on(device)["placement"].function is not None:
            return super().weighed(device)
        return constants_of(device) if device.erase_unit != "block" else {}

    def whole_blocks_kept(self, device: DeviceConfig) -> int:
        """Return the number of blocks that stay in a plane's pool plus the number of its open blocks."""
        ftl = PageFtl.of(device.ftl)
        return max(_floor_blocks(device), ftl.gc.free_blocks or 0) + _open_blocks(device)
