"""`ssdgym doctor`: check the installation and compile the engine."""

from __future__ import annotations

import os
import platform
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from importlib import metadata
from multiprocessing import get_context
from pathlib import Path
from typing import Annotated, Literal

import typer

from ssdgym.cli.console import compile_note, print_json, print_table, progress_note
from ssdgym.cli.options import AsJson
from ssdgym.errors import SsdgymError
from ssdgym.files import writable_folder

#: For each FTL family, the longest compile first: a small device of it, and its environments.
_FAMILIES = {
    "tiny": (
        "EraseVictim-v0",
        "ParallelErase-v0",
        "Placement-v0",
        "JointGC-v0",
        "BackgroundGC-v0",
        "WearLevel-v0",
    ),
    "subftl-tiny": ("SubpageRegion-v0",),
    "pen-tiny": ("MergePlan-v0",),
}


def _use_every_entry(device: str, environments: tuple[str, ...], *, quiet: bool) -> None:
    """Run a small device without time and with it, and take one step in each environment."""
    import gymnasium as gym

    from ssdgym.simulator import Simulator

    compile_note(quiet=quiet)
    for timing in ("none", "event"):
        Simulator(device, ftl={"timing": timing}).run("uniform", host_pages=2_000)
    for name in environments:
        env = gym.make(f"ssdgym/{name}")
        env.reset(seed=0)
        env.step(int(env.unwrapped.action_masks().argmax()))  # type: ignore[attr-defined]
        env.close()


#: The name of a check, its status (a note stops nothing), and what was found.
Found = tuple[str, Literal["ok", "note", "failed"], str]


def doctor(
    compiles: Annotated[
        bool,
        typer.Option(
            "--compile",
            help="Compile the engine and the environments first, for all checkouts of this version here.",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Check versions, the compiler and its cache, cores and traces.

    Exits with 1 if a check failed; notes are harmless.

    Examples:

        ssdgym doctor --json

        ssdgym doctor --compile
    """
    if compiles:
        started = time.perf_counter()
        processes = min(len(os.sched_getaffinity(0)), len(_FAMILIES))
        with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
            for work in [
                pool.submit(_use_every_entry, *family, quiet=as_json) for family in _FAMILIES.items()
            ]:
                work.result()
        seconds = time.perf_counter() - started
        progress_note(f"the engine and the environments are compiled, after {seconds:.0f} s", quiet=as_json)
    results = check_all()
    if as_json:
        print_json([dict(zip(("check", "status", "message"), one, strict=True)) for one in results])
    else:
        print_table(["check", "", "what was found"], [], results)
    if any(status == "failed" for _, status, _ in results):
        raise typer.Exit(1)


def check_all() -> list[Found]:
    """Run every check, in the order in which problems are best looked at."""
    results: list[Found] = []
    for check in _CHECKS:
        name = check.__name__.strip("_")
        try:
            results.extend(check())
        except SsdgymError as error:
            results.append((name, "failed", str(error)))
        except Exception as error:  # noqa: BLE001  a broken installation can raise anything
            results.append((name, "failed", f"{type(error).__name__}: {error}; reinstall ssdgym"))
    return results


def _python() -> Iterator[Found]:
    """Compare the version of Python with those that the package is made for."""
    prefix = "Programming Language :: Python :: 3."
    classifiers = metadata.metadata("ssdgym").get_all("Classifier") or []
    tested = [int(text.removeprefix(prefix)) for text in classifiers if text.startswith(prefix)]
    fits = sys.version_info[1] in tested
    note = "" if fits else f"; tested are 3.{min(tested)} to 3.{max(tested)}"
    yield "python", "ok" if fits else "note", platform.python_version() + note


def _packages() -> Iterator[Found]:
    """Compare what is installed with what the package, and learned agents, require."""
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
        fits = required.specifier.contains(version, prereleases=True)
        yield (
            required.name,
            *(("ok", version) if fits else ("note", f"{version}; required is {required.specifier}")),
        )


def _cache() -> Iterator[Found]:
    from ssdgym.engine.compiler.cache import compile_cache_folder

    folder = compile_cache_folder()
    try:
        writable_folder(folder)
    except SsdgymError as error:
        message = f"{error}, or set SSDGYM_CACHE_DIR: without it every process compiles the engine anew"
        yield "compile cache", "failed", message
        return
    entries = sum(1 for _ in folder.glob("**/*.nbc"))
    yield "compile cache", "ok", f"{folder} ({entries} compiled functions)"


def _compiler() -> Iterator[Found]:
    """Compile and run a kernel of a few lines; the engine's own may take a minute or two."""
    from ssdgym.engine.core.kernel import helper

    started = time.perf_counter()
    total = helper(_sum_of_squares)(1_000)
    seconds = time.perf_counter() - started
    if total != _sum_of_squares(1_000):
        yield "compiler", "failed", f"a compiled function returned {total}: reinstall numba"
    else:
        yield "compiler", "ok", f"compiled and ran a function in {seconds:.2f} s"


def _sum_of_squares(n: int) -> int:
    total = 0
    for i in range(n):
        total += i * i
    return total


def _cores() -> Iterator[Found]:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    load = os.getloadavg()[0]
    busy = f"; load average {load:.1f}: measurements of speed will be off" if load > cores / 2 else ""
    yield "cores", "note" if busy else "ok", f"{cores} usable{busy}"


def _traces() -> Iterator[Found]:
    folder = os.environ.get("SSDGYM_TRACES")
    if not folder:
        yield "traces", "note", "SSDGYM_TRACES is not set; traces are found by their full paths only"
    elif not Path(folder).is_dir():
        yield "traces", "failed", f"SSDGYM_TRACES names {folder}, which is not a folder; correct it"
    else:
        yield "traces", "ok", f"{folder} ({sum(1 for _ in Path(folder).iterdir())} files)"


_CHECKS: tuple[Callable[[], Iterator[Found]], ...] = (_python, _packages, _cache, _compiler, _cores, _traces)
