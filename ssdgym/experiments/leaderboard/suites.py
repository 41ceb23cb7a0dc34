"""Suites: sets of tasks, divided into splits, and the policies that score 0 and 1 on them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, PositiveInt, model_validator

from ssdgym.config.loading import Config, Source, load_config
from ssdgym.errors import SsdgymError
from ssdgym.experiments.runs.config import EachOnce, ExperimentConfig, GridConfig, Named, load_experiment

Split = Literal["training", "validation", "test"]
Workloads = Annotated[tuple[Named, ...], Field(min_length=1), EachOnce]
Policies = Annotated[tuple[str, ...], EachOnce]


class LearnedEntry(Config):
    """The policies that one method has learned from several training seeds; they share a score."""

    name: str = Field(description="Name in tables.")
    policies: Policies = Field((), description="Compiled policies, one per training seed.")
    agents: Policies = Field(
        (), description="Names or files of agents for the suite's environment, one per training seed."
    )

    @model_validator(mode="after")
    def _has_one_of_both(self) -> LearnedEntry:
        if bool(self.policies) == bool(self.agents):
            raise ValueError(f"must give {self.name} either policies or agents")
        return self


def _as_entry(value: Any) -> Any:
    return {"name": value, "policies": (value,)} if isinstance(value, str) else value


class SuiteConfig(GridConfig):
    """A suite: devices, workloads by split, and the policies and agents to evaluate and compare with."""

    folder: ClassVar[str] = "suites"
    metric: str = Field(
        "write_amplification", description="Metric to score; less is better. '/' joins nested names."
    )
    splits: dict[Split, Workloads] = Field(
        description="Workloads for training, validation (to choose agents) and test."
    )
    baseline: str = Field(description="Policy that scores 0 unless one of `policies` is better over all.")
    ceilings: Policies = Field(
        (), description="Bounds: on each task, the best of these policies scores 1; (): no scores."
    )
    ceiling_metric: str | None = Field(
        None, description="Metric of the ceilings, a lower bound of `metric`; null: `metric` itself."
    )
    policies: Policies = Field((), description="Policies to evaluate by default.")
    rules: Policies = Field(
        (), description="Names of agents that do not learn, such as stump(feature=idle_mean), to evaluate."
    )
    agents: tuple[Annotated[LearnedEntry, BeforeValidator(_as_entry)], ...] = Field(
        (),
        description="Learned entries to evaluate: each a policy, or a name with the policies or agents of "
        "several training seeds.",
    )
    rivals: Policies = Field(
        (), description="Policies; entries are also compared with the best of them on each task."
    )
    host_pages: PositiveInt = Field(description="Measured host pages per run.")

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

    @model_validator(mode="after")
    def _kinds_are_apart(self) -> SuiteConfig:
        names = [entry.name for entry in self.agents]
        if len(set(names)) < len(names):
            raise ValueError("gives two entries of agents the same name; rename one of them")
        if len(set(self.learned)) < len(self.learned):
            twice = next(policy for policy in self.learned if self.learned.count(policy) > 1)
            raise ValueError(f"has {twice!r:.60} twice in agents; keep it in one entry")
        seen = {self.baseline: "baseline"}
        kinds = {"ceilings": self.ceilings, "policies": self.policies, "rules": self.rules}
        kinds["agents"] = self.learned
        for kind, policies in kinds.items():
            for policy in policies:
                other = seen.setdefault(policy, kind)
                if other != kind and (other, kind) != ("baseline", "policies"):
                    raise ValueError(f"has {policy!r:.60} in {other} and in {kind}; keep it in one")
        for rival in self.rivals:
            if rival not in (self.baseline, *self.policies, *self.rules):
                raise ValueError(f"has {rival!r:.60} in rivals and not in policies or rules; add it there")
        return self

    @property
    def learned(self) -> tuple[str, ...]:
        """The policies of all entries in `agents`, without the agents of these entries."""
        return tuple(policy for entry in self.agents for policy in entry.policies)

    @property
    def deciders(self) -> dict[str, Any]:
        """The policies and agents to evaluate by default, as fields of an experiment."""
        players = (agent for entry in self.agents for agent in entry.agents)
        return {"policies": (*self.policies, *self.learned), "agents": (*self.rules, *players)}

    def experiment(
        self, splits: Sequence[Split], deciders: dict[str, Any], changes: dict[str, Any]
    ) -> ExperimentConfig:
        """Return the experiment, with `changes`, that runs `deciders`, baseline and bounds on the splits."""
        for split in splits:
            if split not in self.splits:
                raise SsdgymError(
                    f"--split {split}: the suite has {' and '.join(self.splits)}; choose of these."
                )
        own = {name: getattr(self, name) for name in GridConfig.model_fields}
        policies = (self.baseline, *self.ceilings, *deciders.get("policies", ()))
        return load_experiment(
            {
                **own,
                "host_pages": self.host_pages,
                "workloads": [workload for split in splits for workload in self.splits[split]],
                **deciders,
                "environment": deciders.get("environment") or self.environment,
                "policies": tuple(dict.fromkeys(policies)),
            },
            changes,
        )


def load_suite(source: Source) -> SuiteConfig:
    """Load a suite from a name (`configs/suites`), a YAML path, a mapping or a model."""
    return load_config(SuiteConfig, source, "suites")


def split_digest(suite: SuiteConfig) -> str:
    """Return a hash of the workloads of all splits of a suite, including their order."""
    text = json.dumps(suite.model_dump(mode="json")["splits"], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
