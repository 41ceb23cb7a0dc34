"""The cells of a paper's figure, and what comes of them."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from ssdgym.config.device import DeviceConfig, load_device
from ssdgym.config.loading import available, load_config
from ssdgym.config.recorded import PlayedConfig, TraceConfig
from ssdgym.config.reproduce import FigureConfig, ScaleConfig
from ssdgym.config.transforms import HeadConfig
from ssdgym.config.workload import RecordedConfig, load_workload, trace_called
from ssdgym.errors import SsdgymError
from ssdgym.experiments.evaluate import Cell
from ssdgym.workloads.recorded import open_records
from ssdgym.workloads.records.pages import volume_pages


def papers() -> list[str]:
    """Return the papers that can be reproduced, sorted."""
    folder = resources.files("ssdgym.configs").joinpath("experiments")
    return sorted(entry.name for entry in folder.iterdir() if entry.is_dir())


def figures(paper: str, number: str | None = None) -> list[FigureConfig]:
    """Return the figures of a paper that can be regenerated, or the one asked for.

    Raises:
        SsdgymError: there is no such paper or figure.
    """
    if paper not in papers():
        raise SsdgymError(f"there is no paper '{paper}' to reproduce: choose one of {', '.join(papers())}")
    folder = f"experiments/{paper}"
    found = [load_config(FigureConfig, name, folder) for name in available(folder)]
    chosen = [figure for figure in found if number in (None, figure.figure)]
    if not chosen:
        known = ", ".join(figure.figure for figure in found)
        raise SsdgymError(f"--figure {number}: of {paper} there are the figures {known}; choose one of them")
    return chosen


def scale_of(figure: FigureConfig, name: str) -> ScaleConfig:
    """Return how much of a figure is run at a scale.

    Raises:
        SsdgymError: the figure has no such scale.
    """
    for known, scale in figure.scales.items():
        if known == name:
            return scale
    raise SsdgymError(
        f"--scale {name}: figure {figure.figure} of {figure.paper} has the scales "
        f"{', '.join(figure.scales)}; choose one of them"
    )


def cells_of(figure: FigureConfig, scale: ScaleConfig, traces: Path | None) -> list[Cell]:
    """Return the runs that a figure takes.

    Args:
        figure: which.
        scale: how much of it.
        traces: a folder in which traces are looked for by name; None, or where there is none of that name:
            the stand-in is played.

    Raises:
        SsdgymError: a device, a workload or a trace is wrong.
    """
    cells = []
    for name in scale.workloads or figure.workloads:
        workload = _workload(name, scale, traces)
        for device_name in figure.devices:
            device = _device(figure, device_name, name, workload)
            cells += [
                Cell(
                    device=device,
                    workload=workload,
                    policy=policy,
                    seed=seed,
                    ftl=tuple(sorted(figure.ftl.items())),
                    preconditioning=figure.preconditioning,
                    label=name,
                )
                for policy in figure.policies
                # A trace draws nothing, and copies of one run are no sample.
                for seed in range(1, 2 if isinstance(workload, TraceConfig) else scale.seeds + 1)
            ]
    return cells


def _workload(name: str, scale: ScaleConfig, traces: Path | None) -> RecordedConfig:
    path = None if traces is None else trace_called(name, traces)
    workload = load_workload(f"like:{name}") if path is None else TraceConfig(path=path)
    assert isinstance(workload, PlayedConfig)
    heads = () if scale.head is None else (HeadConfig(requests=scale.head),)
    return workload.model_copy(update={"addresses": "fold", "transforms": (*workload.transforms, *heads)})


def _device(figure: FigureConfig, device: str, workload: str, config: RecordedConfig) -> DeviceConfig:
    model = load_device(device)
    if (spare := figure.over_provisioning.get(workload)) is not None:
        model = model.model_copy(update={"over_provisioning": spare, "logical_pages": None})
    if figure.fit == "address_space":
        pages = volume_pages(open_records(config).volumes, model.geometry.page_size_bytes)
        model = model.sized_to(pages).model_copy(update={"name": model.name})
    return model
