"""Records that FTL families share, and the codes of their fields."""

import numpy as np

from ssdgym.enums import Allocation, EraseUnit, Isolation, MultiPlane

#: Most write streams of a plane.
MAX_STREAMS = 16
#: Most (block, sub-block mask) pairs of one erase set.
MAX_PAIRS = 8

#: Status bits of a block.
OPEN, INDEXED, POOLED = 1, 2, 4
#: Status bits where cells wear out. A WORN block is retired when it is erased as a whole; a RETIRED block is
#: never written again.
WORN, RETIRED = 8, 16
WHOLE_BLOCK, SUB_BLOCK_RUN, SUB_BLOCK_SET = (unit.code for unit in EraseUnit)
NO_ISOLATION, SOFTWARE, HARDWARE = (isolation.code for isolation in Isolation)
#: Bit of `levels`: the device has wear-levelling rounds beside GC rounds.
LEVELS = 1
#: Bit of `levels`: levelling fills the free block with the fewest erases left. Without it, most erases done.
BY_LIMITS = 4
#: State of levelling in a plane: a decision is due, or a levelling round runs.
LEVELLING_DUE, LEVELLING_RUNS = 1, 2
#: What places pages: no rule (host pages go to stream 0, relocated pages to `gc_stream`); a rule for host
#: pages; a rule for all pages; a rule for all pages that programs relocated pages to blocks of the pool.
IN_STREAMS, HOST_BY_RULE, BY_RULE, TO_THE_POOL = range(4)
STATIC, DYNAMIC, LATE = (allocation.code for allocation in Allocation)
SINGLE_PLANE, STRICT, RELAXED = (multi_plane.code for multi_plane in MultiPlane)


def fields(kind: str, names: str) -> list[tuple[str, str]]:
    """Return fields of one dtype, `kind`; `names` has their names, separated by blanks."""
    return [(name, kind) for name in names.split()]


