"""The folder of a sweep: its trials, and the record by which a sweep is recognised when it goes on."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import ssdgym
from ssdgym.errors import SsdgymError
from ssdgym.experiments.tuning.config import SweepConfig
from ssdgym.experiments.tuning.ranges import Parameters
from ssdgym.files import writable_folder, write_bytes

_RECORD = "sweep.json"
_TRIALS = "trials"
_PARAMETERS = "parameters.json"


def trial_folder(folder: Path, number: int) -> Path:
    """Return the folder of a trial.

    Args:
        folder: that of its sweep.
        number: of the trial.
    """
    return folder / _TRIALS / f"{number:04d}"


def begin_trial(folder: Path, parameters: Parameters) -> None:
    """Begin the folder of a trial, or leave it as it is if it holds a trial of the same parameters.

    A search may come to other parameters when a sweep is resumed, where a trial that had failed succeeds.

    Args:
        folder: of the trial alone, made where missing.
        parameters: the swept fields.

    Raises:
        SsdgymError: the folder cannot be written.
    """
    path = folder / _PARAMETERS
    record = json.dumps(parameters, indent=2).encode()
    if path.exists() and path.read_bytes() != record:
        shutil.rmtree(folder)
    writable_folder(folder)
    if not path.exists():
        write_bytes(path, record)


def _record(sweep: SweepConfig) -> dict[str, Any]:
    """Return all that must be equal for a sweep to go on."""
    from ssdgym.engine.compiler.cache import engine_hash

    return {
        "sweep": sweep.model_dump(mode="json", exclude={"sizes", "description"}),
        "version": ssdgym.__version__,
        "engine_hash": engine_hash(),
    }


def begin(sweep: SweepConfig, folder: Path) -> None:
    """Begin a sweep.

    Args:
        sweep: which.
        folder: empty, or made.

    Raises:
        SsdgymError: the folder holds a sweep or other files, or cannot be written.
    """
    writable_folder(folder)
    path = folder / _RECORD
    if path.exists():
        raise SsdgymError(
            f"{folder}: already holds a sweep; go on with it by --resume {folder}, or choose another folder"
        )
    if any(folder.iterdir()):
        raise SsdgymError(f"{folder}: holds other files; choose a new or an empty folder with --out")
    write_bytes(path, json.dumps(_record(sweep), indent=2).encode())


def require_same_sweep(sweep: SweepConfig, folder: Path) -> None:
    """Check that a sweep can go on.

    Args:
        sweep: which.
        folder: that in which it was begun.

    Raises:
        SsdgymError: the folder holds no sweep, or another one.
    """
    path = folder / _RECORD
    try:
        there = json.loads(path.read_text(encoding="utf-8"))
        saved = {**there.pop("sweep"), **there}
    except FileNotFoundError as error:
        raise SsdgymError(
            f"{folder}: holds no sweep to go on with; correct --resume or leave it out"
        ) from error
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise SsdgymError(
            f"{path}: not the record of a sweep, or a damaged one; begin a new sweep"
        ) from error
    record = _record(sweep)
    for name, value in {**record.pop("sweep"), **record}.items():
        if saved.get(name) != value:
            raise SsdgymError(
                f"{folder}: holds a sweep with another {name}; resume it as it was begun, or choose another "
                "folder with --out"
            )
    writable_folder(folder)
