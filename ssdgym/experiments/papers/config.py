"""Models of `configs/papers/PAPER.yaml`: the figures of a paper and their claims.

A figure has *panels*, each of which shows a metric as a group of *bars* per workload and *variant*. The bars
(or *series*) are the devices, policies or FTLs that the figure compares. A variant is a set of changed
fields, such as another over-provisioning. A *claim* is a statement of the paper about the bars of a panel.
"""

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
    """The length of a run of a generated workload, which never ends."""

    warmup: NonNegativeInt = Field(0, description="Host pages that are played and not measured.")
    host_pages: PositiveInt = Field(description="Host pages that are measured.")
    day_requests: PositiveInt | None = Field(
        None, description="Number of requests between two days without requests; null: no such days."
    )


class FileConfig(Config):
    """A real trace that is played in place of a synthetic trace if its file exists."""

    path: Path = Field(description="Path of the file in the folder of --traces or SSDGYM_TRACES.")
    skip_bad: NonNegativeInt = Field(0, description="Bad lines that are skipped before an error.")
    queue_depth: PositiveInt | None = Field(
        None, description="Outstanding requests of a trace without times; null: it has arrival times."
    )


class ScaleConfig(Config):
    """The part of a figure's experiment that is run at one scale, such as `small`."""

    seeds: PositiveInt = Field(description="Number of seeds of runs that draw random numbers.")
    transforms: tuple[AnyTransformConfig, ...] = Field(
        (), description="Changes to the traces, such as a smaller space for a smaller device."
    )
    transforms_of: dict[str, tuple[AnyTransformConfig, ...]] = Field(
        default_factory=dict, description="Transforms of single traces, by name, in place of `transforms`."
    )
    head: PositiveInt | None = Field(None, description="Number of first requests to play; null: all.")
    heads: dict[str, PositiveInt] = Field(
        default_factory=dict, description="The number for single traces, by name, in place of `head`."
    )
    ftl: dict[str, Any] = Field(
        default_factory=dict, description="FTL options at this scale, applied after those of the figure."
    )
    loops: dict[str, PositiveInt] = Field(
        default_factory=dict, description="Number of times that single traces are played in a row, by name."
    )
    lengths: dict[str, LengthConfig] = Field(
        default_factory=dict, description="Lengths of generated workloads, by name."
    )
    workloads: Texts = Field((), description="Workloads of the figure to run; empty: all.")
    devices: dict[str, str] = Field(
        default_factory=dict, description="By device of the figure: the device that replaces it."
    )
    variants: dict[str, dict[str, Any]] = Field(
        default_factory=dict,
        description="Fields of the figure's variants that differ at this scale, by variant.",
    )
    departures: Texts = Field((), description="Differences of this scale from the paper, with reasons.")


#: Number of the metric's own units (ns or bytes) in each unit that panels show.
_PER_UNIT = {"ms": 1e6, "s": 1e9, "KB": 1e3, "MiB": 2.0**20}


class PanelConfig(Config):
    """One panel of a figure: a metric, how it is drawn, and the paper's claims about it."""

    name: str = Field("", description="Letter of the panel; empty if the figure has only one panel.")
    title: str = Field("", description="Title of the panel, if it differs from the figure's.")
    metric: str = Field(
        description="Name of the metric, nested names joined by '/'; 'A per B' is metric A divided by B."
    )
    unit: str = Field("", description="Unit of the values, for the axis; empty if normalise_to is set.")
    per_unit: float | None = Field(
        None,
        gt=0,
        description="Units of the metric (ns, bytes) per `unit`; null: ms 1e6, s 1e9, KB 1e3, MiB 2**20, "
        "others 1.",
    )
    normalise_to: str | None = Field(None, description="Bar that divides all values; null: none.")
    normalise_at: str = Field(
        "", description="Variant of that bar; empty: the variant of the value that is divided."
    )
    parts: Texts = Field((), description="For stacked diagrams: metrics whose sum is the metric, in order.")
    window: tuple[float, float] = Field(
        (0.0, 1.0), description="For lines: start and end of the shown part, as shares of a run's host pages."
    )
    diagram: Literal["bars", "lines", "stacked", "heat_map"] = Field(
        "bars", description="Kind of diagram (`ssdgym.experiments.papers.diagrams`)."
    )
    always_measured: bool = Field(
        False, description="Whether claims are judged even if a workload writes less than least_writes."
    )
    claims: tuple[AnyClaim, ...] = Field((), description="Statements of the paper about the panel.")

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
        """The number by which the metric is divided to convert it to the panel's unit."""
        return self.per_unit or _PER_UNIT.get(self.unit, 1.0)

    @property
    def base(self) -> str:
        """A phrase with the bar (and variant) by whose value all others are divided; empty if none is."""
        at = f" at {self.normalise_at}" if self.normalise_at else ""
        return f"{self.normalise_to}{at}" if self.normalise_to else ""