#: Constants of a device. Pages and blocks are per plane unless stated otherwise; times are in nanoseconds.
PARAMS = np.dtype(
    [
        ("seed", "u8"),
        ("logical_pages", "i8"),  # of the whole device
        ("channels", "i4"),
        ("dies", "i4"),  # of the whole device
        ("leaf_bits", "i4"),  # the event tree has 2**leaf_bits leaves, at least channels + dies
        ("planes", "i4"),  # of the whole device
        ("planes_per_die", "i4"),
        ("blocks", "i4"),
        ("sub_blocks", "i4"),  # per block
        *fields("i4", "pages_per_block pages_per_sub_block streams gc_stream"),
        ("overflows", "u1"),  # relocated pages share open blocks while the pool is low
        ("low_free", "i8"),  # GC starts when free_pages < low_free
        ("low_pool", "i8"),  # GC also starts when pool_pages < low_pool
        ("stop_free", "i8"),  # GC continues while free_pages < stop_free
        ("stop_pool", "i8"),  # GC also continues while pool_pages < stop_pool
        ("floor_pool", "i8"),  # GC keeps pool_pages at or above this, whatever the thresholds
        ("background_free", "i8"),  # background GC runs while free_pages < this; 0 = never
        ("valid_limit", "i8"),  # V_max: most valid pages of a plane
        *fields("i8", "read_ns program_ns erase_ns"),
        ("transfer_ns", "i8"),  # transfer of one page on the channel
        ("slow_ns", "i8"),  # latency over which a request counts as slow
        ("copy_cost", "i8"),  # cost of one relocation in a benefit, ns
        ("erase_cost", "i8"),  # cost of one erase in a benefit, ns
        # From `ftl.hotness`, for rules that count how hot pages are.
        ("hashes", "i4"),  # rows of the hotness table
        ("counters", "i8"),  # counters per row
        ("decay_period", "i8"),  # updates after which all counters are halved
        ("group_of_degree", "u8"),  # bits 4d to 4d + 3: group of pages with hotness degree d; 0 = cold
        ("queue_depth", "i8"),  # most outstanding requests in a closed loop; 0 = open loop
        ("window_pages", "i8"),  # most page transactions in flight
        ("allocation", "u1"),  # STATIC, DYNAMIC or LATE
        ("multi_plane", "u1"),  # SINGLE_PLANE, STRICT or RELAXED
        ("multi_plane_writes", "u1"),
        ("multi_plane_reads", "u1"),
        ("pad_limit", "i4"),  # most pages padded in a plane so that its write can join a command
        ("aligned_rows", "u1"),  # a host page goes to the die's plane whose next page number lags most
        ("early_writes", "u1"),  # a host write is done when its data has been transferred to the die
        ("defers_gc", "u1"),  # foreground GC comes after host commands while pool_pages >= floor_pool
        ("whole_rounds", "u1"),  # a background round that runs comes before host commands
        ("counts_updates", "u1"),  # the hotness table does not count the first write of a page
        ("keeps_blocks", "u1"),  # `hotness_groups` fills a block drawn for cold pages before it draws another
        ("copyback", "u1"),  # relocations do not use the channel
        ("erase_unit", "u1"),  # WHOLE_BLOCK, SUB_BLOCK_RUN or SUB_BLOCK_SET
        ("isolation", "u1"),  # NO_ISOLATION, SOFTWARE or HARDWARE
        ("least_invalid", "i4"),  # fewest invalid pages of an eligible block
        ("must_gain", "u1"),  # a pair of an erase set must reclaim more pages than its neighbours hold valid
        # Offset, in bytes, of a rule's memory in each array of memory. Axes: the rule's role; MEMORY_FIELDS.
        ("memory_at", "i8", (4, 5)),
        ("placement", "u1"),  # IN_STREAMS, HOST_BY_RULE, BY_RULE or TO_THE_POOL
        ("targets", "u1"),  # the placement may choose sub-blocks; it is called after old data is invalidated
        ("reads_first", "u1"),  # host reads go before foreground GC
        ("preemptible", "u1"),  # host pages may be programmed in a plane while a round runs there
        ("levels", "u1"),  # LEVELS | BY_LIMITS
        ("timed", "u1"),
        ("endures", "u1"),  # cells wear out; the fields after this one are used only then
        ("shrinks", "u1"),  # the device gives up logical pages before its life ends
        ("least_capacity", "i8"),  # with fewer logical pages the life of the device ends
        ("mean_endurance", "f8"),  # mean number of erases that a sub-block endures
    ],
    align=True,
)

