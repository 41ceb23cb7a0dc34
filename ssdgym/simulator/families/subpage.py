"""The sub-page family: its region and thresholds in units, the check that a full device can run, metrics."""

from typing import Any

import numpy as np

from ssdgym.config.device import DeviceConfig
from ssdgym.config.subpage import RETENTION_DAYS, SubpageFtl
from ssdgym.engine.core.family import Sizes, State
from ssdgym.engine.core.records import DYNAMIC, IN_STREAMS, MAX_PAIRS, MAX_STREAMS, OPEN
from ssdgym.engine.decisions import REGION
from ssdgym.engine.subpage.family import SUBPAGE_FAMILY
from ssdgym.engine.subpage.state import MAX_SLOTS, TALLY
from ssdgym.errors import SsdgymError
from ssdgym.simulator import families

_HOURS = 24
#: Largest number of calendar hours, which are stored in 32 bits.
_LAST_HOUR = 2**31 - 1
#: Bytes of an array entry and of a hash table entry in the mapping table; share of hash entries in use.
_ENTRY_BYTES, _HASH_ENTRY_BYTES, _LOAD_FACTOR = 4, 8, 0.5


class SubpageFamily(families.FamilyBuilder):
    """Devices whose logical pages are subpages of a page of flash.

    Space outside the region is counted in *units*: subpages if the kind is fgm, otherwise pages of flash.
    """

    engine = SUBPAGE_FAMILY
    fixed = ("params", "subpage")
    counted = ("counters", "tally")
    scratch = ("transaction", "carried")
    agent_decisions = frozenset({REGION})
    wins_by_erases = False  # a pass over a written region also reclaims room
    counts_pages = False  # the blocks of a region are not in the index, and units may be pages of flash

    def check(self, device: DeviceConfig) -> None:
        """Raise if GC of a full device could not reach its threshold or find a victim that reclaims space."""
        least = device.geometry.planes * _valid_limit(device)
        units = device.logical_pages // (device.units_per_page // _units_per_page(device))
        if units >= least:
            region = SubpageFtl.of(device.ftl).region_blocks_of(device.geometry)
            what = "subpages" if SubpageFtl.of(device.ftl).kind == "fgm" else "pages of flash"
            lower = "the threshold (field ftl.gc)" + (" or the region (ftl.region_share)" if region else "")
            raise SsdgymError(
                f"device {device.name}: full it holds {units} {what}, and beside the GC threshold, an open "
                f"block and a region of {region} blocks in each plane there is room for less than "
                f"{max(least, 0)}; lower {lower}, or raise over_provisioning."
            )

    def params(self, device: DeviceConfig) -> dict[str, int]:
        """Return costs, thresholds in units, and one stream for both host data and relocated data."""
        ftl = SubpageFtl.of(device.ftl)
        units, timing = _units_per_block(device), device.timing
        barrier, floor = ftl.gc.mode == "barrier", _floor_blocks(device) * units
        return {
            "pages_per_block": units,
            "pages_per_sub_block": units,
            "allocation": DYNAMIC,
            "streams": 1,
            "gc_stream": 0,
            "low_pool": max((ftl.gc.free_blocks or 0) * units, floor),
            "stop_pool": _kept_blocks(device) * units if barrier else floor,
            "floor_pool": 0 if device.cells is None else floor,
            "valid_limit": _valid_limit(device),
            "copy_cost": timing.read_ns + timing.program_ns + 2 * device.transfer_ns,
            "erase_cost": max(timing.erase_ns, 1),
            "least_invalid": _units_per_page(device),
            "must_gain": barrier,
            "placement": IN_STREAMS,
            "reads_first": ftl.gc.priority.code,
        }

    def constants(self, device: DeviceConfig) -> dict[str, dict[str, Any]]:
        """Return the constants of the kind of FTL, the region, the buffer, the times and the retention."""
        ftl, geometry, timing = SubpageFtl.of(device.ftl), device.geometry, device.timing
        slots = geometry.subpages_per_page
        subpage_bytes = device.host_unit_bytes
        retention = [days * _HOURS for days in ftl.retention_days or (RETENTION_DAYS,) * slots]
        region_blocks, subftl = ftl.region_blocks_of(geometry), ftl.kind == "subftl"
        collects = subftl and ftl.rule == "printed"
        return {
            "subpage": {
                "kind": ftl.kind.code,
                "never_advance": ftl.advance == "never",
                "slots": slots,
                "unit_slots": slots // _units_per_page(device),
                "block_pages": geometry.pages_per_block,
                "region_blocks": region_blocks,
                "collect_blocks": (ftl.collect_blocks or region_blocks - 1) if collects else 0,
                "passes": slots if subftl else 1,
                "buffer_groups": ftl.buffer_groups,
                "wear_gap": ftl.wear_gap if subftl else 0,
                "subpage_bytes": subpage_bytes,
                "program_ns": timing.subpage_program_ns or timing.program_ns,
                "transfer_ns": round(timing.transfer_ns_per_byte * subpage_bytes),
                "evict_after_h": ftl.evict_after_days * _HOURS if subftl else 0,
                "retention_h": retention + [0] * (MAX_SLOTS - slots),
                "full_retention_h": ftl.full_retention_days * _HOURS,
            }
        }

    def sizes(self, device: DeviceConfig) -> Sizes:
        """Return the lengths of the arrays of subpages, pages, groups, buffer and region."""
        ftl, geometry = SubpageFtl.of(device.ftl), device.geometry
        slots = geometry.subpages_per_page
        window = device.ftl.window_pages if device.ftl.timing == "event" else 2
        return {
            "pages": geometry.physical_pages * slots,
            "flash_pages": geometry.physical_pages,
            "buffer_groups": ftl.buffer_groups,
            "groups": device.logical_pages // slots,
            "members": geometry.planes * ftl.region_blocks_of(geometry),
            "window": window,
            "carried": window * slots,
            "round_pairs": geometry.planes * MAX_PAIRS,
            "open_sub_blocks": geometry.planes * MAX_STREAMS,
            "buckets": geometry.planes * (_units_per_block(device) + 1),
        }

    def metrics(self, state: State, i: int, device: DeviceConfig) -> dict[str, Any]:
        """Return the write amplification in bytes, that of small writes, counters and rates.

        `write_amplification` counts bytes: `(N full_programs + subpage_programs) / host_pages_written`, where
        `host_pages_written` includes data in the buffer. `request_waf` is the write amplification of small
        writes, `small_flash_bytes / small_write_bytes`, None without small writes. `moved_bytes` counts
        relocated, kept and advanced subpages, and a page for each eviction. `rmw_share` is the share of the
        host's page writes that are read-modify-writes. With cgm, data that waits in the buffer, or was
        trimmed there, counts as parts of whole pages. With other kinds the share is 0; it is None if some
        read-modify-writes are no evictions, or nothing was written. `mean_gc_latency_ns` is the mean of
        rounds and collections, with advances and without evictions. `mean_victim_valid_pages` covers rounds
        in the main area only, in units. `energy_uj` includes all reads, programs and erases; `erases` and
        `wear` include blocks of regions. `lost_pages` counts slots. `host_bytes_per_s` is per simulated
        second, None if no time has passed. `gc_energy_uj`, `clustered_share` and `mean_relocated_run` are
        None.
        """
        counters, control = state.counters[i, 0], state.control[i, 0]
        counted = {name: int(state.tally[name][i, 0]) for name in TALLY.names or ()}
        programmed = counted["full_programs"] * device.units_per_page + counted["subpage_programs"]
        written = int(counters["host_pages_written"])
        seconds = int(control["now"] - control["metrics_start_ns"]) / 1e9
        rounds = int(counters["gc_invocations"]) - counted["region_collections"]
        moved = int(counters["relocated_pages"]) + counted["region_moves"] + counted["advances"]
        return {
            "write_amplification": families.ratio(programmed, written),
            "request_waf": families.ratio(counted["small_flash_bytes"], counted["small_write_bytes"]),
            # Moved in the main area, within the regions, and (evictions) out of the regions.
            "moved_bytes": moved * device.host_unit_bytes
            + counted["evictions"] * device.geometry.page_size_bytes,
            "rmw_share": _rmw_share(counted, written, device),
            **counted,
            "mean_victim_valid_pages": families.ratio(int(counters["victim_valid_pages"]), rounds),
            "clustered_share": None,
            "mean_relocated_run": None,
            "host_bytes_per_s": families.ratio(written * device.host_unit_bytes, seconds),
            "energy_uj": _energy(counters, counted, device),
            "gc_energy_uj": None,
            "mapping_table_bytes": mapping_table_bytes(device),
        }

    def pages_programmed(self, state: State, i: int) -> int:
        """Return the subpages that device `i` has programmed since the last reset, empty ones included."""
        slots, counted = int(state.subpage["slots"][i, 0]), state.tally[i, 0]
        return slots * int(counted["full_programs"]) + int(counted["subpage_programs"])

    def reset_metrics(self, state: State, i: int) -> None:
        """Clear the counters, and in each block the length of the run of relocated pages that may go on."""
        super().reset_metrics(state, i)
        state.block["relocated_run"][i] = 0

    def check_ages(self, device: DeviceConfig) -> None:
        """Accept all devices, because data ages in this family."""

    def pass_day(self, state: State, i: int, device: DeviceConfig) -> None:
        """Age the data of device `i` by a day; start a sweep for old subpages if the FTL evicts them."""
        buffer = state.buffer[i, 0]
        if buffer["calendar_h"] > _LAST_HOUR - _HOURS:
            raise SsdgymError(f"device {device.name} is {buffer['calendar_h']} hours old, which is the most.")
        buffer["calendar_h"] += _HOURS
        if state.subpage["evict_after_h"][i, 0]:
            buffer["sweep_plane"], buffer["sweep_slot"] = 0, 0

    def page_map(self, state: State, i: int, device: DeviceConfig) -> families.PageMap:
        """Return the map of pages of device `i`; a page of flash is valid if one of its subpages is."""
        geometry = device.geometry
        count, planes = geometry.physical_pages, geometry.planes
        valid, used = state.page_valid[i, :count] > 0, state.page_use[i, :count] > 0
        is_open = (state.block["status"][i, : planes * geometry.blocks_per_plane] & OPEN).astype(bool)
        in_region = state.region["open"][i, :planes]
        is_open[in_region[in_region >= 0]] = True
        return families.PageMap.of(
            geometry,
            np.where(valid, families.VALID, np.where(used, families.INVALID, families.FREE)),
            is_open,
        )

    def whole_blocks_kept(self, device: DeviceConfig) -> int:
        """Return the smallest number of blocks that suffices for a plane's pool, region and open block."""
        ftl, blocks = SubpageFtl.of(device.ftl), 1
        while True:
            region = ftl.region_blocks_of(device.geometry.model_copy(update={"blocks_per_plane": blocks}))
            if region >= ftl.least_region_blocks and blocks - region > _kept_blocks(device):
                return blocks
            blocks += 1


