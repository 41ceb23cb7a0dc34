"""`ssdgym doctor`: check the installation and compile the engine."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from importlib import metadata
from multiprocessing import get_context
from pathlib import Path

from ssdgym.cli.console import FAILED, note, show, table
from ssdgym.errors import SsdgymError
from ssdgym.files import writable_folder

#: A small device of each FTL family, and the family's environments; what takes longest to compile is first.
_FAMILIES = {
    "tiny": ("EraseVictim", "ParallelErase", "Placement", "JointGC", "BackgroundGC", "WearLevel"),
    "subftl-tiny": ("SubpageRegion",),
    "pen-tiny": ("MergePlan",),
}


def _use_every_entry(device: str, environments: tuple[str, ...]) -> None:
    """Run a device with and without simulated time, and step environments, so that all code is compiled."""
    import gymnasium as gym

    from ssdgym.simulator import Simulator

    for timing in ("none", "event"):
        Simulator(device, ftl={"timing": timing}).run("uniform", host_pages=2_000)
    for name in environments:
        env = gym.make(f"ssdgym/{name}-v0")
        env.reset(seed=0)
        env.step(int(env.unwrapped.action_masks().argmax()))  # type: ignore[attr-defined]
        env.close()


def doctor(compiles: bool = False) -> int:
    """Check versions, the compiler and its cache, cores and traces.

    The exit code is 1 if a check failed; notes are harmless.

    Examples:
        ssdgym doctor --json
        ssdgym doctor --compile
    """
    if compiles:
        started = time.perf_counter()
        processes = min(len(os.sched_getaffinity(0)), len(_FAMILIES))
        with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
            list(pool.map(_use_every_entry, _FAMILIES.keys(), _FAMILIES.values()))
        note(f"the engine and the environments are compiled, after {time.perf_counter() - started:.0f} s")
    rows = [{"check": name, "status": status, "message": message} for name, status, message in check_all()]
    show(rows, [table(rows)])
    return FAILED if any(row["status"] == "failed" for row in rows) else 0


def check_all() -> Iterator[tuple[str, str, str]]:
    """Make every check; yield its name, status (`ok`, `note` or `failed`) and message."""
    yield "python", "ok", platform.python_version()
    yield "cores", "ok", f"{len(os.sched_getaffinity(0))} usable, load average {os.getloadavg()[0]:.1f}"
    yield from _packages()
    for name, check in CHECKS.items():
        try:
            yield name, *check()
        except SsdgymError as error:
            yield name, "failed", str(error)
        except Exception as error:  # noqa: BLE001  a broken installation can raise anything
            yield name, "failed", f"{type(error).__name__}: {error}; reinstall ssdgym"


def _packages() -> Iterator[tuple[str, str, str]]:
    """Compare the installed packages with the requirements of ssdgym and its extra `agents`."""
    from packaging.requirements import Requirement

    for required in map(Requirement, metadata.requires("ssdgym") or []):
        needed = required.marker is None or required.marker.evaluate({"extra": ""})
        if not needed and required.marker and not required.marker.evaluate({"extra": "agents"}):
            continue
        try:
            version = metadata.version(required.name)
        except metadata.PackageNotFoundError:
            brings = "ssdgym" if needed else "'ssdgym[agents]', for learned agents"
            yield required.name, "failed" if needed else "note", f"not installed: pip install {brings}"
            continue
        if required.specifier.contains(version, prereleases=True):
            yield required.name, "ok", version
        else:
            yield required.name, "note", f"{version}; required is {required.specifier}"


def _cache() -> tuple[str, str]:
    from ssdgym.engine.compiler.cache import compile_cache_folder

    folder = compile_cache_folder()
    try:
        writable_folder(folder)
    except SsdgymError as error:
        return "failed", f"{error}, or set SSDGYM_CACHE_DIR: without it each process compiles anew"
    return "ok", f"{folder} ({sum(1 for _ in folder.glob('**/*.nbc'))} compiled functions)"


def _compiler() -> tuple[str, str]:
    """Compile and run a function of one line, because the engine would take a minute or two."""
    from ssdgym.engine.core.kernel import helper

    started = time.perf_counter()
    helper(_sum)(1, 1)
    return "ok", f"compiled and ran a function in {time.perf_counter() - started:.2f} s"


def _sum(one: int, other: int) -> int:
    return one + other


def _traces() -> tuple[str, str]:
    folder = os.environ.get("SSDGYM_TRACES")
    if not folder:
        return "note", "SSDGYM_TRACES is not set; traces are found by their full paths only"
    if not Path(folder).is_dir():
        return "failed", f"SSDGYM_TRACES names {folder}, which is not a folder; correct it"
    return "ok", f"{folder} ({sum(1 for _ in Path(folder).iterdir())} files)"


CHECKS = {"compile cache": _cache, "compiler": _compiler, "traces": _traces}
