"""Load the figures of papers from `configs/papers`, and list their runs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

from ssdgym.config.device import DRAWN_BY_THE_RUN, DeviceConfig, load_device
from ssdgym.config.fields import with_changes
from ssdgym.config.geometry import CapacityConfig
from ssdgym.config.loading import available, load_config, parse_mapping
from ssdgym.errors import SsdgymError
from ssdgym.experiments.leaderboard.suites import SuiteConfig, load_suite
from ssdgym.experiments.papers.config import FigureConfig, LengthConfig, ScaleConfig
from ssdgym.experiments.papers.samples import Place, Point
from ssdgym.experiments.runs.config import with_fields
from ssdgym.experiments.runs.spec import RunSpec
from ssdgym.workloads.base import WorkloadConfig
from ssdgym.workloads.stream import load_workload
from ssdgym.workloads.traces.files import TRACE_FOLDER, trace_called
from ssdgym.workloads.traces.loading import TraceConfig, VolumeLayout
from ssdgym.workloads.traces.record import volume_pages
from ssdgym.workloads.traces.recorded import PlayedConfig
from ssdgym.workloads.traces.transforms import HeadConfig


class RealTrace(NamedTuple):
    """A trace that is played from its file, and the FTL options that it needs."""

    config: TraceConfig
    ftl: dict[str, Any]


def file_of(figure: FigureConfig, name: str, traces: Path | None, volumes: VolumeLayout) -> RealTrace | None:
    """Return the real trace of a workload; None if there is no file of it.

    The folder `traces` is searched for a file of that name, and then for the path in the figure's `files`. If
    `traces` is None, the folder SSDGYM_TRACES is searched for that path.
    """
    if figure.workloads_from == "synthetic":
        return None
    if figure.workloads_from == "configs":
        if traces is not None:
            raise SsdgymError(f"--traces: the figures of {figure.paper} play no traces; leave it out")
        return None
    if (path := None if traces is None else trace_called(name, traces)) is not None:
        return RealTrace(TraceConfig(path=path, volumes=volumes), {})
    folder = traces or (Path(at) if (at := os.environ.get(TRACE_FOLDER)) else None)
    own = figure.files.get(name)
    if own is None or folder is None or not (folder / own.path).is_file():
        return None
    # A trace without times is played as a closed loop: a new request starts when an earlier one ends.
    ftl = {} if own.queue_depth is None else {"queue_depth": own.queue_depth}
    return RealTrace(TraceConfig(path=folder / own.path, skip_bad=own.skip_bad, volumes=volumes), ftl)


def workload_of(
    figure: FigureConfig, scale: ScaleConfig, name: str, file: RealTrace | None, synthetic: str
) -> WorkloadConfig:
    """Return the workload `name` of a figure at a scale: `file`, or if it is None the trace `synthetic`."""
    if figure.workloads_from == "configs":
        return load_workload(name)
    workload = file.config if file else load_workload(f"synthetic:{synthetic}")
    assert isinstance(workload, PlayedConfig)
    head = scale.heads.get(name, scale.head)
    heads = () if head is None else (HeadConfig(kind="head", requests=head),)
    changes = {
        "addresses": "compact" if name in figure.compact else "fold",
        "transforms": (*workload.transforms, *scale.transforms_of.get(name, scale.transforms), *heads),
        "loops": scale.loops.get(name, workload.loops),
    }
    return workload.model_copy(update=changes)


def changed(workload: WorkloadConfig, changes: dict[str, Any]) -> WorkloadConfig:
    """Return a workload with changed fields."""
    if not changes:
        return workload
    return load_workload(with_changes(workload.model_dump(exclude_unset=True), changes))


def draws(figure: FigureConfig, workload: WorkloadConfig) -> bool:
    """Return whether runs depend on the seed; those of a recorded trace do if their preconditioning does."""
    is_drawn = not isinstance(workload, PlayedConfig) or workload.is_drawn
    return is_drawn or figure.preconditioning in DRAWN_BY_THE_RUN


#: Folder with one file per paper: a document that all figures share, then one document per figure.
_FOLDER = "papers"


def papers() -> list[str]:
    """Return the papers that can be reproduced, sorted."""
    return available(_FOLDER)


def figures(paper: str, number: str | None = None, workloads: Sequence[str] = ()) -> list[FigureConfig]:
    """Return the figures of a paper in order, or only the figure or panel `number`.

    If `workloads` are given, return only figures that have one of them.
    """
    if paper not in papers():
        raise SsdgymError(f"there is no paper '{paper}' to reproduce: choose one of {', '.join(papers())}")
    shared, *documents = _documents(paper)
    by_number = {str(own.get("figure")): own for own in documents}
    fields = [_over_base(own, shared, by_number) for own in documents]
    loaded = [
        load_config(FigureConfig, one, _FOLDER, f"configs/{_FOLDER}/{paper}.yaml, figure {one.get('figure')}")
        for one in fields
    ]
    found = sorted(loaded, key=lambda one: (len(one.figure), one.figure))
    chosen = [part for figure in found if (part := _part(figure, number)) is not None]
    if not chosen:
        known = ", ".join(figure.number_of(panel) for figure in found for panel in figure.panels)
        raise SsdgymError(f"--figure {number}: of {paper} there are the figures {known}; choose one of them")
    played = dict.fromkeys(name for figure in chosen for name in figure.workloads)
    for name in workloads:
        if name not in played:
            raise SsdgymError(
                f"--workload {name}: these figures play {', '.join(played)}; choose one of them"
            )
    return [figure for figure in chosen if not workloads or set(workloads) & set(figure.workloads)]


def _documents(paper: str) -> list[dict[str, Any]]:
    """Return the YAML documents of a paper's file: the shared one, and then one per figure."""
    text = resources.files("ssdgym.configs").joinpath(_FOLDER, f"{paper}.yaml").read_text(encoding="utf-8")
    found, lines = [], 0
    for part in text.split("\n---\n"):
        # Empty lines before the document make errors report the line number in the file.
        found.append(parse_mapping("\n" * lines + part, f"configs/{_FOLDER}/{paper}.yaml"))
        lines += part.count("\n") + 2
    return found


