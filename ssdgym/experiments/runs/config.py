"""Load experiments (grids of runs) and expand them to runs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, BeforeValidator, Field, NonNegativeInt, PositiveInt, model_validator

from ssdgym.agents.playing.agents import Source as AgentSource
from ssdgym.agents.playing.files import source_of
from ssdgym.agents.training.config import EnvironmentConfig, entry_point_of
from ssdgym.config.device import DeviceConfig, DeviceFields, Preconditioning, load_device, load_fields
from ssdgym.config.fields import LAST_SEED, dotted, overlapping, read_seeds, with_changes
from ssdgym.config.geometry import MAX_PAGES
from ssdgym.config.loading import BasedConfig, Source, load_config
from ssdgym.envs.sources import named_workloads
from ssdgym.errors import SsdgymError
from ssdgym.experiments.runs.spec import FtlOptions, RunSpec, source_name
from ssdgym.policy.names import import_rules
from ssdgym.workloads.base import WorkloadConfig
from ssdgym.workloads.stream import load_workload

#: Largest number of runs in a grid; more must be a typing error.
MOST_RUNS = 10_000_000
#: First part of the dotted names of FTL fields in `vary`.
FTL_PREFIX = "ftl."

Scalar = bool | int | float | str | None


def as_seeds(value: Any) -> Any:
    """Convert a number, or a text such as `100-104`, to seeds; return values of other types unchanged."""
    named = isinstance(value, int | str) and not isinstance(value, bool)
    return read_seeds(str(value)) if named else value


def _each_once(values: Sequence[Any]) -> Sequence[Any]:
    seen: set[Hashable] = set()
    for value in values:
        # 1 and True are equal in Python, but are different values of a field.
        mark = repr(value)
        if mark in seen:
            raise ValueError(f"names {value!r:.60} twice; give each once")
        seen.add(mark)
    return values


def _with_splits(value: Any) -> Any:
    return named_workloads(value, with_test=True) if isinstance(value, list | tuple) else value


def _named(value: Any) -> Any:
    if not isinstance(value, str | dict) or not value:
        raise ValueError(f"must be a name, a path or a mapping of fields to values, not {value!r:.60}")
    return value


def _flat(options: Any) -> Any:
    """Return FTL options in order of their names; nested options get dotted names."""
    if not isinstance(options, dict):
        return options
    flat: dict[str, Any] = {}
    for name, value in dotted(options):
        if isinstance(value, list | tuple):
            raise ValueError(f"gives a list for {name}; give one value, or vary {FTL_PREFIX}{name}")
        clash = overlapping(name, flat)
        if clash is not None:
            raise ValueError(f"gives {name} and {clash}; give either the whole or its fields, each once")
        flat[name] = value
    return flat


Named = Annotated[Any, AfterValidator(_named)]
AgentText = Annotated[str, BeforeValidator(lambda value: str(value) if isinstance(value, Path) else value)]
EachOnce = AfterValidator(_each_once)
Splits = BeforeValidator(_with_splits)
Seed = Annotated[int, Field(ge=0, le=LAST_SEED, strict=True)]
FtlMapping = Annotated[dict[str, Scalar], BeforeValidator(_flat)]


class GridConfig(BasedConfig):
    """The fields that experiments and suites have in common: devices, FTLs, seeds and run settings."""

    description: str = ""
    devices: Annotated[tuple[Named, ...], Field(min_length=1), EachOnce] = Field(
        description="Names in configs/devices, paths of YAML files, or mappings."
    )
    ftls: Annotated[tuple[FtlMapping, ...], Field(min_length=1), EachOnce] = Field(
        ({},), description="FTLs: mappings of options that replace the device's, dotted or nested; {}: none."
    )
    environment: EnvironmentConfig | None = Field(
        None, description="Environment for agents whose files name none; null: ssdgym/EraseVictim-v0."
    )
    seeds: Annotated[tuple[Seed, ...], Field(min_length=1), BeforeValidator(as_seeds), EachOnce] = Field(
        description="A list, or text such as 5, 1,2,9 or 100-104."
    )
    vary: dict[str, Annotated[tuple[Scalar, ...], Field(min_length=1), EachOnce]] = Field(
        default_factory=dict,
        description="Dotted fields of the device (capacity.over_provisioning, geometry.pages_per_block) or "
        "of its FTL (ftl.gc.free_blocks), each with a list of values. Every combination is run.",
    )
    warmup: NonNegativeInt = Field(0, description="Unmeasured host pages at the start of a run.")
    preconditioning: Preconditioning = Field(
        "workload",
        description="What is written before a run. none: nothing; fill: every page once; uniform, workload: "
        "every page once, then overwrites (uniform, or like the workload) until write amplification is "
        "steady; reads: pages that the workload reads before it writes them; until_gc: random pages under "
        "the run's policy and seed, until every plane has collected garbage; until_gc_greedy: the same pages "
        "under greedy in one stream; reads_until_gc_greedy: reads, then until_gc_greedy.",
    )


class ExperimentConfig(GridConfig):
    """A grid of runs: all combinations of its devices, FTLs, workloads, agents, policies and seeds."""

    folder: ClassVar[str] = "experiments"
    workloads: Annotated[tuple[Named, ...], Field(min_length=1), Splits, EachOnce] = Field(
        description="Names in configs/workloads, synthetic:NAME, trace:NAME, splits of suites (training:wa), "
        "paths, or mappings."
    )
    policies: Annotated[tuple[str, ...], EachOnce] = Field(
        (), description="Victim policies, with parameters in brackets: cost_benefit(exponent=0.5)."
    )
    agents: Annotated[tuple[AgentText, ...], EachOnce] = Field(
        (),
        description="Files of trained agents, names of the zoo, module:callable with parameters in brackets,"
        " zips of Stable-Baselines3, or random_action.",
    )
    host_pages: PositiveInt | None = Field(None, description="Measured host pages; null: whole workload.")
    queue_depth: int | None = Field(
        None,
        ge=0,
        le=MAX_PAGES,
        description="Outstanding requests; 0: any number, by arrival times; null: 32 without arrival times.",
    )

    @model_validator(mode="after")
    def _has_deciders(self) -> ExperimentConfig:
        if not self.policies and not self.agents:
            raise ValueError("the experiment must name at least one of policies and agents")
        return self

    @model_validator(mode="after")
    def _nothing_is_set_twice(self) -> ExperimentConfig:
        fields = [] if self.queue_depth is None else [f"{FTL_PREFIX}queue_depth"]
        for name in self.vary:
            if (clash := overlapping(name, fields)) is not None:
                raise ValueError(f"varies {name}, which {clash} also sets; set it once")
            fields.append(name)
        for number, ftl in enumerate(self.ftls):
            for name in ftl:
                if overlapping(f"{FTL_PREFIX}{name}", fields) is not None:
                    raise ValueError(
                        f"sets {name} in ftls.{number} and once more in vary or queue_depth; set it once"
                    )
        return self

    @model_validator(mode="after")
    def _size_is_sane(self) -> ExperimentConfig:
        if self.run_count > MOST_RUNS:
            raise ValueError(f"the experiment has {self.run_count} runs; at most {MOST_RUNS} are possible")
        return self

    @property
    def run_count(self) -> int:
        """The number of runs."""
        varied = math.prod(len(values) for values in self.vary.values())
        deciders = len(self.policies) + len(self.agents)
        tasks = len(self.devices) * len(self.ftls) * len(self.workloads)
        return varied * tasks * deciders * len(self.seeds)


def load_experiment(source: Source, changes: Mapping[str, Any] | None = None) -> ExperimentConfig:
    """Load an experiment from a name (`configs/experiments`), a YAML path, a mapping or a model.

    `changes` replaces fields. If it lowers `host_pages` and does not set `warmup`, the warm-up shrinks in
    proportion.
    """
    config = load_config(ExperimentConfig, source, "experiments")
    if not changes:
        return config
    fields = {**config.model_dump(exclude_unset=True), **changes}
    changed = load_config(ExperimentConfig, fields, "experiments")
    before, now = config.host_pages, changed.host_pages
    if "warmup" in changes or before is None or now is None or now >= before:
        return changed
    return changed.model_copy(update={"warmup": config.warmup * now // before})


#: Default queue depth for workloads without arrival times.
CLOSED_LOOP_DEPTH = 32


def closed_loop(options: FtlOptions, workload: WorkloadConfig) -> FtlOptions:
    """Return the FTL options; add a queue depth if all requests would otherwise arrive at the same time.

    All requests of a generated workload without arrival times arrive at time zero. Without a queue depth,
    their latencies would only measure the length of the run.
    """
    paced = getattr(workload, "interarrival_ns", None) != 0
    given = dict(options)
    if paced or "queue_depth" in given or given.get("timing") == "none":
        return options
    return tuple(sorted({**given, "queue_depth": CLOSED_LOOP_DEPTH}.items()))


def _differs(given: EnvironmentConfig, own: EnvironmentConfig) -> bool:
    """Return whether the given class or a given argument is not the agent's own.

    Several ids can have one class, as `SubFTL-v0` and `SubpageRegion-v0`; zips of Stable-Baselines3 name one.
    """
    other = "id" in given.model_fields_set and entry_point_of(given.id) is not entry_point_of(own.id)
    return other or any(own.kwargs.get(name) != value for name, value in given.kwargs.items())


def expand(config: ExperimentConfig, *, trusted: Collection[str] = ()) -> list[RunSpec]:
    """Return the runs of an experiment, in the order of its results.

    The order of the loops, from the outermost to the innermost, is: device, varied device fields, FTL, varied
    FTL fields, workload, decider (agents, then policies), seed.

    Args:
        config: the experiment.
        trusted: agents and policies whose code may be executed.

    Raises:
        SsdgymError: a device, a workload, an agent or a module does not exist, a varied field does not fit,
            or `environment` contradicts the environments that the files of all agents name.
    """
    for policy in config.policies:
        import_rules(policy, trust=policy in trusted)
    sources = agent_labels(config.agents, trusted=trusted)
    found = {name: source.own_environment() for name, source in sources.items()}
    own = {name: environment for name, environment in found.items() if environment}
    if config.environment and len(own) == len(sources):
        for name, environment in own.items():
            if _differs(config.environment, environment):
                raise SsdgymError(
                    f"{name}: its file names the environment and the arguments; leave environment "
                    "(--environment, --env-arg) out."
                )
    deciders: list[tuple[str, AgentSource | None]] = [
        *sources.items(),
        *((name, None) for name in config.policies),
    ]
    names = numbered([source_name(source) for source in config.workloads])
    workloads = list(zip(names, map(load_workload, config.workloads), strict=True))
    return [
        RunSpec(
            device=device,
            workload=workload,
            policy=policy,
            seed=seed,
            ftl=closed_loop(ftl, workload),
            host_pages=config.host_pages,
            warmup=config.warmup,
            preconditioning=config.preconditioning,
            agent=source.text if source else None,
            environment=config.environment if source and policy not in own else None,
            trust=(source.text if source else policy) in trusted,
            objective=source.objective if source else "",
            label=label,
            device_label=device_label,
        )
        for device_label, device in _devices(config)
        for ftl in _ftls(config)
        for label, workload in workloads
        for policy, source in deciders
        for seed in config.seeds
    ]


def numbered(names: Sequence[str]) -> list[str]:
    """Return the names; number those that occur several times, such as `zipf-1`, `zipf-2`."""
    return [
        name if names.count(name) == 1 else f"{name}-{names[: i + 1].count(name)}"
        for i, name in enumerate(names)
    ]


def agent_labels(agents: Sequence[str | Path], *, trusted: Collection[str] = ()) -> dict[str, AgentSource]:
    """Return agents by label, their name in tables; raise if an agent is missing or two have one label."""
    labels: dict[str, AgentSource] = {}
    for agent in agents:
        source = source_of(agent, trust=str(agent) in trusted)
        source.digest()  # raises an error if the agent is missing
        if source.label in labels:
            other = labels[source.label].text
            raise SsdgymError(f"{agent}: {other} also goes by the name {source.label}; rename one of them")
        labels[source.label] = source
    return labels


def combinations(fields: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Return all combinations of the values of fields, each by name; one empty one without fields."""
    return [dict(zip(fields, values, strict=True)) for values in itertools.product(*fields.values())]


