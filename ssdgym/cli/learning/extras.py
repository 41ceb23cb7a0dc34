"""Packages that some commands need and a plain installation lacks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ssdgym.errors import SsdgymError

_OF_AGENTS = ("cmaes", "torch", "safetensors", "stable_baselines3", "sb3_contrib")


@contextmanager
def agents_extra() -> Iterator[None]:
    """Say what to install where an import lacks a package of the extra `agents`.

    Raises:
        SsdgymError: a package of the extra is missing.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in _OF_AGENTS:
            raise
        raise SsdgymError(
            f"agents need the package {error.name}: install it with pip install 'ssdgym[agents]'"
        ) from error