#: What an event-driven device resumes after a decision taken outside the engine: nothing; the dispatch of the
#: first ready die; or the admission of a request.
NOTHING, DISPATCH, ADMISSION = range(3)
#: Progress of a device, and the decision that it waits for.
CONTROL = np.dtype(
    [
        ("clock", "i8"),  # host pages programmed since the device was made
        ("now", "i8"),  # simulated time, ns
        ("rounds", "i8"),  # GC rounds started since the device was made; also numbers random draws
        ("horizon", "i8"),  # admission stops when this many host pages have been admitted
        ("admitted_pages", "i8"),  # host pages admitted since the device was made
        ("cursor", "i8"),  # next request of the present chunk of input
        ("offset", "i8"),  # pages of the request at `cursor` that are already admitted
        ("serial", "i8"),  # requests started (untimed: completed) since the last reset of the metrics
        ("outstanding", "i8"),  # requests started and not completed
        ("outstanding_writes", "i8"),  # write requests started and not completed
        ("resumes", "i4"),  # what resumes after a decision outside: NOTHING, DISPATCH or ADMISSION
        ("decision_plane", "i4"),  # plane of the decision that is due outside the engine, or -1
        ("decision_kind", "i4"),  # kind of the last decision that was due outside the engine
        ("decision_subject", "i8"),  # logical page, source page, die or bundle that the decision is about
        ("answer", "i4"),  # answer given outside the engine and not used yet, or -1
        ("gc_plane", "i4"),  # untimed: plane in foreground GC, or -1
        ("host_plane", "i4"),  # plane of the last host program
        ("die_cursor", "i4"),
        ("slot", "i4"),  # slot of the request in admission, or -1
        ("free_slot", "i4"),
        ("write_head", "i4"),  # late allocation: first transaction in the device's write queue, or -1
        *fields("i4", "write_tail free_transaction free_transactions ready_head ready_count"),
        ("metrics_start_ns", "i8"),
        ("period_at", "i8"),  # clock at which the placement's `period` function is called next
        ("request_lpn", "i4"),  # first page of the write request whose page is placed now, or was placed last
        ("request_pages", "i4"),  # pages of the request of `request_lpn`
        ("request_hint", "u1"),  # hint of the request of `request_lpn`
        ("next_arrival_ns", "i8"),  # arrival of the next request; set only for rules with an oracle
        ("replaced_lpn", "i8"),  # 1 + logical page that is already invalidated but not yet placed anew, or 0
        ("attached", "u1"),  # bit 1 << kind: the rule of that kind has been attached; RELOCATE: all trackers
        ("request_stream", "i4"),  # untimed: stream chosen outside the engine for all pages of a request
    ],
    align=True,
)
#: Counters of a device since the last reset of the metrics, in pages unless stated otherwise. Each counter is
#: a metric of the same name, in this order, except SUMMED_COUNTERS.
COUNTERS = np.dtype(
    [
        *fields("i8", "host_pages_written host_reads host_pages_trimmed"),
        ("hot_pages_written", "i8"),  # 0 here: a hotness placement counts hot host pages in its memory
        ("relocated_pages", "i8"),
        ("overflow_pages", "i8"),  # relocated pages that went to another stream than their own
        ("joined_moves", "i8"),  # relocated pages that joined the move of another plane
        ("joined_writes", "i8"),  # host pages that joined the write of another plane
        ("joined_reads", "i8"),  # host pages whose read joined the read of another plane
        ("padded_pages", "i8"),  # pages programmed without data so that a write could join a command
        ("max_victim_valid_pages", "i8"),  # most valid pages of one block of an erase set
        ("erases", "i8"),  # erased pairs of erase sets
        ("erased_sub_blocks", "i8"),
        ("gc_invocations", "i8"),  # GC rounds
        ("gc_episodes", "i8"),
        ("gc_time_ns", "i8"),  # die time of moves and erases, waiting for channels included
        *fields("i8", "flash_reads rmw_reads queue_hits unmapped_reads"),
        ("slow_requests", "i8"),  # reads and writes slower than the parameter slow_ns
        ("lost_pages", "i8"),
        ("clustered_pages", "i8"),  # relocated pages programmed next to another relocated page
        ("relocated_runs", "i8"),  # runs of relocated pages programmed one after the other in a block
        ("erase_square_rise", "i8"),  # rise of the sum of the squared erase counts of all sub-blocks
        ("victim_valid_pages", "i8"),  # valid pages in the masks of erase sets when their rounds started
        ("read_latency_sum_ns", "i8"),
        ("write_latency_sum_ns", "i8"),
        ("read_service_sum_ns", "i8"),  # service times of the last command of each request, summed
        ("write_service_sum_ns", "i8"),
        ("read_gc_wait_sum_ns", "i8"),  # times that the last command of each request waited for GC, summed
        ("write_gc_wait_sum_ns", "i8"),
        ("met_gc_requests", "i8"),  # requests that waited for GC
        ("levelling_rounds", "i8"),  # levelling rounds
        ("levelling_moves", "i8"),  # relocated pages that levelling rounds moved
    ],
    align=True,
)
#: Counters that enter metrics but are not metrics themselves: `clustered_pages` and all after it.
SUMMED_COUNTERS = frozenset((COUNTERS.names or ())[(COUNTERS.names or ()).index("clustered_pages") :])

