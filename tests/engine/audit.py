"""The audit of a device: do all its counts and lists add up? Each family's invariants, in plain Python."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ssdgym.engine.block.state import DATA, NFTL, SUPERBLOCK, UPDATE
from ssdgym.engine.core.family import State, family_of
from ssdgym.engine.core.records import (
    INDEXED,
    LEVELS,
    MAX_PAIRS,
    MAX_STREAMS,
    OPEN,
    POOLED,
    RETIRED,
    WORN,
)
from ssdgym.engine.subpage.state import FGM, SUBFTL

NO_FAULT = "none"
SUB_BLOCK_COUNTS = "a sub-block's invalid pages are miscounted"
BLOCK_COUNTS = "a block's pages are miscounted"
FREE_PAGES = "a plane's free pages are miscounted"
POOL_PAGES = "a plane's pool pages are miscounted"
VALID_PAGES = "a plane's valid pages are miscounted"
BLOCK_STATUS = "a block's status contradicts its pages"
AGE_LIST = "an age list is broken"
BUCKETS = "a bucket is broken"
QUIET = "blocks of a bucket are not listed by their last invalidation"
POOL = "a pool is broken"
OPEN_SUB_BLOCKS = "an open sub-block is full or its block is not marked open"
OPEN_BLOCKS = "more blocks are open than streams exist"
STREAMS = "the blocks or pages of a stream are miscounted"
RETIRED_BLOCKS = "the retired blocks are miscounted"
PAGE_COUNTS = "the valid slots or the programs of a flash page are miscounted"
REGION_PAGES = "a page of a region holds more than the last subpage, or more than its passes"
REGION_BLOCKS = "the blocks of a region are miscounted or have a wrong role"
SPLIT_GROUPS = "the sectors of a group are on several pages of the main area"
BUFFER_LIST = "the list of the write buffer is broken, or holds what was not promised"
BUNDLE_BLOCKS = "the blocks of a bundle are miscounted, or a block is in two bundles or in none and no pool"
BUNDLE_PAGES = "a page is in a block of another bundle, or in a data block at another place"
BUNDLE_LISTS = "the bundles that could be merged are miscounted or listed wrongly"


class Device:
    """The arrays of one device of a batch, and its constants as numbers.

    Attributes:
        blocks, sub_blocks, pages: of a plane, of a block, of a block, in the units that the family counts.
    """

    def __init__(self, state: State, i: int) -> None:
        for name in state._fields:
            setattr(self, name, getattr(state, name)[i])
        params = self.params[0]
        self.planes, self.blocks, self.sub_blocks = (
            int(params[name]) for name in ("planes", "blocks", "sub_blocks")
        )
        self.pages, self.sub_pages = int(params["pages_per_block"]), int(params["pages_per_sub_block"])

    def of_plane(self, plane: int) -> slice:
        """Return the blocks of a plane."""
        return slice(plane * self.blocks, (plane + 1) * self.blocks)

    def subs(self, plane: int, name: str) -> np.ndarray:
        """Return a field of the sub-blocks of a plane, (blocks, sub-blocks)."""
        first = plane * self.blocks * self.sub_blocks
        found = self.sub_block[name][first : first + self.blocks * self.sub_blocks]
        return np.asarray(found.reshape(self.blocks, self.sub_blocks), np.int64)

    def holds(self, first: int, count: int) -> np.ndarray:
        """Return of pages which logical pages are mapped to, if they have been written; bool (count,)."""
        pages = np.arange(first, first + count)
        lpn = self.physical["lpn"][pages]
        return np.asarray((lpn >= 0) & (self.logical["ppn"][lpn] == pages))

    def victims(self, plane: int) -> np.ndarray:
        """Return which blocks of a plane a round is under way for, bool (blocks,)."""
        found = np.zeros(self.blocks, bool)
        leader = int(self.plane["round_leader"][plane])
        if leader >= 0:
            first = leader * MAX_PAIRS
            chosen = self.round_pairs["block"][first : first + self.plane["round_count"][leader]]
            own = chosen[chosen // self.blocks == plane]
            found[own - plane * self.blocks] = True
        return found


def first_fault(state: State, i: int) -> str:
    """Return the first invariant that device `i` breaks, `NO_FAULT` for none."""
    checks = {"page": _page_faults, "subpage": _subpage_faults, "block": _block_faults}
    return next(checks[family_of(state).name](Device(state, i)), NO_FAULT)


def _chain(items: np.ndarray, head: int, tail: int, following: str, previous: str) -> list[int] | None:
    """Return the items of a list in order; `None` where its links contradict each other."""
    found: list[int] = []
    number = int(head)
    while number >= 0:
        if items[previous][number] != (found[-1] if found else -1) or len(found) > len(items):
            return None
        found.append(number)
        number = int(items[following][number])
    return found if tail == (found[-1] if found else -1) else None


def _pool_fault(d: Device, plane: int) -> bool:
    record = d.plane[plane]
    listed = _chain(d.block, record["pool_head"], record["pool_tail"], "next_pool", "previous_pool")
    if listed is None or len(listed) != record["pool_count"]:
        return True
    return not (d.block["status"][listed] & POOLED).all()


def _list_faults(d: Device, plane: int) -> Iterator[str]:
    """Check the age list, the buckets and the pool of a plane that chooses erase sets."""
    record = d.plane[plane]
    aged = _chain(d.block, record["age_head"], record["age_tail"], "next_age", "previous_age")
    if aged is None or len(aged) != record["indexed_blocks"] or not (d.block["status"][aged] & INDEXED).all():
        yield AGE_LIST
        return
    listed = 0
    for invalid in range(d.pages + 1):
        bucket = d.bucket[plane * (d.pages + 1) + invalid]
        blocks = _chain(d.block, bucket["head"], bucket["tail"], "next_bucket", "previous_bucket")
        if blocks is None or (blocks and invalid > record["max_invalid"]):
            yield BUCKETS
            return
        if (d.block["invalid"][blocks] != invalid).any():
            yield BUCKETS
        quiet = _chain(d.block, bucket["quiet_head"], bucket["quiet_tail"], "next_quiet", "previous_quiet")
        if (
            quiet is None
            or sorted(quiet) != (sorted(blocks) if d.sub_blocks == 1 and invalid else [])
            or (np.diff(d.block["invalidated_at"][quiet]) < 0).any()
        ):
            yield QUIET
        listed += len(blocks)
    if listed != len(aged):
        yield BUCKETS
    if _pool_fault(d, plane):
        yield POOL


# -- the page family


def _page_faults(d: Device) -> Iterator[str]:
    params = d.params[0]
    for plane in range(d.planes):
        written, invalid = d.subs(plane, "written"), d.subs(plane, "invalid")
        first = plane * d.blocks * d.pages
        held = d.holds(first, d.blocks * d.pages).reshape(d.blocks, d.sub_blocks, d.sub_pages)
        valid = (held & (np.arange(d.sub_pages) < written[..., None])).sum(axis=2)
        if (written - valid != invalid).any():
            yield SUB_BLOCK_COUNTS
        yield from _page_block_faults(d, plane, written, invalid)
        status = d.block["status"][d.of_plane(plane)]
        free = np.where(status & RETIRED, 0, d.pages - written.sum(axis=1))
        record, pooled = d.plane[plane], (status & POOLED) != 0
        if free.sum() != record["free_pages"]:
            yield FREE_PAGES
        if free[pooled].sum() != record["pool_pages"]:
            yield POOL_PAGES
        if (written - invalid).sum() != record["valid"]:
            yield VALID_PAGES
        if pooled.sum() != record["pool_count"]:
            yield POOL
        yield from _open_faults(d, plane)
        yield from _stream_faults(d, plane, valid.sum(axis=1))
        yield from _list_faults(d, plane)
    if params["endures"] and (d.block["status"] & RETIRED != 0).sum() != d.life["retired_blocks"][0]:
        yield RETIRED_BLOCKS


def _page_block_faults(d: Device, plane: int, written: np.ndarray, invalid: np.ndarray) -> Iterator[str]:
    """Check the counts and the status of blocks; the pages of an open sub-block are not in its block's."""
    block, victim = d.block[d.of_plane(plane)], d.victims(plane)
    open_subs = d.open_sub_block[plane * MAX_STREAMS : (plane + 1) * MAX_STREAMS]
    left_out = np.zeros(d.blocks, np.int64)
    for sub in open_subs[open_subs >= 0]:
        number = int(sub) - plane * d.blocks * d.sub_blocks
        if 0 <= number < d.blocks * d.sub_blocks:
            left_out[number // d.sub_blocks] = written.ravel()[number]
    pages = written.sum(axis=1)
    if (invalid.sum(axis=1) != block["invalid"]).any() or (block["written"] != pages - left_out).any():
        yield BLOCK_COUNTS
    bits = (OPEN, INDEXED, POOLED, WORN, RETIRED)
    is_open, indexed, pooled, worn, retired = ((block["status"] & bit) != 0 for bit in bits)
    scattered = d.params["targets"][0]
    partial = ((written > 0) & (written < d.sub_pages)).sum(axis=1)
    free = ~is_open & ~victim
    if not scattered and (partial > is_open).any():
        yield BLOCK_STATUS
    if (indexed != (free & (pages > 0))).any() or (pooled != (free & (pages < d.pages) & ~worn)).any():
        yield BLOCK_STATUS
    if (retired & ((pages > 0) | ~worn | is_open | victim)).any() or not d.params["endures"][0] >= worn.any():
        yield BLOCK_STATUS


def _open_faults(d: Device, plane: int) -> Iterator[str]:
    count = 0
    for stream in range(MAX_STREAMS):
        sub = int(d.open_sub_block[plane * MAX_STREAMS + stream])
        if sub < 0:
            continue
        count += 1
        if stream >= d.params["streams"][0] + (d.params["levels"][0] & LEVELS):
            yield OPEN_BLOCKS
        marked = d.block["status"][sub // d.sub_blocks] & OPEN
        if not marked or d.sub_block["written"][sub] == d.sub_pages:
            yield OPEN_SUB_BLOCKS
    if ((d.block["status"][d.of_plane(plane)] & OPEN) != 0).sum() != count:
        yield OPEN_BLOCKS


def _stream_faults(d: Device, plane: int, valid: np.ndarray) -> Iterator[str]:
    """Check what each stream says of its blocks: those open, and those with written pages."""
    block = d.block[d.of_plane(plane)]
    is_open = (block["status"] & OPEN) != 0
    own = (block["written"] > 0) | is_open
    of_stream = own & (block["stream"] == np.arange(MAX_STREAMS)[:, None])
    record = d.stream[plane * MAX_STREAMS : (plane + 1) * MAX_STREAMS]
    closed_at = np.where(is_open, 0, block["closed_at"])
    found = of_stream.sum(axis=1), of_stream @ valid, of_stream @ closed_at
    if any(
        (record[name] != of).any() for name, of in zip(("blocks", "valid", "closed_sum"), found, strict=True)
    ):
        yield STREAMS


# -- the sub-page family


def _subpage_faults(d: Device) -> Iterator[str]:
    subpage = d.subpage[0]
    slots, pages = int(subpage["slots"]), int(subpage["block_pages"])
    for plane in range(d.planes):
        first = plane * d.blocks * pages * slots
        held = d.holds(first, d.blocks * pages * slots).reshape(d.blocks, pages, slots)
        yield from _flash_page_faults(d, plane, held)
        own = d.of_plane(plane)
        main, block = d.region_block["in_region"][own] == 0, d.block[own]
        written, invalid = (d.sub_block[name][own][main].astype(np.int64) for name in ("written", "invalid"))
        record, status = d.plane[plane], block["status"][main]
        pooled = (status & POOLED) != 0
        if np.where(status & RETIRED, 0, d.pages - written).sum() != record["free_pages"]:
            yield FREE_PAGES
        if (d.pages - written)[pooled].sum() != record["pool_pages"]:
            yield POOL_PAGES
        if (written - invalid).sum() != record["valid"]:
            yield VALID_PAGES
        yield from _region_faults(d, plane)
        yield from _list_faults(d, plane)
    yield from _waiting_faults(d)
    retired = (d.block["status"] & RETIRED) != 0
    if d.params["endures"][0] and retired.sum() != d.life["retired_blocks"][0]:
        yield RETIRED_BLOCKS
    if subpage["kind"] != FGM:
        yield from _group_faults(d)


def _flash_page_faults(d: Device, plane: int, held: np.ndarray) -> Iterator[str]:
    """Check the pages of flash, and the counts of blocks outside the region and in it."""
    subpage, own, victim = d.subpage[0], d.of_plane(plane), d.victims(plane)
    slots, pages = int(subpage["slots"]), int(subpage["block_pages"])
    of_pages = slice(own.start * pages, own.stop * pages)
    use = d.page_use[of_pages].reshape(d.blocks, pages).astype(np.int64)
    valid = held.sum(axis=2)
    if (valid != d.page_valid[of_pages].reshape(d.blocks, pages)).any():
        yield PAGE_COUNTS
    fine = subpage["unit_slots"] == 1
    units = np.arange(pages) * (slots if fine else 1)
    for k in range(d.blocks):
        number, block = own.start + k, d.block[own.start + k]
        written, region = int(d.sub_block["written"][number]), d.region_block[number]
        if region["in_region"]:
            allowed = (0, WORN) if d.params["endures"][0] else (0,)
            if block["status"] not in allowed or written:
                yield REGION_BLOCKS
            last = held[k, np.arange(pages), use[k] - 1]
            single = (valid[k] <= 1) & (use[k] <= region["passes"]) & ((valid[k] != 1) | last)
            if subpage["kind"] == SUBFTL and not single.all():
                yield REGION_PAGES
            if valid[k].sum() != region["valid"]:
                yield REGION_BLOCKS
            continue
        if ((use[k] == slots) != (units < written)).any():
            yield PAGE_COUNTS
        lost = written - int(valid[k].sum() if fine else (valid[k] > 0).sum())
        is_open = bool(block["status"] & OPEN)
        counted = (d.sub_block["invalid"][number], block["invalid"], block["written"])
        if counted != (lost, lost, 0 if is_open else written):
            yield BLOCK_COUNTS
        free, worn = not is_open and not victim[k], bool(block["status"] & WORN)
        listed = bool(block["status"] & INDEXED), bool(block["status"] & POOLED)
        if listed != (free and written > 0, free and written < d.pages and not worn):
            yield BLOCK_STATUS
        retired = bool(block["status"] & RETIRED)
        if retired != (worn and free and written == 0) or worn > d.params["endures"][0]:
            yield BLOCK_STATUS


def _region_faults(d: Device, plane: int) -> Iterator[str]:
    subpage, region = d.subpage[0], d.region[plane]
    count, inside = int(subpage["region_blocks"]), d.region_block["in_region"]
    members = d.member[plane * count : (plane + 1) * count]
    if inside[d.of_plane(plane)].sum() != count or not inside[members].all():
        yield REGION_BLOCKS
    if region["reserve"] >= 0 and d.region_block["passes"][region["reserve"]] != 0:
        yield REGION_BLOCKS
    if subpage["kind"] == SUBFTL and (region["reserve"] < 0) != (region["victim"] >= 0):
        yield REGION_BLOCKS


def _group_faults(d: Device) -> Iterator[str]:
    """Check that, where pages are mapped, the sectors of a group in the main area are on one page."""
    subpage = d.subpage[0]
    slots, per_block = int(subpage["slots"]), int(subpage["slots"] * subpage["block_pages"])
    ppn = d.logical["ppn"][: d.params["logical_pages"][0]].reshape(-1, slots).astype(np.int64)
    main = (ppn >= 0) & (d.region_block["in_region"][np.maximum(ppn, 0) // per_block] == 0)
    page = np.where(main, ppn // slots, -1)
    if (main & (ppn % slots != np.arange(slots))).any() or (
        main & (page != page.max(1, keepdims=True))
    ).any():
        yield SPLIT_GROUPS


def _waiting_faults(d: Device) -> Iterator[str]:
    """Check that the list of the buffer holds what the groups say, and that all of it has been promised."""
    buffer, slots = d.buffer[0], int(d.subpage["slots"][0])
    listed = _chain(d.entry, buffer["head"], buffer["tail"], "next", "previous")
    if listed is None or len(listed) != buffer["count"]:
        yield BUFFER_LIST
        return
    for number in listed:
        group, dirty = int(d.entry["group"][number]), int(d.entry["dirty"][number])
        promised = d.in_flight[group * slots : (group + 1) * slots]
        waits = (dirty >> np.arange(slots) & 1) != 0
        if d.entry_of[group] != number or dirty == 0 or (promised[waits] < 1).any():
            yield BUFFER_LIST


# -- the block family


def _block_faults(d: Device) -> Iterator[str]:
    for plane in range(d.planes):
        first, own = plane * d.blocks * d.pages, d.of_plane(plane)
        written = d.physical["lpn"][first : first + d.blocks * d.pages].reshape(d.blocks, -1) >= 0
        dead = written & ~d.holds(first, written.size).reshape(written.shape)
        by_leaf = (d.blocks, d.sub_blocks, d.sub_pages)
        for pages, name in ((written, "written"), (dead, "invalid")):
            if (pages.reshape(by_leaf).sum(axis=2) != d.subs(plane, name)).any():
                yield SUB_BLOCK_COUNTS
            if (pages.sum(axis=1) != d.block[name][own]).any():
                yield BLOCK_COUNTS
        below = np.arange(d.pages) < d.frontier[own][:, None]
        if (below & ~written).any():
            yield BLOCK_COUNTS
        if (written.any(axis=1) & ((d.block["status"][own] & POOLED) != 0)).any():
            yield BLOCK_STATUS
        retired = (d.block["status"][own] & RETIRED) != 0
        if (~written[~retired]).sum() != d.plane["free_pages"][plane] or written[retired].any():
            yield FREE_PAGES
        if (written & ~dead).sum() != d.plane["valid"][plane]:
            yield VALID_PAGES
        bundles = range(plane, int(d.merging["bundles"][0]), d.planes)
        for bundle in bundles:
            yield from _bundle_faults(d, bundle)
        if _pool_fault(d, plane):
            yield POOL
        if d.plane["pool_count"][plane] + d.bundle["held"][list(bundles)].sum() != d.blocks - retired.sum():
            yield BUNDLE_BLOCKS
        yield from _bundle_list_faults(d, plane)
    if (d.block["status"] & RETIRED != 0).sum() != d.life["retired_blocks"][0]:
        yield RETIRED_BLOCKS


def _locate(d: Device, lpn: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the bundles of logical pages, and their places in these."""
    span = int(d.merging["span"][0])
    if not d.merging["by_pages"][0]:
        return lpn // span, lpn % span
    row = lpn // d.planes
    return row // span * d.planes + lpn % d.planes, row % span


def _first_page(d: Device, bundle: int) -> int:
    """Return the logical page at the first place of a bundle."""
    span = int(d.merging["span"][0])
    by_pages = d.merging["by_pages"][0]
    return bundle // d.planes * span * d.planes + bundle % d.planes if by_pages else bundle * span


def _bundle_faults(d: Device, bundle: int) -> Iterator[str]:
    """Check a bundle: its blocks, that their valid pages are its own and at their places, and its counts."""
    merging, record, plane = d.merging[0], d.bundle[bundle], bundle % d.planes
    slots = int(merging["slots"])
    members = d.member[bundle * slots : (bundle + 1) * slots]
    for slot in np.flatnonzero(members >= 0):
        block = int(members[slot])
        if d.block["status"][block] & POOLED or d.block["plane"][block] != plane:
            yield BUNDLE_BLOCKS
        valid = np.flatnonzero(d.holds(block * d.pages, d.pages))
        owner, place = _locate(d, d.physical["lpn"][block * d.pages + valid].astype(np.int64))
        in_place = slot == DATA and merging["kind"] == NFTL
        if (owner != bundle).any() or (in_place and (place != valid).any()):
            yield BUNDLE_PAGES
    held = members[members >= 0]
    if record["held"] != len(held) or record["invalid"] != d.block["invalid"][held].sum():
        yield BUNDLE_BLOCKS
    has_job = d.job["bundle"][plane] == bundle
    if merging["kind"] == NFTL and members[DATA] < 0 and len(held) and not has_job:
        yield BUNDLE_BLOCKS
    of_many = len(held) > merging["logical_blocks"]
    could_win = of_many if merging["kind"] == SUPERBLOCK else members[UPDATE] >= 0
    if d.params["shrinks"][0] and _first_page(d, bundle) >= d.life["capacity"][0]:
        could_win = len(held) > 0  # its logical pages are given up
    if bool(record["eligible"]) != (could_win and not has_job):
        yield BUNDLE_LISTS


def _bundle_list_faults(d: Device, plane: int) -> Iterator[str]:
    """Check that the lists of a plane hold the bundles that could be merged, by their invalid pages."""
    buckets, record, count = int(d.merging["buckets"][0]), d.plane[plane], 0
    for invalid in range(buckets):
        head, tail = d.bundle_bucket[plane * buckets + invalid]
        listed = _chain(d.bundle, head, tail, "next", "previous")
        if listed is None or (listed and invalid > record["max_invalid"]):
            yield BUNDLE_LISTS
            return
        own = d.bundle[listed]
        elsewhere = any(bundle % d.planes != plane for bundle in listed)
        if (own["invalid"] != invalid).any() or not own["eligible"].all() or elsewhere:
            yield BUNDLE_LISTS
        count += len(listed)
    if count != record["indexed_blocks"]:
        yield BUNDLE_LISTS
