"""`ssdgym warmup`: compile beforehand what runs and environments need."""

from __future__ import annotations

import os
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Annotated

import typer

from ssdgym.cli.console import compile_note, progress_note

#: For each FTL family, the longest compile first: a small device of it, and its environments.
_FAMILIES = (
    ("tiny", ("EraseVictim-v0", "ParallelErase-v0", "Placement-v0", "JointGC-v0", "BackgroundGC-v0")),
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