class FigureConfig(Config):
    """One figure of a paper: its runs and its panels."""

    paper: str = Field(description="Name of the paper, equal to its file's.")
    figure: str = Field(min_length=1, description="Number in the paper; a word if it is not in the paper.")
    title: str = Field(description="Title of the figure.")
    devices: Annotated[Texts, Field(min_length=1)] = Field(description="Names of devices.")
    policies: Annotated[Texts, Field(min_length=1)] = Field(("greedy",), description="Names of policies.")
    workloads: Annotated[Texts, Field(min_length=1)] = Field(
        description="Names of traces or of generated workloads (workloads_from)."
    )
    workloads_from: Literal["traces", "synthetic", "configs"] = Field(
        "traces",
        description="traces: files if they exist, otherwise synthetic traces; synthetic: always synthetic "
        "traces; configs: generated workloads of configs/workloads, whose lengths the scale gives.",
    )
    synthetic: str = Field(
        "{}", description="Name of a workload's synthetic trace; {} stands for the workload's name."
    )
    files: dict[str, FileConfig] = Field(
        default_factory=dict, description="Files of real traces, by name of the workload."
    )
    compact: Texts = Field(
        (),
        description="Traces whose touched pages are renumbered in order; the pages of other traces are taken "
        "modulo the logical pages.",
    )
    workload_fields: dict[str, Any] = Field(
        default_factory=dict, description="Fields of the workloads that differ in this figure, with values."
    )
    ftl: dict[str, Any] = Field(default_factory=dict, description="FTL options, dotted names allowed.")
    ftls: dict[str, dict[str, Any]] = Field(
        default_factory=dict,
        description="The bars if series is ftl: names of FTLs in order, each with FTL options, policy if it "
        "differs from the figure's, and dotted device fields (device.capacity.over_provisioning).",
    )
    axis: str = Field("", description="Quantity in which the variants differ, for the axis.")
    variants: dict[str, dict[str, Any]] = Field(
        default_factory=dict,
        description="Names of variants in order, each with the fields that it changes: dotted fields of the "
        "device, of its FTL (ftl.gc.free_fraction), of a workload that is not a file (workload.theta) or of "
        "the run's length (run.warmup, run.host_pages), or device or synthetic for another one of these.",
    )
    also_at: Texts = Field(
        (),
        description="Variants that are run with the first seed only, to show what results depend on. Claims "
        "that name no variants are judged at the other variants and only measured at these.",
    )
    fit: Literal["none", "address_space"] = Field(
        "none", description="address_space: size devices to the trace's addresses; none: keep their size."
    )
    over_provisioning: dict[str, float] = Field(
        default_factory=dict,
        description="(physical - logical) / logical, by workload; missing: the device's own.",
    )
    preconditioning: Literal["repeat", "reads_repeat"] | Preconditioning = Field(
        "workload", description="Preconditioning of the device before the measurement."
    )
    sample_pages: PositiveInt | None = Field(
        None, description="Host pages between two samples, for diagrams of lines; null: no samples."
    )
    series: Literal["device", "policy", "ftl"] = Field(description="What the bars of a group are.")
    panels: Annotated[tuple[PanelConfig, ...], Field(min_length=1)] = Field(description="The panels.")
    agents: Texts = Field((), description="Those of the bars whose decisions an agent of that name takes.")
    least_writes: float | None = Field(
        None,
        gt=0,
        description="Host pages written per spare page (physical minus logical) that a workload needs to "
        "judge claims; with fewer, it is only shown. null: no minimum.",
    )
    departures: Texts = Field((), description="Differences from the paper's experiment, with reasons.")
    scales: dict[Literal["smoke", "small", "paper"], ScaleConfig] = Field(
        description="Amount of work at each scale."
    )

    @property
    def is_of_the_paper(self) -> bool:
        """Whether at least one claim about the figure is the paper's and not ours."""
        return any(not claim.is_ours for panel in self.panels for claim in panel.claims)

    @property
    def bars(self) -> Texts:
        """Names of the bars: the devices, policies or FTLs that the figure compares."""
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
        """Return the number of a panel, such as `12a`, or `limit-a` if the figure is called `limit`."""
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
        for kind, names in (("device", self.devices), ("policy", self.policies)):
            if kind != self.series and len(names) > 1:
                raise ValueError(
                    f"has bars of another kind, {self.series}, and takes one {kind} for all of them"
                )
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