LOGICAL = np.dtype([("ppn", "i4"), ("version", "i4")])
PHYSICAL = np.dtype([("lpn", "i4"), ("version", "i4")])
SUB_BLOCK = np.dtype([("written", "i4"), ("invalid", "i4"), ("erases", "i4")])
#: Endurance of a sub-block: its erases when its life began, and the number of erases at which it is worn out.
ENDURANCE = np.dtype([("first", "i4"), ("last", "i4")])
#: Life of a device whose cells wear out.
LIFE = np.dtype(
    [
        ("capacity", "i8"),  # logical pages that are left
        ("began_at", "i8"),  # clock at which its life began, after preconditioning
        ("first_lost_at", "i8"),  # clock at which the first block was retired, or -1
        ("programmed", "i8"),  # pages programmed in this life before the last reset of the metrics
        ("retired_blocks", "i4"),
        ("has_worn", "u1"),  # whether a block is worn, or has been retired
        ("over", "u1"),
    ],
    align=True,
)
#: A block. Fields that are read together are neighbours, mostly in one cache line.
BLOCK = np.dtype(
    [
        ("invalidated_at", "i8"),  # clock when a page of the block was last invalidated
        ("closed_at", "i8"),  # clock when the block was last closed
        ("written", "i4"),  # written pages, without those of the open sub-block
        ("invalid", "i4"),
        ("plane", "i4"),
        ("status", "u1"),  # OPEN | INDEXED | POOLED | WORN | RETIRED
        ("stream", "u1"),  # stream that the block was last opened for
        ("relocated_run", "u1"),  # length of the run of relocated pages programmed last; 2 = two or more
        *fields("i4", "next_bucket previous_bucket next_age previous_age next_pool previous_pool"),
        *fields("i4", "next_quiet previous_quiet"),
    ],
    align=True,
)
PLANE = np.dtype(
    [
        *fields("i8", "free_pages pool_pages valid"),
        ("gone_pages", "i8"),  # pages by which lost blocks lower the limit of valid pages
        *fields("i4", "pool_head pool_tail pool_count age_head age_tail indexed_blocks"),
        ("max_invalid", "i4"),  # no indexed block has more invalid pages
        ("round_leader", "i4"),  # plane that leads the round that runs in this plane, or -1
        ("round_count", "i4"),  # pairs, in `round_pairs`, of the round that this plane leads
        ("round_planes", "i4"),  # planes of the round that this plane leads
        ("round_pair", "i4"),  # number of the round's pair that this plane empties now
        ("round_page", "i4"),  # next page to check in the block of that pair
        ("collecting", "u1"),  # foreground GC is switched on
        ("levelling", "u1"),  # LEVELLING_DUE, LEVELLING_RUNS or 0
    ],
    align=True,
)
#: A list of blocks, or of bundles.
LIST = np.dtype([("head", "i4"), ("tail", "i4")])
#: Indexed blocks of a plane with one number of invalid pages, in two lists: by the time when they reached the
#: number; by the clock of their last invalidation (`quiet_`: only if S = 1 sub-block, for numbers above 0).
BUCKET = np.dtype([("head", "i4"), ("tail", "i4"), ("quiet_head", "i4"), ("quiet_tail", "i4")])
#: A write stream of a plane. The first five fields count since the last reset of the metrics. A block belongs
#: to the stream for which it was last opened, from its first written page until all of it is erased.
STREAM = np.dtype(
    [
        ("host_pages_written", "i8"),
        ("relocated_pages", "i8"),
        ("overflow_pages", "i8"),  # relocated pages of this stream that went to another stream
        ("victims", "i8"),  # blocks of this stream in erase sets
        ("victim_valid_pages", "i8"),  # valid pages of erase sets when their rounds started
        ("closed_sum", "i8"),  # sum of `closed_at` of the stream's blocks, without the open block
        ("valid", "i4"),  # valid pages of the stream's blocks
        ("blocks", "i4"),
    ],
    align=True,
)
DIE = np.dtype(
    [
        ("estimate_ns", "i8"),  # estimated time when the work queued to the die ends
        ("started_ns", "i8"),  # when the present command started
        ("transfer_ns", "i8"),  # time of the present command on the channel
        ("after_ns", "i8"),  # time of the present command after its transfer
        ("gc_ns", "i8"),  # time of the commands of GC that have ended
        *fields("i4", "read_head read_tail write_head write_tail"),
        ("transaction", "i4"),  # transaction of the present command; joined writes are linked to it
        ("next_waiter", "i4"),  # next die in the queue of the channel
        ("plane_cursor", "i4"),
        ("pages", "i4"),  # pages that the present command reads, writes or moves
        # The next fields, to `timer`, are used only if a rule or agent decides about idle dies. A die is idle
        # from the time when it has no command to start until the host has work for it.
        ("idle_since", "i8"),  # time when the die became idle
        ("idle_gap_ns", "i8"),  # length of the die's last idle time
        ("idle_mean_gap_ns", "i8"),  # mean length of the die's idle times, weighted towards the latest
        ("idle_steps", "i4"),  # commands of background GC that the die may still run
        ("idle_answers", "i4"),  # decisions taken since `idle_since`
        ("idle", "u1"),
        ("timer", "u1"),  # whether the event of the die is the time of its next decision
        *fields("u1", "command stage ready"),
    ],
    align=True,
)
CHANNEL = np.dtype([("free_at", "i8"), ("waiter_head", "i4"), ("waiter_tail", "i4")], align=True)
TRANSACTION = np.dtype(
    [
        ("gc_mark", "i8"),  # time that the die had spent on GC when the page was queued
        *fields("i4", "lpn version slot next"),
        ("rmw", "u1"),
    ],
    align=True,
)
SLOT = np.dtype(
    [
        ("arrival_ns", "i8"),
        ("serial", "i8"),
        ("service_ns", "i8"),  # service time of the last command of the request
        ("gc_wait_ns", "i8"),  # time that the page of the last command waited for GC
        *fields("i4", "remaining next lpn pages"),
        ("op", "u1"),
        ("hint", "u1"),
        ("stream", "u1"),  # 1 + the stream chosen outside the engine for the whole request, or 0
    ],
    align=True,
)
LATENCY = np.dtype([("ns", "i8"), ("op", "u1")], align=True)

