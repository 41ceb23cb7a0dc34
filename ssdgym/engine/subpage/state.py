"""Arrays of the sub-page family, their records, and the codes that these hold."""

import numpy as np

from ssdgym.engine.core.family import COMMON, ERASE_SETS, NO_MEMORY, Array, Arrays
from ssdgym.engine.core.records import TRANSACTION, fields

#: The FTLs of the family.
CGM, FGM, SECTOR_LOG, SUBFTL = range(4)
#: Most subpages of a flash page.
MAX_SLOTS = 8

#: Kinds of transactions: a read of the host; one that a read-modify-write waits for; a page of one group;
#: a page of sectors of any groups; one subpage.
HOST_READ, CHILD_READ, GROUP_WRITE, LIST_WRITE, SUBPAGE_WRITE = range(5)

#: A device's constants beside those of all families.
SUBPAGE = np.dtype(
    [
        ("kind", "u1"),
        ("never_advance", "u1"),  # pages with a valid subpage are passed over
        ("slots", "i4"),  # of a flash page
        ("unit_slots", "i4"),  # of a unit of account of the main area
        ("block_pages", "i4"),  # flash pages of a block
        ("region_blocks", "i4"),  # of a plane
        ("collect_blocks", "i4"),  # collections of the paper's rule before it passes again; 0 = another rule
        ("passes", "i4"),  # over a region block between two erases
        ("buffer_groups", "i4"),  # entries of the write buffer
        ("wear_gap", "i4"),  # erases over the mean from which a region block is exchanged; 0 = never
        ("subpage_bytes", "i8"),
        ("program_ns", "i8"),  # of one subpage
        ("transfer_ns", "i8"),  # of one subpage on the channel
        ("evict_after_h", "i8"),  # age from which a sweep evicts a subpage; 0 = never
        ("retention_h", "i8", (MAX_SLOTS,)),  # of a subpage of a region, by the programs before its own
        ("full_retention_h", "i8"),  # of every other page
    ],
    align=True,
)

#: The write buffer, and what the device is in the middle of.
BUFFER = np.dtype(
    [
        ("head", "i4"),  # the entry that came first
        ("tail", "i4"),
        ("free", "i4"),  # an entry that is not in use
        ("count", "i4"),
        ("host_writes", "i4"),  # writes of the host under way
        ("created", "i8"),  # transactions so far
        ("calendar_h", "i8"),  # hours since the device was made, which only the caller passes
        ("sweep_plane", "i4"),  # plane that a retention sweep is at, or -1
        ("sweep_slot", "i8"),  # the next slot of its region to look at
        ("starved", "i4"),  # collections that wait for room for an eviction
        ("run_first", "i8"),  # subftl: the run that leaves, from its first sector to before its end
        ("run_end", "i8"),
        ("run_next", "i8"),  # the sector of the request that comes next of it, -1 for none
        ("run_offset", "i8"),  # and its place in the request
        ("writing", "u1"),  # untimed: the write of transaction 0 is being carried out
        ("follows", "u1"),  # sectors of its group that go to the region after it
        ("write_plane", "i4"),  # untimed: the plane that it is bound to, or -1
        ("collected_plane", "i4"),  # plane of the collection that a decision is due for, or -1
        ("leaving", "u1"),  # sectors of the group whose place was decided last
    ],
    align=True,
)
#: A group that waits in the buffer.
ENTRY = np.dtype([("group", "i4"), ("next", "i4"), ("previous", "i4"), ("dirty", "u1")], align=True)
#: The region of a plane.
REGION = np.dtype(
    [
        ("open", "i4"),  # the block that is written, or -1
        ("reserve", "i4"),  # the erased block that a collection moves to, or -1
        ("victim", "i4"),  # the block that is collected, or -1
        ("slot", "i4"),  # its next slot to look at
        ("kept", "i4"),  # subpages that the collection has moved
        ("to_collect", "i4"),  # collections that the paper's rule has before it passes again
        ("evicts", "i4"),  # slot whose eviction has found no room, or -1: what becomes of it is decided
        ("pending", "i4"),  # its evictions under way
        ("write_head", "i4"),  # writes that wait
        ("write_tail", "i4"),
        ("starved", "u1"),  # its next eviction waits for room
    ],
    align=True,
)
#: A block as a region has it.
REGION_BLOCK = np.dtype(
    [
        ("passes", "i4"),  # begun since its erase
        ("next_page", "i4"),  # of the present pass
        ("valid", "i4"),  # slots
        ("in_region", "u1"),
    ],
    align=True,
)
#: A page transaction.
JOB = np.dtype(
    [
        *((name, TRANSACTION[name]) for name in TRANSACTION.names or ()),
        ("group", "i4"),
        ("request", "i4"),  # slot of the request that waits for it, or -1
        ("parent", "i4"),  # of a child read: the write that waits for it
        ("waits", "i4"),  # child reads under way
        ("plane", "i4"),  # whose region the write is bound to, or the collection it evicts for; -1
        ("number", "i8"),  # in order of creation
        ("mask", "u1"),  # sectors of the group: still to read; or dirty when they left the buffer
        ("pages", "u1"),  # of its request that are done with it
        ("kind", "u1"),
        ("partial", "u1"),  # the sectors left the buffer as less than a page
        ("evicts", "u1"),
    ],
    align=True,
)
#: A sector on its way to flash; `lpn` is -1 for none. When it is programmed, the version mapped before, or 0.
SECTOR = np.dtype([("lpn", "i4"), ("version", "i4")], align=True)
#: What the family counts beside the counters of all; each is a metric.
TALLY = np.dtype(
    [
        *fields("i8", "buffer_hits buffer_merges full_programs subpage_programs advances region_moves"),
        *fields("i8", "evictions retention_evictions rmw_count wasted_slots small_write_bytes"),
        *fields("i8", "small_flash_bytes region_collections region_conversions uncorrectable_reads"),
    ],
    align=True,
)

#: Sub-blocks and blocks count units of account of the family, which are slots or flash pages; `logical` maps
#: a sector to its slot.
ARRAYS = Arrays(
    "Subpage",
    __name__,
    {
        **COMMON,
        **ERASE_SETS,
        "subpage": Array(SUBPAGE, (1,)),
        "tally": Array(TALLY, (1,)),
        "updated": Array(np.uint8, ("logical_pages",)),  # written again while it was in a region
        "page_valid": Array(np.uint8, ("flash_pages",)),  # valid slots of each flash page
        "page_use": Array(np.uint8, ("flash_pages",)),  # slots programmed since its erase
        "stored_h": Array(np.int32, ("flash_pages",)),  # calendar hour of the last one
        # The write buffer, and the regions.
        "buffer": Array(BUFFER, (1,)),
        "entry": Array(ENTRY, ("buffer_groups",)),
        "entry_of": Array(np.int32, ("groups",)),  # entry of a group, or -1
        "evicting": Array(np.uint8, ("groups",)),  # an eviction of the group has not been programmed yet
        "region": Array(REGION, ("planes",)),
        "member": Array(np.int32, ("members",)),  # region blocks of each plane, in no order
        "region_block": Array(REGION_BLOCK, ("blocks",)),
        "carried": Array(SECTOR, ("carried",)),  # by transaction and slot of its page
        **NO_MEMORY,
        "transaction": Array(JOB, ("window",)),
    },
)
SubpageState = ARRAYS.state
SubpageDevice = ARRAYS.device
bind_device = ARRAYS.bind_device
