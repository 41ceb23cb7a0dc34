"""`ssdgym warmup`: compile beforehand what runs and environments need."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from ssdgym.cli.console import compile_note, progress_note


def warmup(
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing.")] = False,
) -> None:
    """Compile the engine and the environments, so that nothing waits for it later.

    What is compiled is kept for all checkouts and environments of this version on the machine.

    Examples:

        ssdgym warmup
    """
    compile_note(quiet=quiet)
    started = time.perf_counter()
    _use_every_entry()
    progress_note(
        f"the engine and the environments are compiled, after {time.perf_counter() - started:.0f} s",
        quiet=quiet,
    )


def _use_every_entry() -> None:
    """Run a small device untimed and in time, and take one step in each kind of environment."""
    import gymnasium as gym

    from ssdgym.simulator import Simulator

    for timing in ("none", "event"):
        Simulator("tiny", policy="greedy", ftl={"timing": timing}).run("uniform", host_pages=2_000)
    for name in [name for name in gym.registry if name.startswith("ssdgym/")]:
        env = gym.make(name)
        env.reset(seed=0)
        env.step(int(env.unwrapped.action_masks().argmax()))  # type: ignore[attr-defined]
        env.close()