def mapping_table_bytes(device: DeviceConfig) -> int:
    """Return the bytes that a controller needs for the map of a device.

    `mapping_table_bytes` is 4 bytes for each sector with fgm, otherwise 4 bytes for each group. A region adds
    a hash table with entries of 8 bytes, half full (assumed), for all subpages that can be valid in the
    region: one per page with subftl, `N` per page with sector_log.
    """
    ftl, geometry = SubpageFtl.of(device.ftl), device.geometry
    if ftl.kind == "fgm":
        return _ENTRY_BYTES * device.logical_pages
    pages = geometry.planes * ftl.region_blocks_of(geometry) * geometry.pages_per_block
    hashed = pages * (1 if ftl.kind == "subftl" else geometry.subpages_per_page)
    groups = device.logical_pages // geometry.subpages_per_page
    return _ENTRY_BYTES * groups + round(_HASH_ENTRY_BYTES / _LOAD_FACTOR) * hashed


def _units_per_page(device: DeviceConfig) -> int:
    """Return the number of units in a page of flash."""
    return device.units_per_page if SubpageFtl.of(device.ftl).kind == "fgm" else 1


def _units_per_block(device: DeviceConfig) -> int:
    return device.geometry.pages_per_block * _units_per_page(device)


def _floor_blocks(device: DeviceConfig) -> int:
    """Return the minimum of free blocks in the pool of a plane between GC rounds.

    One block is for the host and one for relocated pages. One more is needed if cells wear out.
    """
    return 2 + families.reserve_blocks(device)


