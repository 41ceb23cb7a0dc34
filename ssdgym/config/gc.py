"""When garbage is collected, and the hotness table of SpeedupGC's placements."""

from __future__ import annotations

from itertools import pairwise

from pydantic import Field, model_validator

from ssdgym.config.geometry import MAX_PAGES
from ssdgym.config.loading import Config
from ssdgym.enums import ColdScatter, GcGrain, GcMode, GcPriority, GcStart, HotnessCounts


class GcConfig(Config):
    """When garbage is collected. Give the threshold as a free share of pages or as a number of blocks."""

    alternatives = (("idle", "background_fraction"), ("free_blocks", "free_fraction"))

    mode: GcMode = Field(GcMode.BARRIER, description=GcMode.described())
    free_fraction: float | None = Field(None, gt=0, lt=1, description="GC threshold: free share of pages")
    free_blocks: int | None = Field(None, ge=1, description="GC threshold: free blocks in a plane's pool")
    background_fraction: float | None = Field(
        None, gt=0, lt=1, description="an idle die collects a plane with a smaller free share of pages"
    )
    idle: str | None = Field(
        None,
        description="name and parameters of the idle rule, which decides how far an idle die collects; "
        "replaces background_fraction",
    )
    preemptible: bool = Field(
        False,
        description="program host pages also in a plane with a background round, while its pool has room for "
        "the pages that the round still has to relocate",
    )
    priority: GcPriority = Field(
        GcPriority.FIRST, description=f"priority of foreground GC; {GcPriority.described()}"
    )
    start: GcStart = Field(GcStart.AT_ONCE, description=f"GC start with timing event; {GcStart.described()}")
    grain: GcGrain = Field(GcGrain.COMMAND, description=f"background GC; {GcGrain.described()}")
    # Tiny-Tail Flash (Yan et al., FAST 2017), without its parity reads.
    copyback: bool = Field(
        False,
        description="relocate pages within their plane, without a transfer over the channel and without the "
        "controller's error correction; with timing none, only the relocation cost that rules see is lower",
    )

    @model_validator(mode="after")
    def _one_threshold(self) -> GcConfig:
        if (self.free_fraction is None) == (self.free_blocks is None):
            raise ValueError("must give exactly one of free_fraction and free_blocks")
        if self.idle is not None and self.background_fraction is not None:
            raise ValueError("gives both background_fraction and idle; leave one of them out")
        if self.grain == GcGrain.ROUND and (self.idle is not None or self.preemptible):
            raise ValueError("has grain round, which has neither idle nor preemptible; leave them out")
        if self.grain == GcGrain.ROUND and self.background_fraction is None:
            raise ValueError("has grain round, which is of background_fraction; give that or leave it out")
        return self


#: Largest degree: counters of the hotness table have 4 bits.
MAX_DEGREE = 15


class HotnessConfig(Config):
    """A hashed table of write counters, and the thresholds of hotness groups.

    A page has one counter in each row of the table; its degree is the smallest of these counters. The
    placements hot_cold, hot_to_victims and hotness_groups use it (SpeedupGC, sections III-B and IV-A).
    """

    alternatives = (("counters", "pages_per_counter"),)

    hashes: int = Field(7, ge=1, le=16, description="rows of the table, each with its own hash function")
    # 7 rows of 65,536 4-bit counters take 229 KB; SpeedupGC reports 510 KB for all of its tables.
    counters: int = Field(65536, ge=1, le=2**32 - 1, description="number of 4-bit counters per row")
    pages_per_counter: int | None = Field(
        None, ge=1, le=MAX_PAGES, description="logical pages divided by counters of a row; replaces counters"
    )
    # Halving lets pages cool. SpeedupGC gives no period; by default a row is halved once it has counted as
    # many writes as it has counters.
    decay_period: int | None = Field(
        None,
        ge=1,
        description="counted host pages between halvings of all counters; default: counters of a row",
    )
    counts: HotnessCounts = Field(
        HotnessCounts.WRITES, description=f"host pages that are counted; {HotnessCounts.described()}"
    )
    scatter: ColdScatter = Field(
        ColdScatter.PAGE, description=f"hotness_groups: block of a cold page; {ColdScatter.described()}"
    )
    # SpeedupGC gives 7 groups and the first threshold, phi = 2. The other thresholds are assumed: they end at
    # the largest degree, and their steps widen because fewer pages reach high degrees.
    thresholds: tuple[int, ...] = Field(
        (2, 3, 4, 6, 8, 11, 15),
        description="smallest degree (the smallest of a page's counters, one per row) of each hotness group, "
        "rising; pages of a lower degree are cold; hot_cold and hot_to_victims use only the first threshold",
    )

    @model_validator(mode="after")
    def _one_length(self) -> HotnessConfig:
        usual = HotnessConfig.model_fields["counters"].default  # a file may name every field
        if self.pages_per_counter is not None and self.counters != usual:
            raise ValueError("gives both counters and pages_per_counter; leave one of them out")
        return self

    @model_validator(mode="after")
    def _thresholds_rise(self) -> HotnessConfig:
        given = self.thresholds
        if len(given) < 2:
            raise ValueError(f"thresholds = {list(given)} must name at least 2 degrees, one for each group")
        if given[0] < 1 or given[-1] > MAX_DEGREE or any(a >= b for a, b in pairwise(given)):
            raise ValueError(
                f"thresholds = {list(given)} must rise strictly from at least 1 to at most {MAX_DEGREE}"
            )
        return self

    @property
    def groups(self) -> int:
        """Number of hotness groups, and of block groups per plane."""
        return len(self.thresholds)

    def counters_of(self, logical_pages: int) -> int:
        """Return the number of counters per row on a device with `logical_pages`."""
        return (
            self.counters if self.pages_per_counter is None else -(-logical_pages // self.pages_per_counter)
        )

    def period_of(self, logical_pages: int) -> int:
        """Return the counted host pages between halvings of counters on a device with `logical_pages`."""
        return self.counters_of(logical_pages) if self.decay_period is None else self.decay_period
