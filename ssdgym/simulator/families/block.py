"""The block family: its constants, the check that a full device can run, its metrics."""

from typing import Any

import numpy as np

from ssdgym.config.block import BlockFtl
from ssdgym.config.device import DeviceConfig
from ssdgym.engine.block.family import BLOCK_FAMILY
from ssdgym.engine.block.state import MAX_SLOTS, TALLY
from ssdgym.engine.core.family import Sizes, State
from ssdgym.engine.core.records import MAX_LEVELS, STATIC
from ssdgym.engine.decisions import MERGE
from ssdgym.errors import SsdgymError
from ssdgym.simulator import families

#: Slots of a logical block of nftl (data block, update block, target of a Merge); blocks between merges.
_NFTL_SLOTS, _NFTL_BLOCKS = 3, 2
#: Bytes of a pointer to a block, and of the position of a page in a superblock, in the mapping table.
_BLOCK_BYTES, _PAGE_BYTES = 4, 2
#: Counters of the nominal times of merges, without waits.
GC_TIMES = ("gc_spare_ns", "gc_read_ns", "gc_write_ns", "gc_erase_ns")


class BlockFamily(families.FamilyBuilder):
    """Devices that map bundles: logical blocks, or superblocks of several logical blocks."""

    engine = BLOCK_FAMILY
    fixed = ("params", "merging")
    counted = ("counters", "tally")
    scratch = ("transaction", "figure", "case", "node", "draft")
    policy_decision = MERGE
    agent_decisions = frozenset({MERGE})
    wins_by_erases = False  # merges also erase empty parts of blocks

    def check(self, device: DeviceConfig) -> None:
        """Raise if a full device has no block to merge to, or a superblock no slot for a replaced block."""
        ftl, geometry = BlockFtl.of(device.ftl), device.geometry
        logical = device.logical_pages // (geometry.planes * geometry.pages_per_block)
        kept = _layout(device)["kept_free"]
        if geometry.blocks_per_plane < logical + kept + 1:
            raise SsdgymError(
                f"device {device.name}: a plane has {geometry.blocks_per_plane} blocks and needs "
                f"{logical + kept + 1}: {logical} for its logical blocks, {kept} to be kept free and one to "
                f"merge to; lower ftl.gc.free_share, or raise over_provisioning."
            )
        slots = ftl.logical_blocks + ftl.physical_blocks
        if device.cells is not None and ftl.kind == "superblock" and slots == MAX_SLOTS:
            raise SsdgymError(
                f"device {device.name}: where cells wear out, ftl.logical_blocks and ftl.physical_blocks are "
                f"together below {MAX_SLOTS}, for the block that takes the place of a worn one; lower one."
            )

    def params(self, device: DeviceConfig) -> dict[str, int]:
        """Return the costs of a relocation and of an erase, ns, and options of GC commands."""
        gc, timing = BlockFtl.of(device.ftl).gc, device.timing
        transfers = 0 if gc.copyback else 2 * device.transfer_ns
        return {
            "copy_cost": timing.read_ns + timing.program_ns + transfers,
            "erase_cost": timing.erase_ns,
            "allocation": STATIC,
            "copyback": gc.copyback,
            "reads_first": gc.priority.code,
        }

    def constants(self, device: DeviceConfig) -> dict[str, dict[str, Any]]:
        """Return the constants of the kind of FTL, of bundles, of merges, and of partial erases."""
        ftl, geometry, timing = BlockFtl.of(device.ftl), device.geometry, device.timing
        tolerance = ftl.disturb_tolerance
        levels, layout = len(geometry.partial_sizes), _layout(device)
        times = [timing.partial_erase_ns.get(pages, timing.erase_ns) for pages in geometry.partial_sizes]
        return {
            "merging": {
                "kind": ftl.kind.code,
                "by_pages": ftl.striping == "pages",
                "search_timed": ftl.kind == "nftl" and ftl.u_block_search == "timed",
                "care": ftl.disturb_care and tolerance is not None,
                "spread": ftl.gc.merges == "spread",
                "levels": levels,
                **layout,
                "least_free": (
                    1 + families.reserve_blocks(device) if ftl.gc.merges == "spread" else layout["kept_free"]
                ),
                "most_m_merges": ftl.gc.mmerge_limit,
                "tolerance": -1 if tolerance is None else tolerance,
                "strains": device.cells is not None and device.cells.disturbance_wears,
                "spare_ns": round(timing.transfer_ns_per_byte * geometry.spare_bytes),
                "erase_ns": [timing.erase_ns, *times] + [timing.erase_ns] * (MAX_LEVELS - levels),
            }
        }

    def sizes(self, device: DeviceConfig) -> Sizes:
        """Return the lengths of the arrays of bundles."""
        geometry, layout = device.geometry, _layout(device)
        return {
            "bundles": layout["bundles"],
            "members": layout["bundles"] * layout["slots"],
            "bundle_buckets": geometry.planes * layout["buckets"],
        }

    def pages_of_command(self, device: DeviceConfig) -> int:
        """Return the number of spare areas of a data and an update block, which one command may read."""
        return _NFTL_BLOCKS * device.geometry.pages_per_block

    def metrics(self, state: State, i: int, device: DeviceConfig) -> dict[str, Any]:
        """Return the family's counters, parts of the time of writes, wear and rates.

        `gc_spare_ns`, `gc_read_ns`, `gc_write_ns` and `gc_erase_ns` are nominal times of jobs (merges),
        without waits: of scans of spare areas, of reads and of writes of copied pages, and of erases. These
        names with `_per_page` are times per host page written. `service_ns_per_page` is the time to transfer
        and program a host page. `write_ns_per_page` is the sum of these five times per page, `copy_share` the
        share of copies (reads and writes) in it. `gc_time_ns` is the die time of the commands of jobs, waits
        for channels included, and `mean_gc_latency_ns` is its mean per job. `restored_leaves` counts leaves
        that M-Merges erased only because their data would have been spoiled. `aep` and `vep` are mean and
        variance, over all pages, of the erases since the device was made. `energy_uj` and `gc_energy_uj`
        count spare areas as reads, and a partial erase as its share of a block erase (assumed). Overtaken
        host pages count as written and as programmed. `host_bytes_per_s` is per simulated second, None if no
        time has passed. `mean_victim_valid_pages`, `clustered_share` and `mean_relocated_run` are None.
        """
        counters, control = state.counters[i, 0], state.control[i, 0]
        counted = {name: int(state.tally[name][i, 0]) for name in TALLY.names or ()}
        written, erases = int(counters["host_pages_written"]), families.erases_of(state, i, device)
        seconds = int(control["now"] - control["metrics_start_ns"]) / 1e9
        return {
            **counted,
            **_time_of_writes(counted, written, device),
            "aep": float(erases.mean()),
            "vep": float(erases.var()),
            "mean_victim_valid_pages": None,
            "clustered_share": None,
            "mean_relocated_run": None,
            "host_bytes_per_s": families.ratio(written * device.host_unit_bytes, seconds),
            **_energy(counters, counted, device),
            "mapping_table_bytes": mapping_table_bytes(device),
        }

    def page_map(self, state: State, i: int, device: DeviceConfig) -> families.PageMap:
        """Return the map of pages of device `i`; a block with some pages erased and some not is open."""
        geometry = device.geometry
        count = geometry.physical_pages
        lpn = state.physical["lpn"][i, :count]
        newest = state.logical["ppn"][i][lpn] == np.arange(count)
        pages = np.where(lpn < 0, families.FREE, np.where(newest, families.VALID, families.INVALID))
        erased = (lpn < 0).reshape(-1, geometry.pages_per_block).sum(axis=1)
        is_open = (erased > 0) & (erased < geometry.pages_per_block)
        return families.PageMap.of(geometry, pages, is_open)

    def whole_blocks_kept(self, device: DeviceConfig) -> int:
        """Return the number of blocks per plane without data: one in its pool, one as target of merges."""
        return 2


