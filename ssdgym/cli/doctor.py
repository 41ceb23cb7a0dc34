"""Commands that check the installation and compile the engine."""

from __future__ import annotations

import importlib
import os
import platform
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from importlib import metadata
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ssdgym.cli.console import compile_note, print_json, print_table, progress_note
from ssdgym.cli.options import AsJson
from ssdgym.errors import SsdgymError
from ssdgym.files import writable_folder

if TYPE_CHECKING:
    from packaging.specifiers import SpecifierSet


#: For each FTL family, the longest compile first: a small device of it, and its environments.
_FAMILIES = (
    (
        "tiny",
        (
            *("EraseVictim-v0", "ParallelErase-v0", "Placement-v0", "JointGC-v0", "BackgroundGC-v0"),
            "WearLevel-v0",
        ),
    ),
    ("subftl-tiny", ("SubpageRegion-v0",)),
    ("pen-tiny", ("MergePlan-v0",)),
)


def warmup(
    workers: Annotated[
        int | None, typer.Option(min=1, help="Processes that compile. Default: one for each core.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing.")] = False,
) -> None:
    """Compile the engine and the environments, so that nothing waits for it later.

    What is compiled is kept for all checkouts and environments of this version on the machine. Processes
    compile a family of FTLs each.

    Examples:

        ssdgym warmup
    """
    started = time.perf_counter()
    processes = min(workers or len(os.sched_getaffinity(0)), len(_FAMILIES))
    with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
        for work in [pool.submit(_use_every_entry, *family, quiet=quiet) for family in _FAMILIES]:
            work.result()
    progress_note(
        f"the engine and the environments are compiled, after {time.perf_counter() - started:.0f} s",
        quiet=quiet,
    )


def _use_every_entry(device: str, environments: tuple[str, ...], *, quiet: bool) -> None:
    """Run a small device untimed and in time, and take one step in each environment."""
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


_STYLES = {"ok": "green", "note": "yellow", "failed": "bold red"}

Status = Literal["ok", "note", "failed"]


@dataclass(frozen=True)
class CheckResult:
    """The outcome of one check; a *note* is a remark that stops nothing."""

    check: str
    status: Status
    message: str


def doctor(as_json: AsJson = False) -> None:
    """Check versions, the compiler and its cache, memory, cores, traces and environments.

    Exits with 1 if a check failed; notes are harmless.

    Examples:

        ssdgym doctor

        ssdgym doctor --json
    """
    results = check_all()
    if as_json:
        print_json([vars(result) for result in results])
    else:
        from rich.text import Text

        rows = [(one.check, Text(one.status, _STYLES[one.status]), one.message) for one in results]
        print_table(["check", "", "what was found"], [], rows)
    if any(result.status == "failed" for result in results):
        raise typer.Exit(1)


def check_all() -> list[CheckResult]:
    """Run every check, in the order in which problems are best looked at."""
    results: list[CheckResult] = []
    for check in _CHECKS:
        try:
            results.extend(check())
        except SsdgymError as error:
            results.append(CheckResult(check.__name__.strip("_"), "failed", str(error)))
        except Exception as error:  # noqa: BLE001  a broken installation can raise anything
            message = f"{type(error).__name__}: {error}; reinstall ssdgym"
            results.append(CheckResult(check.__name__.strip("_"), "failed", message))
    return results


def _python() -> Iterator[CheckResult]:
    """Compare the version of Python with those that the package is made for."""
    prefix = "Programming Language :: Python :: 3."
    classifiers = metadata.metadata("ssdgym").get_all("Classifier") or []
    tested = [int(text.removeprefix(prefix)) for text in classifiers if text.startswith(prefix)]
    fits = sys.version_info[1] in tested
    note = "" if fits else f"; tested are 3.{min(tested)} to 3.{max(tested)}"
    yield CheckResult("python", "ok" if fits else "note", platform.python_version() + note)


