"""The flash translation layer: when it collects garbage, and where it puts pages."""

from __future__ import annotations

import itertools
from typing import Literal

from pydantic import Field, model_validator

from ssdgym.config.loading import Config
from ssdgym.config.placements import STREAMS, Placement

#: Page numbers are 32-bit.
MAX_PAGES = 2**31 - 1
#: A counter of the hotness table has 4 bits.
MAX_DEGREE = 15


class GcConfig(Config):
    """When garbage is collected. Give the threshold either as a share of pages or in blocks."""

    mode: Literal["barrier", "per_write"] = Field(
        "barrier",
        description="barrier: rounds until above it; per_write: one round per triggering host write",
    )
    free_fraction: float | None = Field(
        None, gt=0, lt=1, description="threshold: share of a plane's pages free"
    )
    free_blocks: int | None = Field(None, ge=1, description="threshold: blocks in a plane's pool")
    barrier_fraction: float | None = Field(None, gt=0, lt=1, description="barrier, default the threshold")
    barrier_blocks: int | None = Field(None, ge=1, description="barrier, default the threshold")
    background_fraction: float | None = Field(
        None, gt=0, lt=1, description="idle dies collect planes with a smaller share of free pages"
    )
    priority: Literal["first", "after_reads"] = Field(
        "first", description="foreground GC before all host commands of the die, or after its reads"
    )
    # Tiny-Tail Flash (Yan et al., FAST 2017), without its parity reads.
    copyback: bool = Field(
        False,
        description="pages are relocated within their plane without crossing the channel, so without error "
        "correction by the controller; without time it only changes the cost in benefits",
    )

    @model_validator(mode="after")
    def _one_threshold(self) -> GcConfig:
        if (self.free_fraction is None) == (self.free_blocks is None):
            raise ValueError("must give exactly one of free_fraction and free_blocks")
        for barrier, threshold, unit in (
            (self.barrier_fraction, self.free_fraction, "fraction"),
            (self.barrier_blocks, self.free_blocks, "blocks"),
        ):
            if barrier is None:
                continue
            if threshold is None:
                raise ValueError(f"gives barrier_{unit} without the threshold free_{unit}")
            if barrier < threshold:
                raise ValueError(f"barrier_{unit} = {barrier} must not be below free_{unit} = {threshold}")
        return self


class HotnessConfig(Config):
    """Which pages are hot: a table of counters found by hashes, and the degrees that part the hotness groups.

    Used by the placements hot_cold, hot_to_victims and hotness_groups (SpeedupGC, sections III-B and IV-A).
    """

    hashes: int = Field(7, ge=1, le=16, description="rows of the table, each with a hash of its own")
    # 7 rows of 65,536 counters of 4 bits are 224 KiB; all tables of SpeedupGC's device take 510 KB.
    counters: int = Field(65536, ge=1, le=2**32 - 1, description="4-bit counters of a row")
    # Halving lets pages cool. SpeedupGC gives no period; by default a row is halved once it has counted as
    # many writes as it has counters.
    decay_period: int | None = Field(
        None, ge=1, description="host pages after which all counters are halved; default: counters"
    )
    # SpeedupGC has phi = 2, which is the first, and 7 groups, but does not say where the others begin: up to
    # the last degree there is, in steps that widen as fewer pages reach them.
    thresholds: tuple[int, ...] = Field(
        (2, 3, 4, 6, 8, 11, 15),
        description="smallest degree of each hotness group, rising; a page below the first is not hot, and "
        "hot_cold and hot_to_victims ask for the first only",
    )

    @model_validator(mode="after")
    def _thresholds_rise(self) -> HotnessConfig:
        given = self.thresholds
        if len(given) < 2:
            raise ValueError(f"thresholds = {list(given)} must name at least 2 degrees, one for each group")
        if given[0] < 1 or given[-1] > MAX_DEGREE or any(a >= b for a, b in itertools.pairwise(given)):
            raise ValueError(
                f"thresholds = {list(given)} must rise strictly from at least 1 to at most {MAX_DEGREE}"
            )
        return self

    @property
    def groups(self) -> int:
        """Hotness groups, and block groups of a plane."""
        return len(self.thresholds)

    def group_limit(self, blocks_per_plane: int) -> int:
        """Most blocks of a block group, m (SpeedupGC, equation 1)."""
        return blocks_per_plane // (self.groups - 1) - 1

    @property
    def period(self) -> int:
        """Host pages after which the counters are halved."""
        return self.counters if self.decay_period is None else self.decay_period


class FtlConfig(Config):
    """The flash translation layer and how the host drives it."""

    mapping: Literal["page"] = "page"
    placement: Placement = Field(
        "sep_gc",
        description="single: one write stream; sep_gc: relocated pages in a stream of their own; "
        "hot_cold: hot pages, the host's and relocated ones, in a stream of their own; hot_to_victims: hot "
        "host pages to the sub-blocks that would be erased next; hotness_groups: hot pages to blocks of the "
        "group of their hotness",
    )
    hotness: HotnessConfig = HotnessConfig()
    # late: by state, as SSDsim does (Hu et al., ICS 2011); dynamic: by queue, as Park et al. (IEEE CAL 2010).
    allocation: Literal["static", "dynamic", "late"] = Field(
        "static",
        description="static: plane by logical page; dynamic: a write is bound, when it is queued, to the die "
        "that should be idle first; late: writes wait in one queue, and a die takes one when it is idle "
        "(without time as dynamic)",
    )
    # Shin, Electronics Letters 2018.
    multi_plane_writes: bool = Field(
        False,
        description="waiting writes are programmed together in planes of one die; needs multi_plane; "
        "without time nothing waits, and it changes nothing",
    )
    timing: Literal["none", "event"] = Field("event", description="count only, or simulate time")
    queue_depth: int = Field(
        0,
        ge=0,
        le=MAX_PAGES,
        description="closed loop with so many requests outstanding; 0: open loop by arrival times",
    )
    window_pages: int = Field(
        16384, ge=1, le=MAX_PAGES, description="page transactions the controller holds; further requests wait"
    )
    gc: GcConfig = GcConfig(free_fraction=0.02)

    @model_validator(mode="after")
    def _background_needs_time(self) -> FtlConfig:
        if self.timing == "none" and self.gc.background_fraction is not None:
            raise ValueError("timing none has no idle time for gc.background_fraction; use timing event")
        return self

    @property
    def streams(self) -> int:
        """Write streams of a plane."""
        return STREAMS.get(self.placement, 1)
