"""Load a workload by name, and open it on a device."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import cast

from ssdgym.config.device import DeviceConfig
from ssdgym.config.fields import seed_number
from ssdgym.config.loading import Source, available, is_yaml_path, load_config
from ssdgym.errors import SsdgymError
from ssdgym.workloads.base import RequestStream, WorkloadConfig
from ssdgym.workloads.python import PythonSource, from_python
from ssdgym.workloads.registry import adapter_of
from ssdgym.workloads.synthetic.config import SyntheticTraceConfig
from ssdgym.workloads.traces.files import STDIN, TRACE_FOLDER, trace_called
from ssdgym.workloads.traces.loading import TraceConfig
from ssdgym.workloads.traces.recorded import PlayedConfig

_SYNTHETIC = "synthetic:"
_TRACE = "trace:"
#: Separator between the paths of the files of one trace.
_MORE = ","


def load_workload(source: Source | PythonSource) -> WorkloadConfig:
    """Return the workload that `source` describes.

    Args:
        source: one of the following.

            * A name in `configs/workloads`, the path of a YAML file, a mapping of fields, or a model.
            * `synthetic:hm_0`: the synthetic trace with the statistics of the trace hm_0. A mapping with
              `base: synthetic:hm_0` changes its fields.
            * `trace:hm_0`: the trace file called hm_0 in the folder that SSDGYM_TRACES names.
            * Paths of files, separated by commas, which form a trace with default settings.
            * An array of dtype REQUEST, or a function (seed, number of logical pages of the device) that
              returns such an array or yields several arrays.

    Raises:
        SsdgymError: there is no such workload or trace, or a field has a wrong value.
    """
    made = source if isinstance(source, WorkloadConfig) else from_python(source)
    if made is not None:
        return made
    if isinstance(source, str) and source.startswith(_SYNTHETIC):
        return load_config(SyntheticTraceConfig, source.removeprefix(_SYNTHETIC), "synthetic_traces")
    if isinstance(source, Mapping) and str(source.get("base", "")).startswith(_SYNTHETIC):
        changes = {name: value for name, value in source.items() if name != "base"}
        fields = {**load_workload(source["base"]).model_dump(), **changes}
        return load_config(SyntheticTraceConfig, fields, "synthetic_traces")
    if isinstance(source, str) and source.startswith(_TRACE):
        return TraceConfig(path=_trace_called(source.removeprefix(_TRACE)))
    if isinstance(source, (str, Path)) and _is_trace_path(source):
        paths = [source] if os.path.isfile(source) else str(source).split(_MORE)
        return TraceConfig(path=tuple(map(Path, paths)) if len(paths) > 1 else Path(source))
    if isinstance(source, Mapping) and "path" in source and not {"kind", "base"} & {*source}:
        source = {"kind": "trace", **source}
    return load_config(adapter_of(WorkloadConfig), cast(Source, source), "workloads")


def _trace_called(name: str) -> Path:
    """Return the path of the trace file called `name` in the folder that SSDGYM_TRACES names."""
    has_synthetic = name in available("synthetic_traces")
    advice = f"use synthetic:{name} in its place" if has_synthetic else "give its path instead"
    folder = os.environ.get(TRACE_FOLDER)
    if not folder:
        raise SsdgymError(
            f"trace:{name} needs the environment variable {TRACE_FOLDER}, which names no folder; set it, "
            f"or {advice}."
        )
    path = trace_called(name, Path(folder))
    if path is None:
        raise SsdgymError(f"trace:{name}: there is no file of that name in {folder}; {advice}.")
    return path


def _is_trace_path(source: str | Path) -> bool:
    if is_yaml_path(source) or str(source) in available("workloads"):
        return False
    path = Path(source)
    return str(source) == STDIN or path.suffix != "" or len(path.parts) > 1 or os.path.exists(path)


def open_workload(config: WorkloadConfig, *, logical_pages: int, page_size: int, seed: int) -> RequestStream:
    """Start a workload from its first request.

    Args:
        config: the workload.
        logical_pages: number of logical pages of the device. Every request lies within them.
        page_size: bytes per page, for workloads with sizes in bytes, such as traces and small writes.
        seed: seed of the requests, from 0 to 2**64 - 1. For a trace it only draws a random start.

    Raises:
        SsdgymError: the workload does not fit the device, its trace cannot be read, or `seed` is invalid.
    """
    return config.open(logical_pages, page_size, seed_number(seed, "the seed of a workload"))


def open_on(config: WorkloadConfig, device: DeviceConfig, seed: int) -> RequestStream:
    """Start a workload on a device as `open_workload` does, after `check_addresses`."""
    check_addresses(config, device)
    return open_workload(
        config, logical_pages=device.logical_pages, page_size=device.host_unit_bytes, seed=seed
    )


def check_addresses(config: WorkloadConfig, device: DeviceConfig) -> None:
    """Refuse a trace with compact addresses (see `PlayedConfig`) on a device that maps whole blocks.

    Compact addresses would put pages from distant places into one block.

    Raises:
        SsdgymError: `config` is or contains such a trace, and the FTL of `device` maps whole blocks.
    """
    if not device.ftl.keeps_addresses:
        return
    for part in config.parts():
        check_addresses(part, device)
    if isinstance(config, PlayedConfig) and config.addresses == "compact":
        raise SsdgymError(
            f"device {device.name}: an FTL of mapping {device.ftl.mapping} maps whole blocks, which compact "
            f"addresses would make of pages from all over {config.label}; set addresses to fold, and for a "
            "small device use the transform scale_space."
        )
