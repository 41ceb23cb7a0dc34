"""Models of `configs/sweeps`. A sweep searches the best values of some fields by *trials*.

A trial trains or measures with one value for each of these fields, which form the *space* of the sweep.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, PositiveInt, model_validator

from ssdgym.config.device import Preconditioning
from ssdgym.config.fields import LAST_SEED
from ssdgym.config.loading import BasedConfig, Config, Source, load_config
from ssdgym.errors import SsdgymError
from ssdgym.experiments.leaderboard.suites import Split, load_suite
from ssdgym.experiments.runs.config import Named, combinations

Parameters = dict[str, Any]
Values = Annotated[tuple[Any, ...], Field(min_length=1)]


class SpaceConfig(Config):
    """The possible values of one field of the space, in exactly one of the forms of Ray Tune."""

    grid: Values | None = Field(None, description="values; each is combined with those of all other grids")
    choice: Values | None = Field(None, description="values of which one is drawn")
    uniform: tuple[float, float] | None = Field(None, description="[low, high]: a uniform number")
    loguniform: tuple[float, float] | None = Field(None, description="[low, high]: a log-uniform number")
    quniform: tuple[float, float, float] | None = Field(
        None, description="[low, high, step]: a uniform multiple of step"
    )
    qrandint: tuple[int, int, int] | None = Field(None, description="[low, high, step]: a uniform integer")

    @model_validator(mode="after")
    def _one_of_them(self) -> SpaceConfig:
        if len(self.model_dump(exclude_none=True)) != 1:
            raise ValueError(f"must have exactly one of {', '.join(type(self).model_fields)}")
        if self.kind in ("grid", "choice"):
            if len({repr(value) for value in self.values}) < len(self.values):
                raise ValueError("names a value twice; give each once")
            return self
        low, high, *step = self.values
        if not low < high:
            raise ValueError(f"must begin with its lower limit, not [{low:g}, {high:g}]")
        if self.loguniform and low <= 0:
            raise ValueError(f"must have limits above 0 for a logarithm, not {low:g}")
        if step and not 0 < step[0] <= high - low:
            raise ValueError(f"must have a step above 0 that fits between its limits, not {step[0]:g}")
        if step and any(not (limit / step[0]).is_integer() for limit in (low, high)):
            raise ValueError(f"must have limits that are multiples of its step, {step[0]:g}")
        return self

    @property
    def kind(self) -> str:
        """The name of the field that is given, such as `grid`."""
        return next(iter(self.model_dump(exclude_none=True)))

    @property
    def values(self) -> tuple[Any, ...]:
        """The listed values of a grid or choice; otherwise the lower limit, the upper limit and any step."""
        values: tuple[Any, ...] = getattr(self, self.kind)
        return values

    @property
    def ends(self) -> tuple[Any, ...]:
        """The listed values of a grid or choice; otherwise the lower and the upper limit."""
        return self.values if self.grid or self.choice else self.values[:2]


#: First seed of held-out runs. Training uses smaller seeds (`ssdgym.agents.training.stages.segment_seed`).
FIRST_HELD_OUT_SEED = 2**32

Size = Literal["smoke", "full"]


class AgentTrialConfig(Config):
    """Every trial trains an agent. The space names dotted fields of the training configuration."""

    kind: Literal["agent"]
    agent: str | dict[str, Any] = Field(description="name, path or mapping of a training configuration")
    changes: dict[str, Any] = Field(
        default_factory=dict, description="dotted fields of that configuration, for all trials"
    )


class PolicyTrialConfig(Config):
    """Every trial measures a heuristic.

    The space may name `policy`, `policy.PARAMETER` (of any rule in it), `device` and `ftl.OPTION`. If the
    evaluation names a suite, this gives the device, the FTL options and the preconditioning that are missing.
    """

    kind: Literal["policy"]
    policy: str = Field(description="policy with placement and parameters; module:rule needs --import")
    device: str | None = Field(None, description="device; null: the suite's, or demo")
    ftl: dict[str, Any] = Field(default_factory=dict, description="FTL options, dotted names allowed")
    preconditioning: Preconditioning | None = Field(None, description="null: the suite's, or workload")


class RuleTrialConfig(Config):
    """Every trial runs a rule, such as `stump`, in a suite's environment; the space names its parameters."""

    kind: Literal["rule"]
    rule: str = Field(description="name of an agent that does not learn, such as `stump`")


class HeldOutConfig(Config):
    """The runs that measure the metric; training uses none of their workloads and seeds."""

    suite: str | None = Field(
        None, description="name or file of a suite with the device, default workloads and lengths; null: none"
    )
    split: Split = Field("validation", description="split of the suite")
    workloads: tuple[Named, ...] = Field(min_length=1, description="workloads: names, paths or mappings")
    first_seed: int = Field(
        FIRST_HELD_OUT_SEED, ge=0, lt=2**62, description="first seed; training uses smaller seeds"
    )
    seeds: int = Field(4, ge=1, le=10_000, description="number of seeds, from first_seed on")
    host_pages: PositiveInt = Field(description="measured host pages per run")
    warmup: int = Field(0, ge=0, description="unmeasured host pages at the start of a run")

    @model_validator(mode="before")
    @classmethod
    def _of_the_suite(cls, fields: Any) -> Any:
        """Set missing workloads and lengths to those of the suite."""
        if not isinstance(fields, Mapping) or fields.get("suite") is None:
            return fields
        suite = load_suite(fields["suite"])
        split = fields.get("split", "validation")
        own = {"workloads": suite.splits.get(split, ()), "host_pages": suite.host_pages}
        return {**own, "warmup": suite.warmup, **fields}

    @property
    def all_seeds(self) -> range:
        """The seeds of the held-out runs."""
        return range(self.first_seed, self.first_seed + self.seeds)


