"""Models of generated workloads: patterns of access, and their pace."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, NonNegativeInt, PositiveInt, model_validator

from ssdgym.config.loading import Config

Share = Annotated[float, Field(ge=0, le=1)]
InnerShare = Annotated[float, Field(gt=0, lt=1)]
#: So bounded that no sum or product of them leaves its range.
Weight = Annotated[float, Field(gt=0, le=1e100)]
Number = Annotated[int, Field(ge=1, lt=2**31)]


def as_size_weights(value: Any) -> Any:
    """Let a plain number stand for the distribution that has only that size."""
    return value if isinstance(value, dict) else {value: 1.0}


SizeWeights = Annotated[dict[PositiveInt, Weight], Field(min_length=1), BeforeValidator(as_size_weights)]


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
    arrivals: Literal["constant", "poisson", "bursts"] = Field(
        "constant",
        description="Gaps between arrivals: all equal; exponentially distributed; or short within bursts"
        " and exponentially distributed between them.",
    )
    burst_requests: float | None = Field(
        None, gt=1, le=1e9, description="Mean requests per burst; their number is geometrically distributed."
    )
    burst_interarrival_ns: float = Field(
        0.0, ge=0, le=1e12, description="Time between two arrivals of the same burst in ns."
    )
    flush_every: Number | None = Field(
        None, description="A flush follows every so many write requests; null: none."
    )

    @model_validator(mode="after")
    def _bursts_fit(self) -> PacedConfig:
        if self.arrivals != "bursts":
            if self.burst_requests is not None or self.burst_interarrival_ns:
                raise ValueError(
                    "sets burst_requests or burst_interarrival_ns, which need arrivals to be bursts"
                )
        elif self.burst_requests is None:
            raise ValueError("needs burst_requests where arrivals is bursts")
        elif self.burst_interarrival_ns >= self.interarrival_ns:
            raise ValueError(
                f"needs burst_interarrival_ns ({self.burst_interarrival_ns:g}) to be below interarrival_ns"
                f" ({self.interarrival_ns:g}), the mean over the gaps within bursts and between them"
            )
        return self


class RegionConfig(PacedConfig):
    """Fields of every workload that reads and writes a part of the logical space."""

    read_fraction: Share = Field(0.0, description="Share of the requests that read.")
    footprint: float = Field(1.0, gt=0, le=1, description="Share of the logical space that is used.")
    start: float = Field(0.0, ge=0, lt=1, description="Where the footprint starts, as a share of that space.")

    @model_validator(mode="after")
    def _region_fits(self) -> RegionConfig:
        if self.start + self.footprint > 1 + 1e-12:
            raise ValueError("needs start + footprint to be at most 1")
        return self


class AccessConfig(RegionConfig):
    """Fields of every workload with one pattern of access.

    Requests of several pages start at a multiple of their size, counted from the start of the
    footprint; where the end of the footprint is in the way, they start so as to end there.
    """

    trim_fraction: Share = Field(0.0, description="Share of the requests that trim; the rest writes.")
    request_pages: SizeWeights = Field(
        {1: 1.0}, description="Pages per request: a number, or a mapping of pages to weights."
    )

    @model_validator(mode="after")
    def _shares_fit(self) -> AccessConfig:
        if self.read_fraction + self.trim_fraction > 1:
            raise ValueError("needs read_fraction + trim_fraction to be at most 1")
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


GeneratedConfig = UniformConfig | HotColdConfig | ZipfConfig | SequentialConfig | DriftingConfig | MixedConfig