def _devices(config: ExperimentConfig) -> Iterator[tuple[str, DeviceFields]]:
    """Yield every device with its label, such as `demo(capacity.over_provisioning=0.1)`."""
    varied = {name: values for name, values in config.vary.items() if not name.startswith(FTL_PREFIX)}
    for source in config.devices:
        own = load_fields(source)
        for changes in combinations(varied):
            label = source_name(source)
            if changes:
                label += f"({', '.join(f'{name}={value}' for name, value in changes.items())})"
            yield label, with_fields(own, changes, label, "vary") if changes else own


def with_fields(device: DeviceFields, changes: dict[str, Any], label: str, where: str) -> DeviceConfig:
    """Return a device with changed fields, given by dotted names, and the name `label`.

    Error messages begin with `where`.
    """
    data = {**device.model_dump(exclude_unset=True), "name": label}
    if any(name.startswith("capacity.") for name in changes):
        data["capacity"] = {}  # it must have exactly one field, perhaps not the device's own
    for name, value in changes.items():
        try:
            data = with_changes(data, {name: value})
        except SsdgymError as error:
            raise SsdgymError(f"{where}: {error}") from None
    return load_device(data, f"{where}, {label}")


def _ftls(config: ExperimentConfig) -> Iterator[FtlOptions]:
    varied = {name: values for name, values in config.vary.items() if name.startswith(FTL_PREFIX)}
    fixed = {} if config.queue_depth is None else {"queue_depth": config.queue_depth}
    for own in config.ftls:
        for changes in combinations(varied):
            options = {name.removeprefix(FTL_PREFIX): value for name, value in changes.items()}
            yield tuple(sorted({**own, **fixed, **options}.items()))
