"""Models of ``configs/workloads``: what the host asks of the device, and when."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    BeforeValidator,
    Field,
    NonNegativeInt,
    PositiveInt,
    TypeAdapter,
    model_validator,
)

from ssdgym.config.loading import Config, Source, available, is_yaml_path, load_config

Share = Annotated[float, Field(ge=0, le=1)]
InnerShare = Annotated[float, Field(gt=0, lt=1)]
#: So bounded that no sum or product of them leaves its range.
Weight = Annotated[float, Field(gt=0, le=1e100)]
Number = Annotated[int, Field(ge=1, lt=2**31)]


def _as_size_weights(value: Any) -> Any:
    """Let a plain number of pages stand for the distribution that has only that size."""
    return value if isinstance(value, dict) else {value: 1.0}


SizeWeights = Annotated[dict[PositiveInt, Weight], Field(min_length=1), BeforeValidator(_as_size_weights)]


class PacedConfig(Config):
    """Fields of every generated workload: how many requests, and when they arrive."""

    requests: PositiveInt | None = Field(
        None, description="Requests in the workload, flushes not counted; null: it never ends."
    )
    interarrival_ns: float = Field(
        0.0,
        ge=0,
        le=1e12,
        description="Mean time between arrivals in ns; 0: all at once. Closed loop ignores it.",
    )
    arrivals: Literal["constant", "poisson"] = Field(
        "constant", description="Gaps between arrivals: all equal, or exponentially distributed."
    )
    flush_every: Number | None = Field(
        None, description="A flush follows every so many write requests; null: none."
    )


class AccessConfig(PacedConfig):
    """Fields of every workload with one pattern of access.

    Requests of several pages start at a multiple of their size, counted from the start of the
    footprint; where the end of the footprint is in the way, they start so as to end there.
    """

    read_fraction: Share = Field(0.0, description="Share of the requests that read.")
    trim_fraction: Share = Field(0.0, description="Share of the requests that trim; the rest writes.")
    request_pages: SizeWeights = Field(
        {1: 1.0}, description="Pages per request: a number, or a mapping of pages to weights."
    )
    footprint: float = Field(1.0, gt=0, le=1, description="Share of the logical space that is used.")
    start: float = Field(0.0, ge=0, lt=1, description="Where the footprint starts, as a share of that space.")

    @model_validator(mode="after")
    def _shares_fit(self) -> AccessConfig:
        if self.read_fraction + self.trim_fraction > 1:
            raise ValueError("needs read_fraction + trim_fraction to be at most 1")
        if self.start + self.footprint > 1 + 1e-12:
            raise ValueError("needs start + footprint to be at most 1")
        return self


class UniformConfig(AccessConfig):
    """Every page of the footprint is as likely as any other."""

    kind: Literal["uniform"] = "uniform"


class HotColdConfig(AccessConfig):
    """Two classes of pages; the hot ones lie at the start of the footprint (Rosenblum 1991)."""

    kind: Literal["hot_cold"] = "hot_cold"
    hot_fraction: InnerShare = Field(0.2, description="Share of the footprint's pages that are hot.")
    hot_access: Share = Field(0.8, description="Share of the requests that go to the hot pages.")


class ZipfConfig(AccessConfig):
    """The page of rank k is asked for in proportion to ``k ** -theta``."""

    kind: Literal["zipf"] = "zipf"
    theta: float = Field(0.99, ge=0, le=10, description="Exponent; 0 is uniform, 1 and more is allowed.")
    scrambled: bool = Field(True, description="Ranks are spread over the footprint at random; else in order.")
    layout_seed: NonNegativeInt = Field(
        0,
        description="Seed of that spread. It is no part of the stream's seed: a device aged by this workload"
        " meets the same hot pages under other draws.",
    )


class SequentialConfig(AccessConfig):
    """Page after page from the start of the footprint to its end, over and over."""

    kind: Literal["sequential"] = "sequential"


class DriftingConfig(AccessConfig):
    """A hot set of consecutive pages that moves through the footprint."""

    kind: Literal["drifting"] = "drifting"
    hot_fraction: InnerShare = Field(0.1, description="Share of the footprint's pages that are hot.")
    hot_access: Share = Field(0.9, description="Share of the requests that go to the hot pages.")
    shift_every_pages: Number = Field(
        description="Pages asked for (read, written or trimmed) between two moves of the hot set."
    )
    shift_pages: Number = Field(description="Pages by which the hot set moves each time.")


AnyAccessConfig = Annotated[
    UniformConfig | HotColdConfig | ZipfConfig | SequentialConfig | DriftingConfig,
    Field(discriminator="kind"),
]


class ComponentConfig(Config):
    """One part of a mixed workload."""

    weight: Weight = Field(description="Share of the requests, relative to the other weights.")
    workload: AnyAccessConfig = Field(description="Its pattern; pace and number belong to the mix.")

    @model_validator(mode="after")
    def _pace_is_the_mix_s(self) -> ComponentConfig:
        for name, field in PacedConfig.model_fields.items():
            if getattr(self.workload, name) != field.default:
                raise ValueError(f"sets workload.{name}, which belongs to the mix; move it there")
        return self


class MixedConfig(PacedConfig):
    """Several patterns at once; every request comes from one of them, drawn by weight."""

    kind: Literal["mixed"] = "mixed"
    components: tuple[ComponentConfig, ...] = Field(min_length=1, description="The patterns.")


class TraceConfig(Config):
    """A recorded trace, replayed in file order."""

    kind: Literal["trace"] = "trace"
    path: Path = Field(
        description="The file, plain or gzip; a relative path is looked for in the folder that the"
        " environment variable SSDGYM_TRACES names, too."
    )
    format: Literal["auto", "cloudphysics", "msr"] = Field(
        "auto", description="Format of the file; auto: recognised from its content."
    )
    loops: PositiveInt | None = Field(1, description="How often the trace is played; null: for ever.")
    addresses: Literal["compact", "fold"] = Field(
        "compact",
        description="compact: the pages touched are numbered 0..n-1 in address order;"
        " fold: page numbers are taken modulo the logical pages of the device.",
    )
    head: PositiveInt | None = Field(None, description="Only the first so many requests; null: all.")
    skip_bad: NonNegativeInt = Field(0, description="Bad lines that are left out before giving up.")


WorkloadConfig = (
    UniformConfig | HotColdConfig | ZipfConfig | SequentialConfig | DriftingConfig | MixedConfig | TraceConfig
)

_ADAPTER: TypeAdapter[WorkloadConfig] = TypeAdapter(Annotated[WorkloadConfig, Field(discriminator="kind")])


def load_workload(source: Source) -> WorkloadConfig:
    """Return a workload from a name, a YAML file, a trace file, a mapping or a ready model.

    A path that is not YAML is taken for a trace with default settings.

    Raises:
        SsdgymError: as `ssdgym.config.loading.load_config`.
    """
    if isinstance(source, (str, Path)) and _is_trace_path(source):
        return TraceConfig(path=Path(source))
    return load_config(_ADAPTER, source, "workloads")


def _is_trace_path(source: str | Path) -> bool:
    if is_yaml_path(source) or str(source) in available("workloads"):
        return False
    path = Path(source)
    return path.suffix != "" or len(path.parts) > 1 or path.is_file()


def is_endless(config: WorkloadConfig) -> bool:
    """Does the workload go on for ever?"""
    return config.loops is None if isinstance(config, TraceConfig) else config.requests is None


def never_writes(config: WorkloadConfig) -> bool:
    """Is it plain from the configuration that the workload writes no page? (Of a trace it is not.)"""
    if isinstance(config, TraceConfig):
        return False
    if isinstance(config, MixedConfig):
        return all(_never_writes(part.workload) for part in config.components)
    return _never_writes(config)


def _never_writes(config: AccessConfig) -> bool:
    return config.read_fraction + config.trim_fraction >= 1
