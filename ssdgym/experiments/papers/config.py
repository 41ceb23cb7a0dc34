"""Models of `configs/papers/PAPER.yaml`: the figures of a paper and their claims."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, NonNegativeInt, PositiveInt, model_validator

from ssdgym.config.device import Preconditioning
from ssdgym.config.loading import Config
from ssdgym.experiments.papers.change_claims import ChangeClaim, TrendClaim
from ssdgym.experiments.papers.claims import Texts
from ssdgym.experiments.papers.functions import FunctionClaim
from ssdgym.workloads.traces.transforms import AnyTransformConfig

#: A claim of any kind, as YAML files give it.
AnyClaim = Annotated[
    ChangeClaim | TrendClaim | FunctionClaim,
    Field(discriminator="kind"),
]


class LengthConfig(Config):
    """How long a generated workload is played, because it never ends."""

    warmup: NonNegativeInt = Field(0, description="Host pages that are played and not measured.")
    host_pages: PositiveInt = Field(description="Host pages that are measured.")
    day_requests: PositiveInt | None = Field(
        None, description="Requests after each of which a day passes without any; null: none passes."
    )


class FileConfig(Config):
    """A real trace that replaces a synthetic trace if its file is available."""

    path: Path = Field(description="Of the file, in the folder that --traces or SSDGYM_TRACES names.")
    skip_bad: NonNegativeInt = Field(0, description="Bad lines that are left out before giving up.")
    queue_depth: PositiveInt | None = Field(
        None, description="Requests outstanding, where the times of the trace are lost; null: by its times."
    )


class ScaleConfig(Config):
    """How much of the experiment is run at a scale."""

    seeds: PositiveInt = Field(description="Seeds 1 to this, of synthetic traces and of the state before.")
    transforms: tuple[AnyTransformConfig, ...] = Field(
        (), description="Changes to the traces, such as a smaller space for a smaller device."
    )
    transforms_of: dict[str, tuple[AnyTransformConfig, ...]] = Field(
        default_factory=dict, description="Of some traces, in place of transforms: changes to them."
    )
    head: PositiveInt | None = Field(None, description="Only the first so many requests; null: all.")
    heads: dict[str, PositiveInt] = Field(
        default_factory=dict, description="Of some traces, in place of head: the first so many requests."
    )
    ftl: dict[str, Any] = Field(
        default_factory=dict, description="FTL options at this scale, behind those of the figure."
    )
    loops: dict[str, PositiveInt] = Field(
        default_factory=dict, description="Of some traces, how often what is played of them is played."
    )
    lengths: dict[str, LengthConfig] = Field(
        default_factory=dict, description="Of each workload that is generated."
    )
    workloads: Texts = Field((), description="Only those of the figure that are among these; empty: all.")
    devices: dict[str, str] = Field(
        default_factory=dict, description="Devices that are run in the place of those of the figure."
    )
    variants: dict[str, dict[str, Any]] = Field(
        default_factory=dict,
        description="Of variants that figures have, fields with other values at this scale.",
    )
    departures: Texts = Field((), description="Where this scale is not the paper's, and why.")


#: How many of a metric's own units (ns or bytes) make the unit that is shown.
_PER_UNIT = {"ms": 1e6, "s": 1e9, "KB": 1e3, "MiB": 2.0**20}


class PanelConfig(Config):
    """One diagram of a figure: a metric, its normalisation, and the paper's claims about it."""

    name: str = Field("", description="Letter of the panel; empty where the figure has only one.")
    title: str = Field("", description="What it shows, where that is not all the figure's title says.")
    metric: str = Field(
        description="Name of the metric, nested names joined by '/'; 'A per B': a metric over another."
    )
    unit: str = Field("", description="What is shown is counted in, as the axis names it; none of ratios.")
    per_unit: float | None = Field(
        None,
        gt=0,
        description="Of the metric's own unit; null: 1e6 of ms, 1e9 of s, 1e3 of KB, 2**20 of MiB, 1.",
    )
    normalise_to: str | None = Field(None, description="The series that counts as 1; null: not normalised.")
    normalise_at: str = Field(
        "", description="The variant of that series that counts as 1; empty: in each variant its own."
    )
    parts: Texts = Field(
        (), description="Metrics that add up to it, in order, for a diagram that shows its parts: stacked."
    )
    window: tuple[float, float] = Field(
        (0.0, 1.0), description="The part of a run that lines show, as shares of its host pages."
    )
    diagram: str = Field(
        "bars", description="How it is drawn: a module of ssdgym.experiments.papers.diagrams."
    )
    always_measured: bool = Field(
        False, description="Whether its claims are judged however little is written."
    )
    claims: tuple[AnyClaim, ...] = Field((), description="What the paper says about it.")

    @model_validator(mode="after")
    def _window_is_one(self) -> PanelConfig:
        begin, end = self.window
        if not 0 <= begin < end <= 1:
            raise ValueError(f"shows a window from {begin} to {end}; give two rising shares from 0 to 1")
        return self

    @model_validator(mode="after")
    def _has_a_unit(self) -> PanelConfig:
        if not self.unit and self.normalise_to is None:
            raise ValueError("has neither unit nor normalise_to; say what is counted, or what counts as 1")
        return self

    @property
    def divisor(self) -> float:
        """The divisor that converts the metric to the unit that is shown."""
        return self.per_unit or _PER_UNIT.get(self.unit, 1.0)

    @property
    def base(self) -> str:
        """A phrase that names the series to which values are normalised; empty if there is none."""
        at = f" at {self.normalise_at}" if self.normalise_at else ""
        return f"{self.normalise_to}{at}" if self.normalise_to else ""


