"""One device of the reference, described."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import ceil

#: Streams of a plane, and how many of them take relocated pages, for the placements that are rules.
RULES = {
    "dac": (6, 5),
    "fadac": (6, 6),
    "hints": (9, 1),
    "hints_isolated": (16, 8),
    "mida": (5, 4),
    "mida_hot": (5, 4),
    "midas": (13, 1),
    "multi_log": (6, 6),
    "sepbit": (6, 4),
    "sfs": (6, 6),
    "td_lifetime": (8, 8),
    "oracle_k": (8, 8),
    "oracle_rate": (6, 6),
}
#: Placements that put pages elsewhere than into streams.
SCATTERING = ("hot_to_victims", "hotness_groups")
#: Those that tell hot pages from others; only for them there is a table of counters.
BY_HOTNESS = (*SCATTERING, "hot_cold")


@dataclass(frozen=True)
class ReferenceConfig:
    """One device. Its threshold is in pages of a plane, or in blocks of its pool."""

    channels: int = 1
    chips_per_channel: int = 1
    dies_per_chip: int = 1
    planes_per_die: int = 1
    blocks_per_plane: int = 8
    sub_blocks_per_block: int = 1
    pages_per_block: int = 4  # that can hold data: hardware isolation has had its share
    logical_pages: int = 16
    erase_unit: str = "block"  # or "sub_block_run" or "sub_block_set"
    isolation: str = "none"  # or "software" or "hardware"
    multi_plane: str = "none"  # or "strict" or "relaxed"
    placement: str = "single"  # or "sep_gc", "hot_cold", "hot_to_victims", "hotness_groups", or a rule
    parameters: Mapping[str, int] = field(default_factory=dict)  # of the rule
    block_allocation: str | None = None  # a rule of levelling.py; None: free blocks in their order
    levelling: str | None = None  # another rule of it
    levelling_parameters: Mapping[str, int] = field(default_factory=dict)
    hashes: int = 7
    counters: int = 64
    pages_per_counter: int | None = None  # in place of counters
    decay_period: int | None = None  # None: as many updates as a row has counters
    thresholds: tuple[int, ...] = (2, 4)
    hotness_counts: str = "writes"  # or "updates"
    hotness_scatter: str = "page"  # or "block", with hotness_groups
    allocation: str = "static"  # or "dynamic" or "late"
    multi_plane_writes: bool = False
    multi_plane_rows: str = "any"  # or "aligned" or "pad"
    pad_limit: int = 0  # pages, with pad
    multi_plane_reads: bool = False
    write_completes: str = "program"  # or "transfer"
    gc_mode: str = "barrier"  # or "per_write"
    threshold_pages: int | None = None
    threshold_blocks: int | None = None
    background_pages: int | None = None
    idle: str | None = None  # a rule of idle.py, in place of background_pages
    idle_blocks: int = 4  # what its planes have fewer free pages than
    preemptible: bool = False
    gc_priority: str = "first"  # or "after_reads"
    gc_start: str = "at_once"  # or "queue_empty"
    gc_grain: str = "command"  # or "round"
    copyback: bool = False
    timing: str = "none"  # or "event"
    read_ns: int = 0
    program_ns: int = 0
    erase_ns: int = 0
    transfer_ns: int = 0
    closed_loop: bool = False
    queue_depth: int = 1
    window_pages: int = 64
    seed: int = 0
    endurance: int | None = None  # mean erases of a sub-block; None: cells do not wear out
    endurance_spread: float = 0.0
    capacity: str = "fixed"  # or "variant"
    least_capacity: int = 1  # pages
    disturbance_wears: bool = False  # an erase counts for the sub-blocks beside it, too

    def __post_init__(self) -> None:
        if (self.threshold_pages is None) == (self.threshold_blocks is None):
            raise ValueError("give one of threshold_pages and threshold_blocks")
        if self.pages_per_block % self.sub_blocks_per_block:
            raise ValueError("pages_per_block must be a multiple of sub_blocks_per_block")
        if self.scatters and self.erase_unit == "block":
            raise ValueError(f"placement {self.placement} needs an erase_unit of sub-blocks")
        if self.placement == "hotness_groups" and self.group_limit < 2 * self.groups - 3:
            raise ValueError(f"{self.blocks_per_plane} blocks are too few for {self.groups} groups")
        if self.multi_plane_writes and (self.multi_plane == "none" or self.scatters):
            raise ValueError("multi_plane_writes needs multi_plane and a placement in streams")
        if self.multi_plane_reads and self.multi_plane == "none":
            raise ValueError("multi_plane_reads needs multi_plane")
        if self.pads != (1 <= self.pad_limit < self.pages_per_block):
            raise ValueError("multi_plane_rows pad needs a pad_limit below the pages of a block, any needs 0")
        if self.pads and not self.multi_plane_writes:
            raise ValueError("multi_plane_rows pad needs multi_plane_writes")
        if self.pads and self.sub_blocks_per_block > 1:
            raise ValueError("multi_plane_rows pad needs blocks without sub-blocks")
        if self.pads and self.placement == "hot_cold":
            raise ValueError("multi_plane_rows pad is not for hot_cold, which moves pages to two streams")
        if self.aligns and not (self.multi_plane_writes and self.allocation != "static"):
            raise ValueError("multi_plane_rows aligned needs multi_plane_writes, and no static allocation")
        if self.aligns and (self.placement != "sep_gc" or self.sub_blocks_per_block > 1):
            raise ValueError("multi_plane_rows aligned needs sep_gc, and blocks without sub-blocks")
        if (self.block_allocation is not None or self.levelling is not None) and self.scatters:
            raise ValueError(f"placement {self.placement} opens blocks of its own choice")
        if self.hotness_scatter == "block" and self.placement != "hotness_groups":
            raise ValueError("scatter block is for hotness_groups")
        if self.gc_grain == "round" and (self.idle is not None or self.preemptible):
            raise ValueError("gc_grain round goes with no idle rule, and not with preemptible")

    @cached_property
    def dies(self) -> int:
        return self.channels * self.chips_per_channel * self.dies_per_chip

    @cached_property
    def planes(self) -> int:
        return self.dies * self.planes_per_die

    @cached_property
    def pages_per_plane(self) -> int:
        return self.blocks_per_plane * self.pages_per_block

    @cached_property
    def pages_per_sub_block(self) -> int:
        return self.pages_per_block // self.sub_blocks_per_block

    @cached_property
    def streams(self) -> int:
        if self.placement in RULES:
            return RULES[self.placement][0]
        return {"sep_gc": 2, "hot_cold": 2}.get(self.placement, 1)

    @cached_property
    def open_blocks(self) -> int:
        """Those that a plane may have at once: of each stream, and of pages that level wear."""
        return self.streams + (self.levelling is not None)

    @cached_property
    def floor(self) -> int:
        """Blocks of the pool below which GC starts."""
        reserve = 0 if self.endurance is None else 1  # for an erase that wins nothing, as it was the last one
        return (3 if self.shares_open_blocks else 2) + reserve

    @cached_property
    def shares_open_blocks(self) -> bool:
        """Whether relocated pages have several streams, and go to any that is open when the pool is low."""
        both = self.placement == "hot_cold" and self.endurance is not None
        return both or (self.placement in RULES and RULES[self.placement][1] > 1)

    @cached_property
    def scatters(self) -> bool:
        """Whether the placement puts pages elsewhere than into streams."""
        return self.placement in SCATTERING

    @cached_property
    def pads(self) -> bool:
        """Whether rows are filled up so that writes can join."""
        return self.multi_plane_rows == "pad"

    @cached_property
    def aligns(self) -> bool:
        """Whether writes go to planes that lag behind, so that rows are equal more often."""
        return self.multi_plane_rows == "aligned"

    @cached_property
    def waits_for_empty_queues(self) -> bool:
        """Whether foreground GC waits for the host's commands, in time and while it is not urgent."""
        return self.timing == "event" and self.gc_start == "queue_empty"

    @cached_property
    def row_counters(self) -> int:
        """Counters of a row of the table."""
        if self.pages_per_counter is None:
            return self.counters
        return ceil(self.logical_pages / self.pages_per_counter)

    @cached_property
    def groups(self) -> int:
        """Hotness groups, and block groups of a plane: g."""
        return len(self.thresholds)

    @cached_property
    def group_limit(self) -> int:
        """The most blocks of a group: m of equation (1) of SpeedupGC."""
        return self.blocks_per_plane // (self.groups - 1) - 1

    @cached_property
    def copy_ns(self) -> int:
        """Cost of moving a page, as the benefit of an erase set counts it."""
        return self._copy_ns if self._copy_ns or self.erase_ns else 1

    @cached_property
    def erase_cost_ns(self) -> int:
        """Cost of an erase, likewise."""
        return max(self.erase_ns, 1) if self._copy_ns or self.erase_ns else self.pages_per_sub_block

    @cached_property
    def _copy_ns(self) -> int:
        transfers_ns = 0 if self.copyback else 2 * self.transfer_ns
        return self.read_ns + self.program_ns + transfers_ns

    @cached_property
    def threshold(self) -> int:
        limit = self.threshold_blocks if self.threshold_pages is None else self.threshold_pages
        assert limit is not None
        return limit

    @cached_property
    def max_valid_pages(self) -> int:
        """V_max: the most valid pages of a plane that still leave a victim."""
        unit = 1 if self.threshold_blocks is None else self.pages_per_block
        reserve = max(
            self.threshold * unit,
            self.background_pages or 0,
            self.floor * self.pages_per_block,
        )
        return self.pages_per_plane - reserve - self.open_blocks * self.pages_per_block