def _packages() -> Iterator[CheckResult]:
    """Compare what is installed with what the package, and learned agents, require."""
    from packaging.requirements import Requirement

    for requirement in map(Requirement, metadata.requires("ssdgym") or []):
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
            yield _package(requirement.name, requirement.specifier, optional=False)
        elif requirement.marker.evaluate({"extra": "agents"}):
            yield _package(requirement.name, requirement.specifier, optional=True)


def _package(name: str, required: SpecifierSet, *, optional: bool) -> CheckResult:
    try:
        version = metadata.version(name)
    except metadata.PackageNotFoundError:
        if optional:
            return CheckResult(
                name, "note", "not installed; learned agents need pip install 'ssdgym[agents]'"
            )
        return CheckResult(name, "failed", "not installed; pip install ssdgym brings it")
    if required.contains(version, prereleases=True):
        return CheckResult(name, "ok", version)
    return CheckResult(name, "note", f"{version}; required is {required}")


def _cache() -> Iterator[CheckResult]:
    from ssdgym.engine.compiler.cache import compile_cache_folder

    folder = compile_cache_folder()
    try:
        writable_folder(folder)
    except SsdgymError as error:
        message = f"{error}, or set SSDGYM_CACHE_DIR: without it every process compiles the engine anew"
        yield CheckResult("compile cache", "failed", message)
        return
    entries = sum(1 for _ in folder.glob("**/*.nbc"))
    yield CheckResult("compile cache", "ok", f"{folder} ({entries} compiled functions)")


def _compiler() -> Iterator[CheckResult]:
    """Compile and run a kernel of a few lines; the engine's own may take a minute or two."""
    from ssdgym.engine.core.kernel import helper

    started = time.perf_counter()
    total = helper(_sum_of_squares)(1_000)
    seconds = time.perf_counter() - started
    if total != _sum_of_squares(1_000):
        yield CheckResult("compiler", "failed", f"a compiled function returned {total}: reinstall numba")
    else:
        yield CheckResult("compiler", "ok", f"compiled and ran a function in {seconds:.2f} s")


def _sum_of_squares(n: int) -> int:
    total = 0
    for i in range(n):
        total += i * i
    return total


def _memory() -> Iterator[CheckResult]:
    free_bytes = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    all_bytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    enough = all_bytes >= 2 << 30
    message = f"{free_bytes / 2**30:.1f} of {all_bytes / 2**30:.1f} GiB unused"
    yield CheckResult(
        "memory", "ok" if enough else "note", message + ("" if enough else "; 2 GiB are advisable")
    )


def _cores() -> Iterator[CheckResult]:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    load = os.getloadavg()[0]
    busy = f"; load average {load:.1f}: measurements of speed will be off" if load > cores / 2 else ""
    yield CheckResult("cores", "note" if busy else "ok", f"{cores} usable{busy}")


def _torch_threads() -> Iterator[CheckResult]:
    try:
        torch = importlib.import_module("torch")
    except ModuleNotFoundError:
        return
    yield CheckResult("torch threads", "ok", f"{torch.get_num_threads()}; training sets its own number")


def _traces() -> Iterator[CheckResult]:
    folder = os.environ.get("SSDGYM_TRACES")
    if not folder:
        message = "SSDGYM_TRACES is not set; traces are found by their full paths only"
        yield CheckResult("traces", "note", message)
    elif not Path(folder).is_dir():
        yield CheckResult(
            "traces", "failed", f"SSDGYM_TRACES names {folder}, which is not a folder; correct it"
        )
    else:
        yield CheckResult("traces", "ok", f"{folder} ({sum(1 for _ in Path(folder).iterdir())} files)")


def _environments() -> Iterator[CheckResult]:
    import gymnasium

    importlib.import_module("ssdgym.envs")
    ours = sorted(name for name in gymnasium.registry if name.startswith("ssdgym/"))
    if ours:
        yield CheckResult("environments", "ok", ", ".join(ours))
    else:
        yield CheckResult("environments", "failed", "none is registered with Gymnasium: reinstall ssdgym")


_CHECKS: tuple[Callable[[], Iterator[CheckResult]], ...] = (
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