def _over_base(
    own: dict[str, Any], shared: dict[str, Any], by_number: dict[str, dict[str, Any]]
) -> dict[str, Any]:
    """Return the fields of a figure; missing ones are those of the figure `base`, or of the shared document.

    Departures of both are joined; the fields of each scale are completed one by one.
    """
    base = own.get("base")
    under = shared if base is None else _over_base(by_number[base], shared, by_number)
    scales = under.get("scales", {}) | {
        scale: under.get("scales", {}).get(scale, {}) | amounts
        for scale, amounts in own.get("scales", {}).items()
    }
    departures = [*under.get("departures", ()), *own.get("departures", ())]
    fields = {**under, **own, "departures": departures, "scales": scales}
    fields.pop("base", None)
    return fields


def with_bars(figure: FigureConfig, policies: Sequence[str], agents: Sequence[str]) -> FigureConfig:
    """Return a figure with more bars: the FTL of the paper with other policies, or with agents that decide.

    A figure that has no bar for the paper's FTL, or one bar per device, is returned unchanged.
    """
    added = {"agents": tuple(agents)}
    if figure.series == "policy":
        return figure.model_copy(update=added | {"policies": (*figure.policies, *policies, *agents)})
    if (own := figure.ftls.get(figure.paper)) is None:
        return figure
    ftls = figure.ftls | dict.fromkeys(agents, own) | {name: own | {"policy": name} for name in policies}
    return figure.model_copy(update=added | {"ftls": ftls})


def learned_agents(paper: str) -> tuple[str, ...]:
    """Return the rules of a paper's suite, and the first agent of each learned entry of the suite."""
    suite = _suite_of(paper)
    found = (*suite.rules, *(entry.agents[0] for entry in suite.agents if entry.agents))
    if not found:
        raise SsdgymError(f"--learned: no agent has learned the decision of {paper}; name one by --agent")
    return found


def _suite_of(paper: str) -> SuiteConfig:
    return load_suite(paper.replace("-", "_"))


def _part(figure: FigureConfig, number: str | None) -> FigureConfig | None:
    """Return the figure, with only panel `number` unless this is None or the figure's; None if none fits."""
    if number in (None, figure.figure):
        return figure
    panels = tuple(panel for panel in figure.panels if figure.number_of(panel) == number)
    return figure.model_copy(update={"panels": panels}) if panels else None


def scale_of(figure: FigureConfig, name: str) -> ScaleConfig:
    """Return a scale of a figure by name."""
    for known, scale in figure.scales.items():
        if known == name:
            return scale
    raise SsdgymError(
        f"--scale {name}: figure {figure.figure} of {figure.paper} has the scales "
        f"{', '.join(figure.scales)}; choose one of them"
    )