class FigureConfig(Config):
    """One figure of a paper: its runs and its panels."""

    paper: str = Field(description="Name of the paper: that of the folder.")
    figure: str = Field(min_length=1, description="Its number in the paper; a word where it is not there.")
    title: str = Field(description="What it shows.")
    devices: Annotated[Texts, Field(min_length=1)] = Field(description="Names of devices.")
    policies: Annotated[Texts, Field(min_length=1)] = Field(("greedy",), description="Policies.")
    workloads: Annotated[Texts, Field(min_length=1)] = Field(
        description="Names of traces or of generated workloads, as workloads_from says."
    )
    workloads_from: Literal["traces", "synthetic", "configs"] = Field(
        "traces",
        description="traces: played from a file if there is one, or synthetic; synthetic: never from a "
        "file; configs: those in configs/workloads, as long as the scale's lengths say.",
    )
    synthetic: str = Field(
        "{}", description="Name of the synthetic trace of a workload, whose own name takes the place of {}."
    )
    files: dict[str, FileConfig] = Field(
        default_factory=dict, description="Of some synthetic traces, the real ones played in their place."
    )
    compact: Texts = Field(
        (),
        description="Traces whose pages are numbered in order; those of others are taken modulo the space.",
    )
    workload_fields: dict[str, Any] = Field(
        default_factory=dict, description="Fields of generated workloads that have other values here."
    )
    ftl: dict[str, Any] = Field(default_factory=dict, description="FTL options, dotted names allowed.")
    ftls: dict[str, dict[str, Any]] = Field(
        default_factory=dict,
        description="Names of FTLs, in order, with options in place of the device's own, policy for a policy "
        "of their own, and dotted fields of the device (device.capacity.over_provisioning): the bars where "
        "series is ftl.",
    )
    axis: str = Field("", description="What the variants differ in, as the axis names it.")
    variants: dict[str, dict[str, Any]] = Field(
        default_factory=dict,
        description="Names of variants, in order, with dotted fields of the device, of its FTL "
        "(ftl.gc.free_fraction), of a workload that is no file (workload.theta) or of the run's length "
        "(run.warmup, run.host_pages) and their values, or with the name of another device or of another "
        "synthetic trace: the second axis of the figure.",
    )
    also_at: Texts = Field(
        (),
        description="Variants at which claims that name none are also measured, with the first seed and no "
        "verdict: what it depends on.",
    )
    fit: Literal["none", "address_space"] = Field(
        "none", description="address_space: the logical space of every device is that of the trace."
    )
    over_provisioning: dict[str, float] = Field(
        default_factory=dict,
        description="Where a workload's differs from the device's own: (physical - logical) / logical.",
    )
    preconditioning: Literal["repeat", "reads_repeat"] | Preconditioning = Field(
        "workload", description="What the device goes through before it is measured."
    )
    sample_pages: PositiveInt | None = Field(
        None, description="Host pages after each of which free pages are noted, for diagrams of lines."
    )
    series: Literal["device", "policy", "ftl"] = Field(description="What the bars of a group are.")
    panels: Annotated[tuple[PanelConfig, ...], Field(min_length=1)] = Field(description="Its diagrams.")
    agents: Texts = Field((), description="Of the bars, those whose decisions an agent takes.")
    least_writes: float | None = Field(
        None,
        gt=0,
        description="Host pages written for each spare page of the device under which a workload is shown, "
        "but judges no claim; null: every one judges.",
    )
    departures: Texts = Field((), description="Where this experiment is not the paper's, and why.")
    scales: dict[Literal["smoke", "small", "paper"], ScaleConfig] = Field(
        description="How much is run at each scale."
    )

    @property
    def is_of_the_paper(self) -> bool:
        """Whether at least one claim about the figure is the paper's."""
        return any(not claim.is_ours for panel in self.panels for claim in panel.claims)

    @property
    def bars(self) -> Texts:
        """Names of the series."""
        match self.series:
            case "device":
                return self.devices
            case "policy":
                return self.policies
            case "ftl":
                return tuple(self.ftls)

    @property
    def all_devices(self) -> Texts:
        """Names of the devices, including those that variants name."""
        others = (changes["device"] for changes in self.variants.values() if "device" in changes)
        return tuple(dict.fromkeys((*self.devices, *others)))

    @property
    def variant_names(self) -> Texts:
        """Names of the variants; a single empty name if there are no variants."""
        return tuple(self.variants) or ("",)

    def number_of(self, panel: PanelConfig) -> str:
        """Return the number of a panel, such as `12a`, or `limit-a` if the figure is not in the paper."""
        joint = "-" if panel.name and not self.figure[-1].isdigit() else ""
        return self.figure + joint + panel.name

    @model_validator(mode="after")
    def _names_fit(self) -> FigureConfig:
        for number, panel in enumerate(self.panels):
            self._check_panel(f"panels.{number}", panel)
        letters = [panel.name for panel in self.panels]
        if len(set(letters)) < len(letters):
            raise ValueError("gives two panels the same name; name each by its letter")
        _all_known("also_at", self.also_at, tuple(self.variants), "variant")
        if self.variants and set(self.also_at) == set(self.variants):
            raise ValueError("names in also_at all of its variants; leave some for verdicts")
        _all_known("files", tuple(self.files), self.workloads, "workload")
        _all_known("compact", self.compact, self.workloads, "workload")
        _all_known("over_provisioning", tuple(self.over_provisioning), self.workloads, "workload")
        for name, scale in self.scales.items():
            _all_known(f"scales.{name}.devices", tuple(scale.devices), self.all_devices, "device")
            if scale.workloads and not set(scale.workloads) & set(self.workloads):
                raise ValueError(f"has no workload that is among those of scales.{name}.workloads")
        return self

    @model_validator(mode="after")
    def _series_fit(self) -> FigureConfig:
        if bool(self.ftls) != (self.series == "ftl"):
            raise ValueError("needs ftls where series is ftl, and nowhere else")
        if self.ftls and (len(self.devices) > 1 or len(self.policies) > 1):
            raise ValueError("has FTLs as its series and takes one device and one policy for all of them")
        return self

    @model_validator(mode="after")
    def _what_is_generated_ends(self) -> FigureConfig:
        if self.workloads_from != "configs":
            return self
        if self.fit != "none":
            raise ValueError("fits devices to traces, and its workloads are generated; leave fit out")
        for name, scale in self.scales.items():
            played = [one for one in self.workloads if not scale.workloads or one in scale.workloads]
            lacking = [one for one in played if one not in scale.lengths]
            if lacking:
                raise ValueError(f"needs scales.{name}.lengths of '{lacking[0]}', which never ends")
        return self

    def _check_panel(self, field: str, panel: PanelConfig) -> None:
        if panel.normalise_to is not None and panel.normalise_to not in self.bars:
            raise ValueError(f"is normalised to '{panel.normalise_to}', which is no {self.series} of it")
        if panel.normalise_at and panel.normalise_to is None:
            raise ValueError(f"gives {field}.normalise_at without normalise_to; name the {self.series}, too")
        if panel.normalise_at:
            _all_known(f"{field}.normalise_at", (panel.normalise_at,), tuple(self.variants), "variant")
        for number, claim in enumerate(panel.claims):
            where = f"{field}.claims.{number}"
            _all_known(f"{where}.series", (claim.series,), self.bars, self.series)
            _all_known(f"{where}.against", claim.against, self.bars, self.series)
            _all_known(f"{where}.workloads", claim.workloads, self.workloads, "workload")
            _all_known(f"{where}.variants", claim.variants, tuple(self.variants), "variant")
            claim.require_fit(where, self.workloads, tuple(self.variants))


def _all_known(field: str, names: Texts, known: Texts, what: str) -> None:
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ValueError(f"names in {field} '{unknown[0]}', which is no {what} of it")
