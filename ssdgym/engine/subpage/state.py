"""Arrays of the sub-page family, their records, and codes in fields of the records.

Terms, as in `docs/subpage.md`: a flash page has *slots*, each for one subpage. A *sector* is a logical page,
as large as a subpage. A *group* is the sectors that fill a flash page. A *region* is the blocks of a plane
for parts of pages; the other blocks are the *main area*. A *unit* of the main area is a slot (`fgm`) or a
flash page.
"""

import numpy as np

from ssdgym.engine.core.family import COMMON, ERASE_SETS, NO_MEMORY, Array, Arrays
from ssdgym.engine.core.records import TRANSACTION, fields

#: The FTLs of the family.
CGM, FGM, SECTOR_LOG, SUBFTL = range(4)
#: Most subpages of a flash page.
MAX_SLOTS = 8

#: Kinds of transactions: a read of the host; a read that a read-modify-write waits for; a write of one page
#: with sectors of one group; a write of one page with sectors of any groups; a write of one subpage.
HOST_READ, CHILD_READ, GROUP_WRITE, LIST_WRITE, SUBPAGE_WRITE = range(5)

#: Constants of a device of this family, besides PARAMS.
SUBPAGE = np.dtype(
    [
        ("kind", "u1"),
        ("never_advance", "u1"),  # passes skip pages with a valid subpage
        ("slots", "i4"),  # slots of a flash page
        ("unit_slots", "i4"),  # slots of a unit of the main area
        ("block_pages", "i4"),  # flash pages of a block
        ("region_blocks", "i4"),  # region blocks of a plane
        ("collect_blocks", "i4"),  # rule `printed`: blocks collected in turn; 0 = rule `fewest_valid`
        ("passes", "i4"),  # passes over a region block between two erases
        ("buffer_groups", "i4"),  # entries of the write buffer
        ("wear_gap", "i4"),  # a region block with over this many erases above the mean is exchanged; 0 = none
        ("subpage_bytes", "i8"),
        ("program_ns", "i8"),  # program of one subpage
        ("transfer_ns", "i8"),  # transfer of one subpage on the channel
        ("evict_after_h", "i8"),  # a sweep evicts a subpage older than this; 0 = never
        ("retention_h", "i8", (MAX_SLOTS,)),  # age limit of region subpages, by earlier programs of the page
        ("full_retention_h", "i8"),  # age limit of all other subpages
    ],
    align=True,
)