#: One pair of an erase set: a block, and the mask of its sub-blocks that are erased (bit s = sub-block s).
ERASE_PAIR = np.dtype([("mask", "u8"), ("block", "i4")], align=True)


#: Most levels of partial blocks below the whole block: a block has at most 64 sub-blocks.
MAX_LEVELS = 6
#: Most candidates of a merge decision: Merge, M-Merge at each depth, and the plan of least cost.
MAX_PLANS = MAX_LEVELS + 3
#: Causes of a merge. FULL: the bundle has no page left for the host. POOL: the host needs a free block, but
#: no more blocks are free than the plane keeps.
FULL, POOL = range(2)

#: A candidate of a merge decision. Times are in nanoseconds.
PLAN = np.dtype(
    [
        ("cost_ns", "i8"),  # time of the candidate's copies and erases
        ("erase_ns", "i8"),  # time of the erases
        ("copies", "i4"),  # relocated pages
        ("out_copies", "i4"),  # copies out of partial blocks before their erase in place
        ("erases", "i4"),  # erase commands
        ("restored", "i4"),  # sub-blocks erased only because disturbance would destroy their data
        ("at_tolerance", "i4"),  # sub-blocks that lose data if a neighbour is erased once more
        ("parts", "u8"),  # hash of the partial blocks that are erased in place
        ("allowed", "u1"),
    ],
    align=True,
)
#: The bundle that is merged, and the cause.
CASE = np.dtype(
    [
        *fields("i4", "plane bundle candidates"),
        ("since_merge", "i4"),  # M-Merges of the bundle since its last Merge
        ("limit", "i4"),  # most M-Merges of a bundle between two Merges
        ("free_blocks", "i4"),  # free blocks of the plane
        ("kept_blocks", "i4"),  # free blocks of the plane at which merges begin
        ("waiting", "i4"),  # other bundles of the plane whose merge could free a block
        ("valid", "i4"),  # valid pages of the bundle's blocks
        *fields("i4", "invalid block_pages levels"),
        ("cause", "u1"),  # FULL or POOL
    ],
    align=True,
)
