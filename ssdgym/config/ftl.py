"""The flash translation layer: what every family has, and the page-mapping family.

A family is told apart by its `mapping`. Those of installed code are added by `register_ftl`.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, GetCoreSchemaHandler, ValidationError, model_validator
from pydantic_core import CoreSchema, core_schema

from ssdgym.config.geometry import MAX_PAGES, GeometryConfig
from ssdgym.config.loading import Config
from ssdgym.enums import (
    Allocation,
    GcGrain,
    GcMode,
    GcPriority,
    GcStart,
    PlaneRows,
    Timing,
    WriteCompletes,
)
from ssdgym.errors import SsdgymError

#: Write streams of a plane for the placements that the engine has code for and that put pages in streams.
STREAMS = {"single": 1, "sep_gc": 2, "hot_cold": 2}
#: Most write streams of a plane.
MOST_STREAMS = 16
#: Placements of the engine that scatter pages to sub-blocks that would be erased next.
SUB_BLOCK_PLACEMENTS = ("hot_to_victims", "hotness_groups")
#: A counter of the hotness table has 4 bits.
MAX_DEGREE = 15


class FtlConfig(Config):
    """The base of every family's model: how the host drives the FTL, and how writes find their die.

    Attributes:
        mapping: name of the family.
        whole_blocks_only: whether the family never erases a part of a block.
        keeps_addresses: whether it maps whole logical blocks, so that pages of a trace must keep the
            neighbours that they have in its address space.
        models_disturbance: whether the family counts itself what erases do to their neighbours; its devices
            have no isolation and no `erase_disturbs`.
        usual_policy: the policy of its devices where none is named; others have a main rule of its kind.
    """

    whole_blocks_only: ClassVar[bool] = False
    keeps_addresses: ClassVar[bool] = False
    models_disturbance: ClassVar[bool] = False
    usual_policy: ClassVar[str] = "greedy"

    mapping: str
    allocation: Allocation = Field(Allocation.STATIC, description=Allocation.described())
    timing: Timing = Field(Timing.EVENT, description=Timing.described())
    queue_depth: int = Field(
        0,
        ge=0,
        le=MAX_PAGES,
        description="closed loop with so many requests outstanding; 0: open loop by arrival times",
    )
    window_pages: int = Field(
        16384, ge=1, le=MAX_PAGES, description="page transactions the controller holds; further requests wait"
    )

    def check_device(self, geometry: GeometryConfig, erase_unit: str, multi_plane: str) -> None:
        """Raise if the FTL does not fit the device.

        Args:
            geometry: of the device.
            erase_unit: what one erase may take of a block.
            multi_plane: commands that planes of a die share.

        Raises:
            ValueError: naming the field that does not fit.
        """

    def units_per_page(self, geometry: GeometryConfig) -> int:
        """Return how many of what a logical page number addresses a page of flash holds."""
        return 1

    def capacity_step(self, geometry: GeometryConfig) -> tuple[int, str]:
        """Return the number whose multiples the logical pages of a device are, and what holds so many."""
        return self.units_per_page(geometry), "a page of flash"

    def host_unit_bytes(self, geometry: GeometryConfig) -> int:
        """Return the size of what a logical page number addresses."""
        return geometry.page_size_bytes // self.units_per_page(geometry)

    def with_changes(self, changes: dict[str, Any]) -> dict[str, Any]:
        """Return the fields with other values; those of another family keep what all families have."""
        if changes.get("mapping", self.mapping) == self.mapping:
            return super().with_changes(changes)
        return self.model_dump(exclude_unset=True, include=set(FtlConfig.model_fields)) | changes


_FAMILIES: dict[str, type[FtlConfig]] = {}


def register_ftl(mapping: str, model: type[FtlConfig]) -> None:
    """Let configurations with `ftl: {mapping: ...}` be read as a model of their own.

    Args:
        mapping: name of the family.
        model: the configuration of its FTL; its field `mapping` has no other value.

    Raises:
        SsdgymError: another model has that name.
    """
    if _FAMILIES.setdefault(mapping, model).__qualname__ != model.__qualname__:
        raise SsdgymError(f"the FTL mapping {mapping} is registered already; choose another name.")
    _FAMILIES[mapping] = model


def ftl_model(mapping: Any) -> type[FtlConfig] | None:
    """Return the model of the FTLs with a mapping; `None` where there is none."""
    return _FAMILIES.get(mapping) if isinstance(mapping, str) else None


class _OfItsFamily:
    """Annotation of a field that holds the FTL of any family; without a mapping it is of the page family."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(_read)


def _read(value: Any) -> FtlConfig:
    """Return a mapping, or a ready model, as the model of its family."""
    mapping = value.get("mapping", "page") if isinstance(value, dict) else getattr(value, "mapping", "page")
    model = ftl_model(mapping)
    if model is None:
        known = " or ".join(f"'{name}'" for name in sorted(_FAMILIES))
        error: Any = {
            "type": "literal_error",
            "loc": ("mapping",),
            "input": mapping,
            "ctx": {"expected": known},
        }
        raise ValidationError.from_exception_data("ftl", [error])
    return model.model_validate(value)