class AshaConfig(Config):
    """Asynchronous successive halving: at each stage, all but the best trials stop early.

    Li et al., "A System for Massively Parallel Hyperparameter Tuning", MLSys 2020.
    """

    kind: Literal["asha"]
    grace_percent: int = Field(20, ge=1, le=100, description="percentage of its work before a trial may stop")
    reduction_factor: float = Field(3.0, gt=1, description="trials at a stage per trial that continues")


class OptunaConfig(Config):
    """The tree-structured Parzen estimator of Optuna, which draws parameters near those of good trials.

    Bergstra et al., "Algorithms for Hyper-Parameter Optimization", NeurIPS 2011.
    """

    kind: Literal["optuna"]
    startup_trials: int = Field(10, ge=1, description="random trials before the search uses results")


class SweepConfig(BasedConfig):
    """A search over the settings of an agent, a policy or a rule."""

    folder: ClassVar[str] = "sweeps"
    by_field: ClassVar[tuple[str, ...]] = ("trial", "evaluation")
    description: str = Field("", description="heading of the table of trials")
    trial: AgentTrialConfig | PolicyTrialConfig | RuleTrialConfig = Field(
        discriminator="kind", description="what a trial runs, and its fixed fields"
    )
    space: dict[str, SpaceConfig] = Field(min_length=1, description="dotted fields and their values")
    evaluation: HeldOutConfig = Field(description="held-out runs that yield the metric")
    metric: str = Field("write_amplification", description="metric of results; nested names joined by '/'")
    mode: Literal["min", "max"] = Field("min", description="whether the smallest or largest metric is best")
    search: OptunaConfig | None = Field(
        None, description="search method; null: all combinations of grids, independent draws of other fields"
    )
    scheduler: AshaConfig | None = Field(None, description="early stopping; null: no trial stops early")
    trials: PositiveInt = Field(
        1, le=100_000, description="number of trials for every combination of the grids"
    )
    seed: int = Field(0, ge=0, le=LAST_SEED, description="seed of the draws")
    concurrent: PositiveInt = Field(2, description="number of trials at a time")
    cpus_per_trial: PositiveInt = Field(1, description="cores that Ray reserves per trial")
    sizes: dict[Size, dict[str, Any]] = Field(
        default_factory=dict, description="by size: the fields of the sweep that differ at this size"
    )

    @model_validator(mode="after")
    def _space_fits(self) -> SweepConfig:
        if self.trials > 1 and all(field.grid for field in self.space.values()):
            raise ValueError("trials is above 1, but the space has only grids, whose trials would be alike")
        for name in self.space:
            for other in self.space:
                if other.startswith(f"{name}.") and self.trial.kind == "agent":
                    raise ValueError(f"space has {name} and {other}; give either the whole or its fields")
        if self.trial.kind == "rule" and self.evaluation.suite is None:
            raise ValueError("a trial of kind rule plays the environment of a suite; set evaluation.suite")
        grid = next((name for name, field in self.space.items() if field.grid), None)
        if grid and self.search:
            raise ValueError(f"has search optuna, which cannot use the grid of {grid}; give a choice")
        return self

    @property
    def number_of_trials(self) -> int:
        """The number of trials: `trials` for every combination of the grids."""
        return self.trials * math.prod(len(field.grid) for field in self.space.values() if field.grid)

    def points(self) -> list[Parameters]:
        """Return sets of parameters with all combinations of the grids, and every listed value and limit."""
        grids = {name: field.grid for name, field in self.space.items() if field.grid}
        drawn = {name: field.ends for name, field in self.space.items() if not field.grid}
        probes = [
            {name: ends[min(number, len(ends) - 1)] for name, ends in drawn.items()}
            for number in range(max(map(len, drawn.values()), default=1))
        ]
        return [{**point, **probe} for point in combinations(grids) for probe in probes]


def load_sweep(source: Source, size: Size = "full") -> SweepConfig:
    """Load a sweep from a name (`configs/sweeps`), a YAML path, a mapping or a model.

    The fields in `sizes[size]` replace the sweep's; `trial` and `evaluation` are merged field by field.
    """
    sweep = load_config(SweepConfig, source, "sweeps")
    fields = sweep.model_dump(exclude_unset=True)
    changes = fields.pop("sizes", {}).get(size, {})
    where = source if isinstance(source, str) else "sweep"
    if "sizes" in changes:
        raise SsdgymError(f"{where}: sizes.{size} must not have sizes of its own; remove them.")
    for part in SweepConfig.by_field:
        if isinstance(changes.get(part), Mapping):
            changes[part] = {**fields[part], **changes[part]}
    try:
        return load_config(SweepConfig, {**fields, **changes}, "sweeps")
    except SsdgymError as error:
        raise SsdgymError(f"{where}: size {size}: {error}") from None
