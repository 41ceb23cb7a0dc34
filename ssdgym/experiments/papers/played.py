"""What a figure plays: traces from files, synthetic ones in their place, or generated workloads."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

from ssdgym.config.fields import with_changes
from ssdgym.config.preconditioning import DRAWN_BY_THE_RUN
from ssdgym.errors import SsdgymError
from ssdgym.experiments.papers.config import FigureConfig, ScaleConfig
from ssdgym.workloads.base import WorkloadConfig
from ssdgym.workloads.stream import load_workload
from ssdgym.workloads.traces.files import TRACE_FOLDER, trace_called
from ssdgym.workloads.traces.loading import TraceConfig, VolumeLayout
from ssdgym.workloads.traces.recorded import PlayedConfig
from ssdgym.workloads.traces.transforms import HeadConfig


class RealTrace(NamedTuple):
    """A trace that is played from its file, and what it asks of the FTL."""

    config: TraceConfig
    ftl: dict[str, Any]


def file_of(figure: FigureConfig, name: str, traces: Path | None, volumes: VolumeLayout) -> RealTrace | None:
    """Return the real trace that is played under a name; None where its file is not at hand.

    Args:
        figure: which.
        name: of the workload.
        traces: folder of real traces; `None`: only the figure's own `files` are looked for, in the folder
            that SSDGYM_TRACES names.
        volumes: how the volumes of the trace lie in one address space.

    Raises:
        SsdgymError: there is a folder, and the figure plays no traces.
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
    # Without times of its own a trace is played as a closed loop.
    ftl = {} if own.queue_depth is None else {"queue_depth": own.queue_depth}
    return RealTrace(TraceConfig(path=folder / own.path, skip_bad=own.skip_bad, volumes=volumes), ftl)


def workload_of(
    figure: FigureConfig, scale: ScaleConfig, name: str, file: RealTrace | None, synthetic: str
) -> WorkloadConfig:
    """Return a workload of a figure as it is played at a scale.

    Args:
        figure: which.
        scale: how much of it.
        name: of the workload.
        file: the real trace; None: a synthetic one, or a generated workload.
        synthetic: name of the synthetic trace.

    Raises:
        SsdgymError: there is no such workload.
    """
    if figure.workloads_from == "configs":
        return load_workload(name)
    workload = file.config if file else load_workload(f"synthetic:{synthetic}")
    assert isinstance(workload, PlayedConfig)
    head = scale.heads.get(name, scale.head)
    heads = () if head is None else (HeadConfig(kind="head", requests=head),)
    changes = {
        "addresses": "compact" if name in figure.compact else "fold",
        "transforms": (*workload.transforms, *scale.transforms_of.get(name, scale.transforms), *heads),
    }
    return workload.model_copy(update=changes)


def changed(workload: WorkloadConfig, changes: dict[str, Any]) -> WorkloadConfig:
    """Return a workload with other values in some fields.

    Args:
        workload: which.
        changes: values by dotted names.
    """
    if not changes:
        return workload
    return load_workload(with_changes(workload.model_dump(exclude_unset=True), changes))


def draws(figure: FigureConfig, workload: WorkloadConfig) -> bool:
    """Return whether seeds matter: a trace draws nothing, unless its preconditioning does.

    Args:
        figure: which.
        workload: of it.
    """
    is_drawn = not isinstance(workload, PlayedConfig) or workload.is_drawn
    return is_drawn or figure.preconditioning in DRAWN_BY_THE_RUN
