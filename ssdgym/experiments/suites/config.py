"""Models of `configs/suites`: tasks that policies and agents are scored on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal, get_args

from pydantic import BeforeValidator, Field, NonNegativeInt, PositiveInt, model_validator

from ssdgym.config.loading import Config, Source, load_config
from ssdgym.experiments.runs.config import (
    EachOnce,
    ExperimentConfig,
    FtlMapping,
    Named,
    Scalar,
    Seed,
    as_seeds,
    load_experiment,
)

Split = Literal["training", "validation", "test"]
SPLITS: tuple[Split, ...] = get_args(Split)
Workloads = Annotated[tuple[Named, ...], Field(min_length=1), EachOnce]


class SuiteConfig(Config):
    """Tasks, each a device with a workload, and what scores 0 and 1 on each of them."""

    description: str = ""
    metric: str = Field(
        "write_amplification", description="What is scored; less is better. Nested names with /."
    )
    devices: Annotated[tuple[Named, ...], Field(min_length=1), EachOnce] = Field(
        description="Names in configs/devices, paths of YAML files, or mappings."
    )
    vary: dict[str, Annotated[tuple[Scalar, ...], Field(min_length=1), EachOnce]] = Field(
        default_factory=dict, description="Dotted fields of the device, and the values they take."
    )
    ftls: Annotated[tuple[FtlMapping, ...], Field(min_length=1), EachOnce] = Field(
        ({},), description="FTL options in place of the device's own."
    )
    splits: dict[Split, Workloads] = Field(
        description="The workloads to train on, to choose among agents by, and to be judged on."
    )
    baseline: str = Field(description="The policy that scores 0 on every task.")
    ceilings: Annotated[tuple[str, ...], Field(min_length=1), EachOnce] = Field(
        description="Policies of which the best on a task scores 1 there."
    )
    policies: Annotated[tuple[str, ...], EachOnce] = Field(
        (), description="What is evaluated where no policy and no agent is named."
    )
    seeds: Annotated[tuple[Seed, ...], Field(min_length=1), BeforeValidator(as_seeds), EachOnce] = Field(
        description="A list, or text such as 5, 1,2,9 or 100-104."
    )
    host_pages: PositiveInt = Field(description="Host pages of a run that are measured.")
    warmup: NonNegativeInt = Field(0, description="Host pages before them, under the policy itself.")

    @model_validator(mode="after")
    def _splits_are_apart(self) -> SuiteConfig:
        seen: dict[str, str] = {}
        for split, workloads in self.splits.items():
            for workload in workloads:
                mark = repr(workload)
                if mark in seen:
                    raise ValueError(f"has {workload!r:.60} in {seen[mark]} and in {split}; keep it in one")
                seen[mark] = split
        return self

    def experiment(
        self, splits: Sequence[Split], deciders: dict[str, Any], changes: dict[str, Any]
    ) -> ExperimentConfig:
        """Return the runs of some splits: those that are scored, and those that the scores are made of.

        Args:
            splits: which.
            deciders: `policies`, `agents` and their `environment`, as experiments name them.
            changes: other values of `seeds`, `host_pages` or `warmup`.
        """
        own = {name: getattr(self, name) for name in ("seeds", "host_pages", "warmup", "vary")}
        policies = (self.baseline, *self.ceilings, *deciders.get("policies", ()))
        return load_experiment(
            {
                **own,
                **changes,
                "devices": list(self.devices),
                "ftls": list(self.ftls),
                "workloads": [workload for split in splits for workload in self.splits[split]],
                **deciders,
                "policies": tuple(dict.fromkeys(policies)),
            }
        )


def load_suite(source: Source) -> SuiteConfig:
    """Load a suite by name (`configs/suites`), YAML path, mapping or ready model.

    Raises:
        SsdgymError: as `ssdgym.config.loading.load_config`.
    """
    return load_config(SuiteConfig, source, "suites")