#: The write buffer, and the work under way. Entries of the buffer are linked in order of arrival.
BUFFER = np.dtype(
    [
        ("head", "i4"),  # the oldest entry
        ("tail", "i4"),
        ("free", "i4"),  # first of the linked entries that are not in use
        ("count", "i4"),  # entries in use
        ("host_writes", "i4"),  # writes of host data under way
        ("created", "i8"),  # transactions made since the device was made
        ("calendar_h", "i8"),  # hours since the device was made; only `Simulator.pass_days` moves it
        ("sweep_plane", "i4"),  # plane that a retention sweep examines, or -1
        ("sweep_slot", "i8"),  # next slot of that plane that the sweep examines
        ("starved", "i4"),  # collections that wait for free transactions for an eviction
        ("run_first", "i8"),  # subftl: first sector of the run that leaves the buffer
        ("run_end", "i8"),  # sector behind the last sector of that run
        ("run_next", "i8"),  # next sector of the run that the request writes, -1 for none
        ("run_offset", "i8"),  # offset of that sector in the request
        ("writing", "u1"),  # untimed: the write of transaction 0 is being carried out
        ("follows", "u1"),  # untimed: mask of sectors, of the written group, that go to the region next
        ("write_plane", "i4"),  # untimed: the plane that the write is bound to, or -1
        ("collected_plane", "i4"),  # plane of the collection whose decision is due, or -1
        ("leaving", "u1"),  # mask of the sectors that the last decision about a group was about
    ],
    align=True,
)
#: A group that waits in the buffer; `dirty` is the mask of its waiting sectors.
ENTRY = np.dtype([("group", "i4"), ("next", "i4"), ("previous", "i4"), ("dirty", "u1")], align=True)
#: The region of a plane.
REGION = np.dtype(
    [
        ("open", "i4"),  # the block that is programmed, or -1
        ("reserve", "i4"),  # the erased block that a collection moves to, or -1
        ("victim", "i4"),  # the block that is collected, or -1
        ("slot", "i4"),  # next slot of the victim to examine
        ("kept", "i4"),  # subpages that the collection has kept in the region
        ("to_collect", "i4"),  # collections left before passes come first again (rule `printed`)
        ("evicts", "i4"),  # slot of the victim whose eviction is decided but has to wait, or -1
        ("pending", "i4"),  # evictions of this region under way
        ("write_head", "i4"),  # first write that waits for the region
        ("write_tail", "i4"),
        ("starved", "u1"),  # the next eviction waits for free transactions
    ],
    align=True,
)
#: State of a block in a region.
REGION_BLOCK = np.dtype(
    [
        ("passes", "i4"),  # passes begun since the erase
        ("next_page", "i4"),  # next page of the present pass
        ("valid", "i4"),  # valid slots
        ("in_region", "u1"),
    ],
    align=True,
)
#: A page transaction.
JOB = np.dtype(
    [
        *((name, TRANSACTION[name]) for name in TRANSACTION.names or ()),
        ("group", "i4"),
        ("request", "i4"),  # slot of the request that waits for the transaction, or -1
        ("parent", "i4"),  # of a read before a write: transaction of the write that waits for the read
        ("waits", "i4"),  # of a write: number of reads under way that the write waits for
        ("plane", "i4"),  # plane of the write's region, or of the collection that evicts; -1 for none
        ("number", "i8"),  # transactions are numbered in order of creation
        ("mask", "u1"),  # sectors of the group: those still to read, or those that the write carries
        ("pages", "u1"),  # pages of the request that complete with the transaction
        ("kind", "u1"),
        ("partial", "u1"),  # whether the sectors left the buffer as less than a page
        ("evicts", "u1"),  # whether the write is an eviction
    ],
    align=True,
)
#: A sector that a write carries to flash; `lpn` is -1 for no sector.
SECTOR = np.dtype([("lpn", "i4"), ("version", "i4")], align=True)
#: Counters of this family besides COUNTERS; each is a metric.
TALLY = np.dtype(
    [
        *fields("i8", "buffer_hits buffer_merges full_programs subpage_programs advances region_moves"),
        *fields("i8", "evictions retention_evictions rmw_count wasted_slots small_write_bytes"),
        *fields("i8", "small_flash_bytes region_collections region_conversions uncorrectable_reads"),
    ],
    align=True,
)

#: Arrays of the family. Records of blocks and sub-blocks count units (slots for `fgm`, otherwise flash
#: pages); `logical` maps a sector to its slot.
ARRAYS = Arrays(
    "Subpage",
    __name__,
    {
        **COMMON,
        **ERASE_SETS,
        "subpage": Array(SUBPAGE, (1,)),
        "tally": Array(TALLY, (1,)),
        "updated": Array(np.uint8, ("logical_pages",)),  # 1: in a region when last written to a region
        "page_valid": Array(np.uint8, ("flash_pages",)),  # valid slots of each flash page
        "page_use": Array(np.uint8, ("flash_pages",)),  # slots of each flash page programmed since its erase
        "stored_h": Array(np.int32, ("flash_pages",)),  # calendar hour of each page's last program
        # The write buffer, and the regions.
        "buffer": Array(BUFFER, (1,)),
        "entry": Array(ENTRY, ("buffer_groups",)),
        "entry_of": Array(np.int32, ("groups",)),  # entry of each group in the buffer, or -1
        "evicting": Array(np.uint8, ("groups",)),  # 1: an eviction of the group is under way
        "region": Array(REGION, ("planes",)),
        "member": Array(np.int32, ("members",)),  # region blocks of each plane, in no order
        "region_block": Array(REGION_BLOCK, ("blocks",)),
        "carried": Array(SECTOR, ("carried",)),  # sectors that writes carry, by transaction and slot
        **NO_MEMORY,
        "transaction": Array(JOB, ("window",)),
    },
)
SubpageState = ARRAYS.state
SubpageDevice = ARRAYS.device
bind_device = ARRAYS.bind_device