def mapping_table_bytes(device: DeviceConfig) -> int:
    """Return the bytes that a controller needs for the map of a device.

    `mapping_table_bytes` (sizes assumed): with nftl, 4 bytes for each of the two blocks of a logical block;
    with superblock, 4 bytes for each of the `N` blocks of a superblock and 2 bytes for each logical page.
    """
    layout = _layout(device)
    of_blocks = _BLOCK_BYTES * layout["physical_blocks"] * layout["bundles"]
    of_pages = BlockFtl.of(device.ftl).kind == "superblock"
    return of_blocks + (_PAGE_BYTES * device.logical_pages if of_pages else 0)


def _layout(device: DeviceConfig) -> dict[str, int]:
    """Return the layout of a device in bundles, by names of the record `merging`.

    `physical_blocks` is the most blocks of a bundle between merges, `slots` the most at any time: if cells
    wear out, blocks that replace worn ones need more slots. Each number of invalid pages of a bundle has a
    bucket. Merges that reclaim blocks begin when a plane has `kept_free` free blocks.
    """
    ftl, geometry = BlockFtl.of(device.ftl), device.geometry
    if ftl.kind == "nftl":
        physical, slots = _NFTL_BLOCKS, _NFTL_SLOTS
    else:
        physical, slots = ftl.physical_blocks, ftl.physical_blocks + ftl.logical_blocks
    wears = device.cells is not None
    span = ftl.bundle_blocks * geometry.pages_per_block
    return {
        "logical_blocks": ftl.bundle_blocks,
        "physical_blocks": physical,
        "slots": MAX_SLOTS if wears else slots,
        "span": span,
        "bundles": device.logical_pages // span,
        "buckets": (MAX_SLOTS if wears else physical) * geometry.pages_per_block + 1,
        "kept_free": ftl.kept_blocks(geometry) + families.reserve_blocks(device),
    }


def _time_of_writes(counted: dict[str, int], written: int, device: DeviceConfig) -> dict[str, float | None]:
    """Return nominal times of programs and merges per host page written, ns, and the share of copies."""
    service = written * (device.transfer_ns + device.timing.program_ns)
    times = {"service_ns": service, **{name: counted[name] for name in GC_TIMES}}
    copies = counted["gc_read_ns"] + counted["gc_write_ns"]
    return {
        **{f"{name}_per_page": families.ratio(time, written) for name, time in times.items()},
        "write_ns_per_page": families.ratio(sum(times.values()), written),
        "copy_share": families.ratio(copies, sum(times.values())),
    }


def _energy(counters: Any, counted: dict[str, int], device: DeviceConfig) -> dict[str, float]:
    """Return the energy of all commands, and that of merges alone, uJ."""
    energy, relocated = device.energy, int(counters["relocated_pages"])
    erase_uj = counters["erased_sub_blocks"] / device.geometry.sub_blocks_per_block * energy.erase_uj
    gc_reads = relocated + counted["spare_reads"]
    gc_uj = gc_reads * energy.read_uj + relocated * energy.program_uj + erase_uj
    host_reads = int(counters["flash_reads"]) - relocated + counted["search_reads"]
    host_uj = host_reads * energy.read_uj + int(counters["host_pages_written"]) * energy.program_uj
    return {"energy_uj": float(host_uj + gc_uj), "gc_energy_uj": float(gc_uj)}
