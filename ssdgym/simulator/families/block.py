"""The block family: its constants, the check that a device can run full, its metrics."""

from typing import Any

import numpy as np

from ssdgym.config.block import BlockFtl
from ssdgym.config.device import DeviceConfig
from ssdgym.engine.block.family import BLOCK_FAMILY
from ssdgym.engine.block.state import MAX_SLOTS, TALLY
from ssdgym.engine.core.family import Sizes, State
from ssdgym.engine.core.records import MAX_LEVELS
from ssdgym.engine.decisions import MERGE
from ssdgym.errors import SsdgymError
from ssdgym.simulator import families

#: Slots of a logical block of nftl: data block, update block, and the block that a Merge copies to.
_NFTL_SLOTS, _NFTL_BLOCKS = 3, 2
#: Of the mapping table: bytes of a pointer to a block, and of the place of a page in a superblock.
_BLOCK_BYTES, _PAGE_BYTES = 4, 2
#: Counters of nominal times that merges take.
_GC_TIMES = ("gc_spare_ns", "gc_read_ns", "gc_write_ns", "gc_erase_ns")


class BlockFamily(families.FamilyBuilder):
    """Devices that map logical blocks, or superblocks of several: bundles."""

    engine = BLOCK_FAMILY
    fixed = ("params", "merging")
    counted = ("counters", "tally")
    scratch = ("transaction", "figure", "case", "node", "draft")
    policy_decision = MERGE
    agent_decisions = frozenset({MERGE})
    wins_by_erases = False  # parts of a block are erased that hold nothing, too
    wears_out = True

    def check(self, device: DeviceConfig) -> None:
        """Raise if a full device had no block to merge to."""
        ftl, geometry = BlockFtl.of(device.ftl), device.geometry
        logical = device.logical_pages // (geometry.planes * geometry.pages_per_block)
        kept = _kept_blocks(device)
        if geometry.blocks_per_plane < logical + kept + 1:
            raise SsdgymError(
                f"device {device.name}: a plane has {geometry.blocks_per_plane} blocks and needs "
                f"{logical + kept + 1}: {logical} for its logical blocks, {kept} to be kept free and one to "
                f"merge to; {families.remedy('ftl.gc.free_share')}"
            )
        if device.cells is not None and ftl.kind == "superblock" and _slots(ftl) == MAX_SLOTS:
            raise SsdgymError(
                f"device {device.name}: where cells wear out, ftl.logical_blocks and ftl.physical_blocks are "
                f"together below {MAX_SLOTS}, for the block that takes the place of a worn one; lower one."
            )

    def params(self, device: DeviceConfig) -> dict[str, int]:
        """Return the time of a relocation, and the order of commands."""
        gc, timing = BlockFtl.of(device.ftl).gc, device.timing
        transfers = 0 if gc.copyback else 2 * device.transfer_ns
        return {
            "copy_cost": timing.read_ns + timing.program_ns + transfers,
            "erase_cost": timing.erase_ns,
            "copyback": gc.copyback,
            "reads_first": gc.priority.code,
        }

    def constants(self, device: DeviceConfig) -> dict[str, dict[str, Any]]:
        """Return the record of the kind, of bundles, and of partial erases."""
        ftl, geometry, timing = BlockFtl.of(device.ftl), device.geometry, device.timing
        tolerance = ftl.disturb_tolerance
        levels, reserve = len(geometry.partial_sizes), families.reserve_blocks(device)
        times = [timing.partial_erase_ns.get(pages, timing.erase_ns) for pages in geometry.partial_sizes]
        return {
            "merging": {
                "kind": ftl.kind.code,
                "by_pages": ftl.striping == "pages",
                "search_timed": ftl.kind == "nftl" and ftl.u_block_search == "timed",
                "care": ftl.disturb_care and tolerance is not None,
                "spread": ftl.gc.merges == "spread",
                "levels": levels,
                "logical_blocks": ftl.bundle_blocks,
                "physical_blocks": _physical_blocks(ftl),
                "slots": _all_slots(device),
                "span": _span(device),
                "bundles": _bundles(device),
                "buckets": _buckets(device),
                "kept_free": _kept_blocks(device),
                "least_free": 1 + reserve if ftl.gc.merges == "spread" else _kept_blocks(device),
                "most_m_merges": ftl.gc.mmerge_limit,
                "tolerance": -1 if tolerance is None else tolerance,
                "strains": device.cells is not None and device.cells.disturbance_wears,
                "spare_ns": round(timing.transfer_ns_per_byte * geometry.spare_bytes),
                "erase_ns": [timing.erase_ns, *times] + [timing.erase_ns] * (MAX_LEVELS - levels),
            }
        }

    def sizes(self, device: DeviceConfig) -> Sizes:
        """Return the lengths of the arrays of blocks, their smallest parts, and bundles."""
        geometry, bundles = device.geometry, _bundles(device)
        blocks = geometry.planes * geometry.blocks_per_plane
        return {
            "blocks": blocks,
            "sub_blocks": blocks * geometry.sub_blocks_per_block,
            "bundles": bundles,
            "members": bundles * _all_slots(device),
            "bundle_buckets": geometry.planes * _buckets(device),
        }

    def pages_of_command(self, device: DeviceConfig) -> int:
        """Return the spare areas that a merge may read at once: those of a data and an update block."""
        return _NFTL_BLOCKS * device.geometry.pages_per_block

    def metrics(self, state: State, i: int, device: DeviceConfig) -> dict[str, Any]:
        """Return what the family counts, where the time of writes goes, wear by pages, and rates.

        `gc_spare_ns`, `gc_read_ns`, `gc_write_ns` and `gc_erase_ns` are nominal times of jobs: of scans, of
        reads and writes of copies, of erases; with `_per_page`, per host page, as is `service_ns_per_page`,
        of the program of a host page, channel included. `write_ns_per_page` is the sum of these five,
        `copy_share` the share of copies in it. `gc_time_ns` is the die time of the commands of jobs,
        waiting for channels included, and `mean_gc_latency_ns` the time of a job. `restored_leaves` are
        leaves that M-Merges erased only because they would have been spoiled. `aep` and `vep` are mean and
        variance over all pages of their erases since the device was made. `energy_uj` and `gc_energy_uj`
        count spare areas as reads, and a partial erase as its share of a block's (assumed). Host pages that
        newer ones overtake before their program count as written and as programmed.
        `host_bytes_per_s` is of simulated time, None where none has passed. `mean_victim_valid_pages`,
        `clustered_share` and `mean_relocated_run` are None.
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
        """Return what the pages of device `i` hold; a block is open while some of its pages are erased."""
        geometry = device.geometry
        count = geometry.physical_pages
        lpn = state.physical["lpn"][i, :count]
        newest = state.logical["ppn"][i][lpn] == np.arange(count)
        pages = np.where(lpn < 0, families.FREE, np.where(newest, families.VALID, families.INVALID)).astype(
            np.int8
        )
        pages = pages.reshape(geometry.planes, geometry.blocks_per_plane, geometry.pages_per_block)
        erased = (pages == families.FREE).sum(axis=2)
        return families.PageMap(pages=pages, open=(erased > 0) & (erased < geometry.pages_per_block))

    def whole_blocks_kept(self, device: DeviceConfig) -> int:
        """Return the fewest blocks that a plane keeps: one in its pool, and one to merge to."""
        return 2


def mapping_table_bytes(device: DeviceConfig) -> int:
    """Return the bytes that a controller needs for the map of a device.

    `mapping_table_bytes` is (sizes assumed), with nftl, 4 bytes for each of two blocks of a logical block;
    with superblock 4 for each of the `N` blocks of a superblock, and 2 for each logical page.
    """
    ftl = BlockFtl.of(device.ftl)
    of_blocks = _BLOCK_BYTES * _physical_blocks(ftl) * _bundles(device)
    return of_blocks + (_PAGE_BYTES * device.logical_pages if ftl.kind == "superblock" else 0)


def _physical_blocks(ftl: BlockFtl) -> int:
    """Return the most blocks of a bundle between merges."""
    return _NFTL_BLOCKS if ftl.kind == "nftl" else ftl.physical_blocks


def _slots(ftl: BlockFtl) -> int:
    """Return the most blocks of a bundle while no cells fail."""
    return _NFTL_SLOTS if ftl.kind == "nftl" else ftl.physical_blocks + ftl.logical_blocks


def _all_slots(device: DeviceConfig) -> int:
    """Return the most blocks of a bundle, those that others take the place of included."""
    return _slots(BlockFtl.of(device.ftl)) if device.cells is None else MAX_SLOTS


def _kept_blocks(device: DeviceConfig) -> int:
    """Return the free blocks of a plane at which merges begin to win some."""
    return BlockFtl.of(device.ftl).kept_blocks(device.geometry) + families.reserve_blocks(device)


def _span(device: DeviceConfig) -> int:
    """Return the logical pages of a bundle."""
    return BlockFtl.of(device.ftl).bundle_blocks * device.geometry.pages_per_block


def _bundles(device: DeviceConfig) -> int:
    return device.logical_pages // _span(device)


def _buckets(device: DeviceConfig) -> int:
    """Return one for each number of invalid pages that a bundle can have between merges."""
    blocks = _physical_blocks(BlockFtl.of(device.ftl)) if device.cells is None else MAX_SLOTS
    return blocks * device.geometry.pages_per_block + 1


def _time_of_writes(counted: dict[str, int], written: int, device: DeviceConfig) -> dict[str, float | None]:
    """Return the nominal time per page written of its own program and of merges, and the share of copies."""
    service = written * (device.transfer_ns + device.timing.program_ns)
    times = {"service_ns": service, **{name: counted[name] for name in _GC_TIMES}}
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
