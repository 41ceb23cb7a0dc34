"""Models of ``configs/experiments/PAPER``: a figure of a paper, and what the paper says about it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, PositiveInt, model_validator

from ssdgym.config.loading import Config

Texts = tuple[str, ...]


class ClaimConfig(Config):
    """One thing that a paper says about a figure: a metric of one series against that of another."""

    said: str = Field(description="What the paper says, in words of our own.")
    source: str = Field(description="Where it says so: section or figure.")
    series: str = Field(description="The bar it is about.")
    against: str = Field(description="The bar it is compared with.")
    workloads: Texts = Field((), description="Where it is said to hold; empty: on all of the figure.")
    statistic: Literal["each", "mean", "maximum"] = Field(
        description="Of the changes on those workloads: each of them, their mean, or the largest."
    )
    change: float = Field(
        description="The metric over that of the other series, minus one; -0.2 is 20 % less."
    )
    bound: bool = Field(False, description="The paper gives a limit (under, up to), not a value.")
    unchanged_within: float = Field(
        0.0, ge=0, description="For a claim of no change: the largest change that counts as none."
    )

    @model_validator(mode="after")
    def _no_change_needs_a_width(self) -> ClaimConfig:
        if (self.change == 0) != (self.unchanged_within > 0):
            raise ValueError("must give unchanged_within above 0 for a change of 0, and only for that")
        return self


class ScaleConfig(Config):
    """How much of the experiment is run."""

    seeds: PositiveInt = Field(description="Workload seeds 1 to this.")
    head: PositiveInt | None = Field(None, description="Only the first so many requests; null: all.")
    workloads: Texts = Field((), description="Only these; empty: all of the figure.")


class FigureConfig(Config):
    """One figure of a paper: which cells it takes, its metric, how it is normalised, and its claims."""

    paper: str = Field(description="Name of the paper: that of the folder.")
    figure: str = Field(description="Number of the figure in the paper.")
    title: str = Field(description="What it shows.")
    devices: Annotated[Texts, Field(min_length=1)] = Field(description="Names of devices.")
    policies: Annotated[Texts, Field(min_length=1)] = Field(("greedy",), description="Victim policies.")
    workloads: Annotated[Texts, Field(min_length=1)] = Field(
        description="Names of the traces; played from a file where there is one, else like:NAME."
    )
    ftl: dict[str, Any] = Field(default_factory=dict, description="FTL options, dotted names allowed.")
    fit: Literal["none", "address_space"] = Field(
        "none", description="address_space: the logical space of every device is that of the trace."
    )
    over_provisioning: dict[str, float] = Field(
        default_factory=dict,
        description="Where a workload's differs from the device's own: (physical - logical) / logical.",
    )
    preconditioning: Literal["none", "fill", "uniform", "workload", "repeat"] = Field(
        "workload", description="What the device goes through before it is measured."
    )
    series: Literal["device", "policy"] = Field(description="What the bars of a group are.")
    metric: str = Field(description="Name of the metric, nested names joined by '/'.")
    unit: str = Field(description="Of the metric, as the axis names it.")
    normalise_to: str | None = Field(None, description="The series that counts as 1; null: not normalised.")
    claims: tuple[ClaimConfig, ...] = Field((), description="What the paper says about it.")
    departures: Texts = Field((), description="Where this experiment is not the paper's, and why.")
    scales: dict[Literal["smoke", "small", "paper"], ScaleConfig] = Field(
        description="How much is run at each scale."
    )

    @model_validator(mode="after")
    def _names_fit(self) -> FigureConfig:
        known = self.devices if self.series == "device" else self.policies
        for number, claim in enumerate(self.claims):
            for field in ("series", "against"):
                if (name := getattr(claim, field)) not in known:
                    raise ValueError(
                        f"names in claims.{number}.{field} '{name}', which is no {self.series} of it"
                    )
            _all_known(f"claims.{number}.workloads", claim.workloads, self.workloads)
        if self.normalise_to is not None and self.normalise_to not in known:
            raise ValueError(f"is normalised to '{self.normalise_to}', which is no {self.series} of it")
        _all_known("over_provisioning", tuple(self.over_provisioning), self.workloads)
        for name, scale in self.scales.items():
            _all_known(f"scales.{name}.workloads", scale.workloads, self.workloads)
        return self


def _all_known(field: str, names: Texts, known: Texts) -> None:
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ValueError(f"names in {field} '{unknown[0]}', which is no workload of it")
