"""Write a table of the returns of random actions, rules and stumps: `python sound_tasks.py`.

A task is sound if random actions are worse than its rule. A stump chooses the candidate with the largest or
smallest value of a feature, or one of two answers by a quartile of a feature of the context, both ways round.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

import ssdgym  # noqa: F401
from ssdgym.agents.playing.agents import RandomAction
from ssdgym.agents.playing.stumps import Stump
from ssdgym.registration import ENVIRONMENTS, tasks

TABLE = Path(__file__).parents[1] / "tables" / "sound.csv"
#: A function that chooses actions (n,) from the observation and infos of n environments.
Choose = Callable[[dict[str, np.ndarray], dict[str, Any]], np.ndarray]


@dataclass(frozen=True)
class Row:
    """The mean return of one player in an environment."""

    environment: str
    kind: str
    player: str
    value: float


def make(environment: str, episodes: int, **arguments: Any) -> Any:
    """Return a vector environment for one episode per seed."""
    how = {"vectorization_mode": "vector_entry_point", "autoreset_mode": "NextStep"}
    return gymnasium.make_vec(f"ssdgym/{environment}", num_envs=episodes, **how, **arguments)


def returns(env: Any, choose: Choose, seed: int = 300) -> np.ndarray:
    """Return the returns of one episode of each environment."""
    observation, info = env.reset(seed=seed)
    total, over = np.zeros(env.num_envs), np.zeros(env.num_envs, bool)
    while not over.all():
        observation, reward, terminated, truncated, info = env.step(choose(observation, info))
        total += np.where(over, 0.0, reward)
        over |= terminated | truncated
    return total


def agent(player: Any, seed: int = 0) -> Choose:
    """Return a function that returns the choices of an agent."""
    rng = np.random.default_rng(seed)
    return lambda observation, info: player.act(observation, observation["action_mask"] != 0, rng)


def proposer(number: int) -> Choose:
    """Return a function that returns a proposer's picks, or the first valid action without a pick."""

    def choose(observation: dict[str, np.ndarray], info: dict[str, Any]) -> np.ndarray:
        picks = np.asarray(info["proposed"])[:, number]
        return np.where(picks >= 0, picks, observation["action_mask"].argmax(1))

    return choose


def stumps(env: Any, context: np.ndarray) -> Iterator[tuple[str, float]]:
    """Yield features and thresholds, these at the quartiles of what was observed, (decisions, G)."""
    names = env.metadata["features"]
    for name in names["candidates"]:
        if not name.startswith("proposed_by_"):
            yield from ((sign + name, -np.inf) for sign in ("", "-"))
    for name, values in zip(names["context"], context.T, strict=True):
        for cut in np.unique(np.quantile(values, (0.25, 0.5, 0.75)).round(3)).tolist():
            yield from ((name, cut), (f"-{name}", -cut))


def play(environment: str, episodes: int, seconds: float, **arguments: Any) -> list[Row]:
    """Run all players; stop trying stumps after `seconds`."""
    env = make(environment, episodes, **arguments)
    seen: list[np.ndarray] = []

    def watched(observation: dict[str, np.ndarray], info: dict[str, Any]) -> np.ndarray:
        seen.append(observation["context"].copy())
        return random(observation, info)

    random = agent(RandomAction())
    rows = [Row(environment, "random", "random action", returns(env, watched).mean())]
    count = np.asarray(env.reset(seed=0)[1]["proposed"]).shape[1]
    for number, name in enumerate(env.metadata["proposers"] or [f"proposer {j}" for j in range(count)]):
        rows.append(Row(environment, "rule", name, returns(env, proposer(number)).mean()))
    began = time.monotonic()
    for feature, cut in stumps(env, np.concatenate(seen)):
        if time.monotonic() - began > seconds:
            break
        value = returns(env, agent(Stump(env, feature, cut=cut))).mean()
        given = f"feature={feature}" if cut == -np.inf else f"feature={feature}, cut={cut:g}"
        rows.append(Row(environment, "stump", f"stump({given})", value))
    env.close()
    return rows


def main() -> None:
    """Run all environments and write the best player of each kind."""
    parser = argparse.ArgumentParser()
    parser.add_argument("environments", nargs="*", default=[*ENVIRONMENTS, *tasks()])
    parser.add_argument("--episodes", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=600, help="for the stumps of an environment")
    parser.add_argument("--all", action="store_true", help="print every player, and write no table")
    given = parser.parse_args()
    lines = []
    for name in given.environments:
        rows = sorted(play(name, given.episodes, given.seconds), key=lambda row: -row.value)
        if given.all:
            for row in rows:
                print(f"{name:18} {row.value:12.2f} {row.kind:7} {row.player}", flush=True)
        best = {kind: next(row for row in rows if row.kind == kind) for kind in ("random", "rule", "stump")}
        cells = (f"{best[kind].value:,.1f} `{best[kind].player}`" for kind in ("rule", "stump"))
        lines.append((f"`{name}`", f"{best['random'].value:,.1f}", *cells))
    if not given.all:
        with TABLE.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(
                [("environment", "random action", "best rule proposed", "best stump"), *lines]
            )


if __name__ == "__main__":
    main()