def _kept_blocks(device: DeviceConfig) -> int:
    """Return the number of free blocks of a plane below which GC starts."""
    gc = SubpageFtl.of(device.ftl).gc
    return max(gc.free_blocks or 0, _floor_blocks(device))


def _valid_limit(device: DeviceConfig) -> int:
    """Return the number of valid units outside the region at which a plane has no room for another page.

    Below this limit, there is a victim that reclaims a page whenever GC has to go on. A victim with fewer
    invalid subpages than a page has reclaims no page, because its valid subpages fill whole pages again.
    """
    ftl = SubpageFtl.of(device.ftl)
    units, gained = _units_per_block(device), _units_per_page(device)
    blocks = device.geometry.blocks_per_plane - ftl.region_blocks_of(device.geometry) - _kept_blocks(device)
    return min((blocks - 1) * units, blocks * (units - gained + 1) - 1) - (gained - 1)


def _rmw_share(counted: dict[str, int], written: int, device: DeviceConfig) -> float | None:
    """Return the share of the host's page writes that are read-modify-writes; None if unknown."""
    if SubpageFtl.of(device.ftl).kind != "cgm":
        return 0.0 if written and counted["rmw_count"] == counted["evictions"] else None
    slots, subpage_bytes = device.units_per_page, device.host_unit_bytes
    in_part = counted["small_flash_bytes"] / (slots * subpage_bytes)
    whole = (written - counted["buffer_merges"] - counted["small_write_bytes"] / subpage_bytes) / slots
    return families.ratio(counted["rmw_count"], in_part + whole)


def _energy(counters: Any, counted: dict[str, int], device: DeviceConfig) -> float:
    """Return the energy of all commands, uJ."""
    energy = device.energy
    programs = counted["full_programs"] + counted["subpage_programs"]
    return float(
        counters["flash_reads"] * energy.read_uj
        + programs * energy.program_uj
        + counters["erased_sub_blocks"] * energy.erase_uj
    )