def points_of(
    figure: FigureConfig,
    scale: ScaleConfig,
    traces: Path | None,
    volumes: VolumeLayout = "end_to_end",
    seeds: Sequence[int] = (),
) -> list[Point]:
    """Return the runs of a figure, each at its place.

    If there is no file of a trace (`file_of`), its synthetic trace is played. `seeds` replace the seeds of
    the scale in runs that draw random numbers; other runs have the seed 1.
    """
    drawn = seeds or range(1, scale.seeds + 1)
    return [
        point
        for name in figure.workloads
        if not scale.workloads or name in scale.workloads
        for point in _points_on(figure, scale, name, file_of(figure, name, traces, volumes), drawn)
    ]


def _points_on(
    figure: FigureConfig, scale: ScaleConfig, name: str, file: RealTrace | None, seeds: Sequence[int]
) -> list[Point]:
    points = []
    environment = _suite_of(figure.paper).environment if figure.agents else None
    for variant in figure.variant_names:
        changes = figure.variants.get(variant, {}) | scale.variants.get(variant, {})
        drawn = seeds[:1] if variant in figure.also_at else seeds
        length = _length(scale.lengths.get(name), _under("run.", changes))
        other = changes.pop("device", None)
        synthetic = changes.pop("synthetic", figure.synthetic).format(name)
        workload = workload_of(figure, scale, name, file, synthetic)
        played = changed(workload, figure.workload_fields | _under("workload.", changes))
        for series in figure.bars:
            given = figure.ftls.get(series, {})
            policy = series if figure.series == "policy" else figure.policies[0]
            shown = other or (series if figure.series == "device" else figure.devices[0])
            where = f"variants.{variant}" if variant else f"ftls.{series}"
            fields = changes | _under("device.", given)
            device = _device(figure, scale.devices.get(shown, shown), (where, fields), name, played)
            options = {key: value for key, value in given.items() if not key.startswith("device.")}
            ftl = scale.ftl | (file.ftl if file else {}) | figure.ftl | options | _under("ftl.", changes)
            own_policy, is_agent = ftl.pop("policy", policy), series in figure.agents
            points += [
                Point(
                    Place(series, name, variant),
                    RunSpec(
                        device=device,
                        workload=played,
                        policy=series if is_agent else own_policy,
                        agent=series if is_agent else None,
                        environment=environment if is_agent else None,
                        seed=seed,
                        ftl=tuple(sorted(ftl.items())),
                        preconditioning=figure.preconditioning,
                        sample_pages=figure.sample_pages,
                        label=name,
                        **length,
                    ),
                    exact=not draws(figure, played),
                )
                for seed in (drawn if draws(figure, played) else (1,))
            ]
    return points


def _length(length: LengthConfig | None, changes: dict[str, Any]) -> dict[str, Any]:
    """Return the length of a run as fields of `RunSpec`; no fields: a trace is played to its end."""
    if length is None and not changes:
        return {}
    given = {} if length is None else length.model_dump()
    return LengthConfig.model_validate(given | changes).model_dump()


def _under(prefix: str, changes: dict[str, Any]) -> dict[str, Any]:
    """Return those of the changes whose names begin with `prefix`, without the prefix."""
    return {key.removeprefix(prefix): value for key, value in changes.items() if key.startswith(prefix)}


def _device(
    figure: FigureConfig,
    device: str,
    varied: tuple[str, dict[str, Any]],
    workload: str,
    config: WorkloadConfig,
) -> DeviceConfig:
    model = load_device(device)
    where, fields = varied
    changes = {
        field: value for field, value in fields.items() if not field.startswith(("ftl.", "workload.", "run."))
    }
    if changes:
        label = f"{device}({', '.join(f'{field}={value}' for field, value in changes.items())})"
        model = with_fields(model, changes, label, where)
    if (spare := figure.over_provisioning.get(workload)) is not None:
        model = model.model_copy(update={"capacity": CapacityConfig(over_provisioning=spare)})
    if figure.fit == "address_space":
        assert isinstance(config, PlayedConfig)
        pages = volume_pages(config.records().volumes, model.host_unit_bytes)
        model = model.sized_to(pages).model_copy(update={"name": model.name})
    return model
