"""Checks of the machine and the installation, each independent of the others."""

from __future__ import annotations

import importlib
import os
import platform
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Literal

from ssdgym.errors import SsdgymError
from ssdgym.files import writable_folder

#: Versions the tests ran with, as constraints.txt pins them; others may work. NumPy differs on Python 3.10.
TESTED = {
    "numpy": ("2.2", "2.4"),
    "numba": ("0.68",),
    "gymnasium": ("1.4",),
    "pydantic": ("2.14",),
    "pyarrow": ("25.0", "26.0"),
    "typer": ("0.29",),
    "rich": ("15.0",),
    "matplotlib": ("3.10", "3.11"),
}
TESTED_OPTIONAL = {"torch": ("2.13",), "stable-baselines3": ("2.9",), "sb3-contrib": ("2.9",)}
TESTED_PYTHON = ((3, 10), (3, 13))

Status = Literal["ok", "note", "failed"]


@dataclass(frozen=True)
class Finding:
    """What one check found; a *note* is something to know that stops nothing."""

    check: str
    status: Status
    message: str


def check_all() -> list[Finding]:
    """Run every check, in the order in which problems are best looked at."""
    return [finding for check in _CHECKS for finding in check()]


def _python() -> Iterator[Finding]:
    oldest, newest = TESTED_PYTHON
    tested = oldest <= sys.version_info[:2] <= newest
    note = "" if tested else f"; tested are {oldest[0]}.{oldest[1]} to {newest[0]}.{newest[1]}"
    yield Finding("python", "ok" if tested else "note", platform.python_version() + note)


def _packages() -> Iterator[Finding]:
    for name, tested in TESTED.items():
        yield _package(name, tested, optional=False)
    for name, tested in TESTED_OPTIONAL.items():
        yield _package(name, tested, optional=True)


def _package(name: str, tested: tuple[str, ...], *, optional: bool) -> Finding:
    try:
        version = metadata.version(name)
    except metadata.PackageNotFoundError:
        if optional:
            return Finding(name, "note", "not installed; learned agents need pip install 'ssdgym[agents]'")
        return Finding(name, "failed", "not installed; pip install ssdgym brings it")
    if any(version == line or version.startswith(f"{line}.") for line in tested):
        return Finding(name, "ok", version)
    return Finding(name, "note", f"{version}; tested is {' and '.join(tested)}")


def _cache() -> Iterator[Finding]:
    from ssdgym.engine.core.kernel import compile_cache_folder

    folder = compile_cache_folder()
    try:
        writable_folder(folder)
    except SsdgymError as error:
        message = f"{error}, or set SSDGYM_CACHE_DIR: without it every process compiles the engine anew"
        yield Finding("compile cache", "failed", message)
        return
    entries = sum(1 for _ in folder.glob("**/*.nbc"))
    yield Finding("compile cache", "ok", f"{folder} ({entries} compiled functions)")


def _compiler() -> Iterator[Finding]:
    """Compile and run a kernel of a few lines; the engine's own may take a minute."""
    from ssdgym.engine.core.kernel import kernel

    started = time.perf_counter()
    total = kernel(_sum_of_squares)(1_000)
    seconds = time.perf_counter() - started
    if total != _sum_of_squares(1_000):
        yield Finding("compiler", "failed", f"a compiled function returned {total}: reinstall numba")
    else:
        yield Finding("compiler", "ok", f"compiled and ran a function in {seconds:.2f} s")


def _sum_of_squares(n: int) -> int:
    total = 0
    for i in range(n):
        total += i * i
    return total


def _memory() -> Iterator[Finding]:
    free_bytes = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    all_bytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    enough = all_bytes >= 2 << 30
    message = f"{free_bytes / 2**30:.1f} of {all_bytes / 2**30:.1f} GiB unused"
    yield Finding("memory", "ok" if enough else "note", message + ("" if enough else "; 2 GiB are advisable"))


def _cores() -> Iterator[Finding]:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    load = os.getloadavg()[0]
    busy = f"; load average {load:.1f}: measurements of speed will be off" if load > cores / 2 else ""
    yield Finding("cores", "note" if busy else "ok", f"{cores} usable{busy}")


def _torch_threads() -> Iterator[Finding]:
    try:
        torch = importlib.import_module("torch")
    except ModuleNotFoundError:
        return
    yield Finding("torch threads", "ok", f"{torch.get_num_threads()}; training sets its own number")


def _traces() -> Iterator[Finding]:
    folder = os.environ.get("SSDGYM_TRACES")
    if not folder:
        message = "SSDGYM_TRACES is not set; traces are found by their full paths only"
        yield Finding("traces", "note", message)
    elif not Path(folder).is_dir():
        yield Finding("traces", "failed", f"SSDGYM_TRACES names {folder}, which is not a folder; correct it")
    else:
        yield Finding("traces", "ok", f"{folder} ({sum(1 for _ in Path(folder).iterdir())} files)")


def _environments() -> Iterator[Finding]:
    import gymnasium

    importlib.import_module("ssdgym.envs")
    ours = sorted(name for name in gymnasium.registry if name.startswith("ssdgym/"))
    if ours:
        yield Finding("environments", "ok", ", ".join(ours))
    else:
        yield Finding("environments", "failed", "none is registered with Gymnasium: reinstall ssdgym")


_CHECKS: tuple[Callable[[], Iterator[Finding]], ...] = (
    _python,
    _packages,
    _cache,
    _compiler,
    _memory,
    _cores,
    _torch_threads,
    _traces,
    _environments,
)