AnyFtl = Annotated[FtlConfig, _OfItsFamily()]


class GcConfig(Config):
    """When garbage is collected. Give the threshold either as a share of pages or in blocks."""

    mode: GcMode = Field(GcMode.BARRIER, description=GcMode.described())
    free_fraction: float | None = Field(
        None, gt=0, lt=1, description="threshold: share of a plane's pages free"
    )
    free_blocks: int | None = Field(None, ge=1, description="threshold: blocks in a plane's pool")
    barrier_fraction: float | None = Field(None, gt=0, lt=1, description="barrier, default the threshold")
    barrier_blocks: int | None = Field(None, ge=1, description="barrier, default the threshold")
    background_fraction: float | None = Field(
        None, gt=0, lt=1, description="idle dies collect planes with a smaller share of free pages"
    )
    idle: str | None = Field(
        None,
        description="how far idle dies go with collecting: an idle rule by name, with its parameters; in "
        "place of background_fraction",
    )
    preemptible: bool = Field(
        False,
        description="pages of the host are programmed in a plane with a background round under way, as long "
        "as the pool has room for what the round still has to move",
    )
    priority: GcPriority = Field(GcPriority.FIRST, description=f"of foreground GC; {GcPriority.described()}")
    start: GcStart = Field(GcStart.AT_ONCE, description=f"in time: {GcStart.described()}")
    grain: GcGrain = Field(GcGrain.COMMAND, description=f"with background_fraction: {GcGrain.described()}")
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
        if self.idle is not None and self.background_fraction is not None:
            raise ValueError("gives both background_fraction and idle; leave one of them out")
        if self.grain == GcGrain.ROUND and (self.idle is not None or self.preemptible):
            raise ValueError("has grain round, which knows neither idle nor preemptible; leave them out")
        if self.grain == GcGrain.ROUND and self.background_fraction is None:
            raise ValueError("has grain round, which is of background_fraction; give that or leave it out")
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

    def with_changes(self, changes: dict[str, Any]) -> dict[str, Any]:
        """Return the fields with other values.

        A new threshold comes with its own unit and barrier, an idle rule without a share, and a share without
        an idle rule.
        """
        fields = self.model_dump(exclude_unset=True)
        if "idle" in changes or "background_fraction" in changes:
            for name in ("idle", "background_fraction"):
                fields.pop(name, None)
        if "free_blocks" in changes or "free_fraction" in changes:
            for name in ("free_blocks", "free_fraction", "barrier_blocks", "barrier_fraction"):
                fields.pop(name, None)
        return {**fields, **changes}


