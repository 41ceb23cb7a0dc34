"""Models of ``configs/workloads``: what the host asks of the device, and when."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

from pydantic import Field, TypeAdapter

from ssdgym.config.generated import (
    AccessConfig,
    MixedConfig,
)
from ssdgym.config.loading import Source, available, is_yaml_path, load_config
from ssdgym.config.recorded import PlayedConfig, TraceConfig
from ssdgym.config.small_writes import SmallWritesConfig
from ssdgym.config.stand_in import StandInConfig
from ssdgym.config.tenants import SoloConfig, TenantsConfig
from ssdgym.errors import SsdgymError
from ssdgym.files import is_file

#: Workloads that are records of requests by byte and volume.
RecordedConfig = TraceConfig | StandInConfig
WorkloadConfig = SoloConfig | TenantsConfig

_ADAPTER: TypeAdapter[WorkloadConfig] = TypeAdapter(Annotated[WorkloadConfig, Field(discriminator="kind")])

#: Environment variable: a folder in which traces are looked for.
TRACE_FOLDER = "SSDGYM_TRACES"
_STAND_IN = "like:"
_TRACE = "trace:"


def load_workload(source: Source) -> WorkloadConfig:
    """Return a workload from a name, a YAML file, a trace, a mapping or a ready model.

    ``like:hm_0`` is the stand-in for the trace hm_0, ``trace:hm_0`` the file of that name in the folder
    SSDGYM_TRACES. A path that is not YAML is taken for a trace with default settings.

    Raises:
        SsdgymError: as `ssdgym.config.loading.load_config`; there is no such stand-in or trace.
    """
    if isinstance(source, str) and source.startswith(_STAND_IN):
        return load_config(StandInConfig, source.removeprefix(_STAND_IN), "stand_ins")
    if isinstance(source, str) and source.startswith(_TRACE):
        return TraceConfig(path=_trace_called(source.removeprefix(_TRACE)))
    if isinstance(source, (str, Path)) and _is_trace_path(source):
        return TraceConfig(path=Path(source))
    return load_config(_ADAPTER, source, "workloads")


def _trace_called(name: str) -> Path:
    """Return the file of that name in SSDGYM_TRACES."""
    advice = (
        f"use like:{name} for its stand-in" if name in available("stand_ins") else "give its path instead"
    )
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


def trace_called(name: str, folder: Path) -> Path | None:
    """Return the file in a folder whose name is `name`, whole or up to the first dot; None without one.

    Raises:
        SsdgymError: the folder cannot be read, or has several such files.
    """
    try:
        files = sorted(path for path in folder.iterdir() if path.is_file())
    except OSError as error:
        raise SsdgymError(
            f"{folder}: cannot be read ({error.strerror}); name a folder that holds traces."
        ) from None
    found = [path for path in files if path.name == name]
    found = found or [path for path in files if path.name.partition(".")[0] == name]
    if len(found) > 1:
        names = ", ".join(path.name for path in found)
        raise SsdgymError(f"trace:{name} is the name of several files in {folder}: {names}; give one's path.")
    return found[0] if found else None


def _is_trace_path(source: str | Path) -> bool:
    if is_yaml_path(source) or str(source) in available("workloads"):
        return False
    path = Path(source)
    return path.suffix != "" or len(path.parts) > 1 or is_file(path)


def is_endless(config: WorkloadConfig) -> bool:
    """Does the workload go on for ever?"""
    if isinstance(config, TenantsConfig):
        return any(is_endless(tenant.workload) for tenant in config.tenants)
    return config.loops is None if isinstance(config, PlayedConfig) else config.requests is None


def assumptions(config: WorkloadConfig) -> tuple[str, ...]:
    """Return the fields of a workload that no source gives; results made with it name them."""
    if isinstance(config, TenantsConfig):
        return tuple(sorted({name for tenant in config.tenants for name in assumptions(tenant.workload)}))
    return tuple(sorted(getattr(config, "assumed", ())))


def never_writes(config: WorkloadConfig) -> bool:
    """Is it plain from the configuration that the workload writes no page? (Of a trace it is not.)"""
    if isinstance(config, PlayedConfig):
        return False
    if isinstance(config, TenantsConfig):
        return all(never_writes(tenant.workload) for tenant in config.tenants)
    if isinstance(config, MixedConfig):
        return all(_never_writes(part.workload) for part in config.components)
    return _never_writes(config)


def _never_writes(config: AccessConfig | SmallWritesConfig) -> bool:
    trim_fraction = config.trim_fraction if isinstance(config, AccessConfig) else 0.0
    return config.read_fraction + trim_fraction >= 1
