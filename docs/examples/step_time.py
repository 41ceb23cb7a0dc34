"""Measure and draw how a step's time is spent: `python step_time.py` writes `step.svg`.

It steps two environments on one thread: a single default environment, and 64 untimed devices of it.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

import ssdgym  # noqa: F401  registers the environments
from ssdgym.experiments.report.style import save_figure

ENVIRONMENT = "ssdgym/EraseVictim-v0"
DEVICES = 64
PARTS = (
    "to the next decision (compiled)",
    "describing it (compiled)",
    "drawing requests",
    "new episodes and metrics",
    "actions, copies, infos",
)


class Clock:
    """Sum the time that calls take."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def timed(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that calls `function` and measures its time."""

        def call(*arguments: Any) -> Any:
            began = time.perf_counter()
            result = function(*arguments)
            self.seconds += time.perf_counter() - began
            return result

        return call


def measure(env: Any, step: Callable[[], None], steps: int, decisions: int) -> dict[str, float]:
    """Return the microseconds per decision of each part.

    Args:
        env: the environment, with one batch of devices.
        step: function that takes a step, and begins a new episode when one ends.
        steps: number of steps.
        decisions: number of decisions of a step.
    """
    episodes = env.unwrapped.episodes
    ((batch, _),) = episodes.parts(episodes.all)
    compiled, feeding, beginning = Clock(), Clock(), Clock()
    batch._stepper.run = compiled.timed(batch._stepper.run)
    episodes._feed = feeding.timed(episodes._feed)
    episodes._begin, episodes.last_metrics = map(beginning.timed, (episodes._begin, episodes.last_metrics))
    for _ in range(steps // 5):
        step()
    for clock in (compiled, feeding, beginning):
        clock.seconds = 0.0
    began = time.perf_counter()
    for _ in range(steps):
        step()
    total = time.perf_counter() - began
    ran, fed, begun = compiled.seconds, feeding.seconds, beginning.seconds
    described = Clock()
    observe = described.timed(episodes.observe_again)
    for _ in range(1000):
        observe()
    describing = described.seconds * steps / 1000
    seconds = (ran - describing, describing, fed, begun, total - ran - fed - begun)
    return dict(zip(PARTS, (1e6 * each / steps / decisions for each in seconds), strict=True))


def single(steps: int) -> dict[str, float]:
    """Measure the default environment."""
    env = gymnasium.make(ENVIRONMENT, disable_env_checker=True)
    env.reset(seed=0)

    def step() -> None:
        if env.step(0)[3]:
            env.reset()

    return measure(env, step, steps, 1)


def vector(steps: int) -> dict[str, float]:
    """Measure many devices without time, on one thread."""
    env = gymnasium.make_vec(ENVIRONMENT, num_envs=DEVICES, ftl={"timing": "none"}, threads=1)
    env.reset(seed=0)
    actions = np.zeros(DEVICES, np.int64)
    return measure(env, lambda: env.step(actions) and None, steps, DEVICES)


def draw(measured: dict[str, dict[str, float]], path: Path) -> Path:
    """Draw a bar for each environment and return the file."""
    figure, axes = plt.subplots(figsize=(9, 2.6))
    labels = [f"{name}\n{sum(parts.values()):.1f} µs" for name, parts in measured.items()]
    left = np.zeros(len(measured))
    for part in PARTS:
        widths = np.array([parts[part] for parts in measured.values()])
        axes.barh(labels, widths, left=left, label=part)
        left += widths
    axes.invert_yaxis()
    axes.set_xlabel("µs per decision")
    axes.legend(ncols=2, loc="lower right", fontsize="small")
    figure.tight_layout()
    return save_figure(figure, path)


def main() -> None:
    """Measure, print and draw."""
    parser = argparse.ArgumentParser(formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--steps", type=int, default=20_000, help="of the environment by itself")
    parser.add_argument("--out", type=Path, default=Path("step.svg"))
    arguments = parser.parse_args()
    measured = {
        "one environment": single(arguments.steps),
        f"each of {DEVICES} devices": vector(arguments.steps // 10),
    }
    for name, parts in measured.items():
        for part, microseconds in parts.items():
            print(f"{name:24} {part:34} {microseconds:6.2f} us")
    print(draw(measured, arguments.out))


if __name__ == "__main__":
    main()