class HotnessConfig(Config):
    """A table of counters found by hashes, which says what pages are hot, and the degrees of hotness groups.

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
        if given[0] < 1 or given[-1] > MAX_DEGREE or any(a >= b for a, b in pairwise(given)):
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


class MemoryBytes(Config):
    """Sizes of the records that a rule keeps."""

    page: int = Field(0, ge=0, description="bytes per logical page")
    block: int = Field(0, ge=0, description="bytes per block")
    stream: int = Field(0, ge=0, description="bytes per plane and stream")
    device: int = Field(0, ge=0, description="bytes per device")


class RuleNeeds(Config):
    """What the rules that run on a device need of it: filled in when a policy adapts the device."""

    streams: int = Field(1, ge=1, description="write streams of a plane")
    relocation_streams: int = Field(1, ge=1, description="streams that the pages of one victim can go to")
    place: MemoryBytes = Field(MemoryBytes(), description="memory of the placement")
    victim: MemoryBytes = Field(MemoryBytes(), description="memory of the victim rule")
    idle: MemoryBytes = Field(MemoryBytes(), description="memory of the idle rule")
    shared: bool = Field(False, description="the victim rule uses the memory of the placement")


class PageFtl(FtlConfig):
    """An FTL that maps every page by itself."""

    mapping: Literal["page"] = "page"
    placement: str = Field(
        "sep_gc",
        description="where pages are written: a placement by name, with its parameters",
    )
    min_streams: int = Field(
        1,
        ge=1,
        le=MOST_STREAMS,
        description="write streams of a plane at least, for agents that choose among more than the placement "
        "has; relocated pages may go to each of these, so a plane keeps a free block for each",
    )
    watchers: tuple[str, ...] = Field(
        (),
        description="rules that follow what happens on the device and decide nothing, by name: what "
        "environments observe, and placements whose choices they tell",
    )
    rules: RuleNeeds | None = Field(
        None, description="what the rules need; filled in, whatever stands here is replaced"
    )
    hotness: HotnessConfig = HotnessConfig()
    # Shin, Electronics Letters 2018.
    multi_plane_writes: bool = Field(
        False,
        description="waiting writes are programmed together in planes of one die; needs multi_plane; "
        "without time nothing waits, and it changes nothing",
    )
    write_completes: WriteCompletes = Field(
        WriteCompletes.PROGRAM, description=f"in time: {WriteCompletes.described()}"
    )
    multi_plane_rows: PlaneRows = Field(
        PlaneRows.ANY, description=f"with multi_plane_writes: {PlaneRows.described()}"
    )
    pad_limit: int = Field(
        0, ge=0, le=MAX_PAGES, description="with multi_plane_rows pad: most pages by which a plane is padded"
    )
    multi_plane_reads: bool = Field(
        False,
        description="waiting reads of equal page numbers are read together in planes of one die; needs "
        "multi_plane, and time",
    )
    gc: GcConfig = GcConfig(free_fraction=0.02)

    @model_validator(mode="after")
    def _background_needs_time(self) -> PageFtl:
        if self.timing == "none" and self.gc.background_fraction is not None:
            raise ValueError("timing none has no idle time for gc.background_fraction; use timing event")
        return self

    @property
    def needs(self) -> RuleNeeds:
        """What the rules need; of a placement that is not the engine's it is known once it was looked up."""
        streams = max(STREAMS.get(self.placement, 1), self.min_streams)
        return self.rules or RuleNeeds(streams=streams, relocation_streams=self.min_streams)

    @property
    def streams(self) -> int:
        """Write streams of a plane."""
        return self.needs.streams

    @property
    def relocation_streams(self) -> int:
        """Write streams that the pages of one victim can go to."""
        return self.needs.relocation_streams

    def check_device(self, geometry: GeometryConfig, erase_unit: str, multi_plane: str) -> None:
        """Raise if the placement or the idle rule needs what the device does not have."""
        if self.timing == "none" and self.gc.idle is not None:
            raise ValueError(f"ftl.timing none has no idle time for {self.gc.idle}; use timing event")
        if self.placement in SUB_BLOCK_PLACEMENTS and erase_unit == "block":
            raise ValueError(
                f"ftl.placement {self.placement} needs an erase_unit of sub-blocks (sub_block_run or "
                "sub_block_set), not block"
            )
        if self.placement == "hotness_groups":
            _check_groups(geometry.blocks_per_plane, self.hotness)
        for name in ("multi_plane_writes", "multi_plane_reads"):
            if getattr(self, name) and multi_plane == "none":
                raise ValueError(f"ftl.{name} needs multi_plane strict or relaxed, not none")
        self._check_rows(geometry)
        if not self.multi_plane_writes:
            return
        if self.placement in SUB_BLOCK_PLACEMENTS:
            raise ValueError(
                f"ftl.multi_plane_writes needs an ftl.placement in streams ({', '.join(STREAMS)}), not "
                f"{self.placement}"
            )

    def _check_rows(self, geometry: GeometryConfig) -> None:
        if self.multi_plane_rows == PlaneRows.ANY:
            if self.pad_limit > 0:
                raise ValueError("ftl.pad_limit is for ftl.multi_plane_rows pad; set that or leave it out")
            return
        if not self.multi_plane_writes:
            raise ValueError("ftl.multi_plane_rows pad needs ftl.multi_plane_writes; set it")
        if self.placement == "hot_cold":  # relocated pages go to two streams, and padding may fill a block
            raise ValueError(
                "ftl.multi_plane_rows pad is not for ftl.placement hot_cold; choose another placement"
            )
        if geometry.sub_blocks_per_block > 1:
            raise ValueError(
                "ftl.multi_plane_rows pad needs blocks that are written from one end to the other; set "
                "geometry.sub_blocks_per_block to 1"
            )
        if not 0 < self.pad_limit < geometry.pages_per_block:
            raise ValueError(
                f"ftl.pad_limit = {self.pad_limit} must be from 1 to {geometry.pages_per_block - 1}, a page "
                "less than a block has"
            )


def page_ftl(ftl: FtlConfig) -> PageFtl:
    """Return an FTL of the page family as what it is.

    Raises:
        SsdgymError: it is of another family.
    """
    if not isinstance(ftl, PageFtl):
        raise SsdgymError(f"ftl.mapping is {ftl.mapping}, and this is for devices of mapping page.")
    return ftl


def _check_groups(blocks_per_plane: int, hotness: HotnessConfig) -> None:
    """Raise if block groups are so small that a block moved by a full one finds no room in another."""
    groups, least = hotness.groups, 2 * hotness.groups - 3
    if hotness.group_limit(blocks_per_plane) < least:
        raise ValueError(
            f"geometry.blocks_per_plane = {blocks_per_plane} is too small for ftl.placement hotness_groups "
            f"with the {groups} groups of ftl.hotness.thresholds: it needs at least "
            f"{(least + 1) * (groups - 1)}"
        )


register_ftl("page", PageFtl)
