"""Record the decisions that an agent takes in whole episodes."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from ssdgym.agents.features import FeatureNames
from ssdgym.agents.playing.episodes import play
from ssdgym.agents.playing.protocol import Agent
from ssdgym.envs.sb3 import SB3VecEnv
from ssdgym.types import Observation


@dataclass(frozen=True)
class Decisions:
    """Decisions that an agent took, D of them, in the order of time and of environments.

    Attributes:
        names: of the features.
        candidates: float32 (D, K, F).
        context: float32 (D, G).
        mask: bool (D, K), which candidates could be chosen.
        choices: int64 (D,), the agent's.
        proposed: int64 (D, P), where the pick of each of the environment's proposers stood, -1 for none.
    """

    names: FeatureNames
    candidates: np.ndarray
    context: np.ndarray
    mask: np.ndarray
    choices: np.ndarray
    proposed: np.ndarray

    def __len__(self) -> int:
        """Return the number of decisions."""
        return len(self.choices)

    def sample(self, count: int, seed: int = 0) -> Decisions:
        """Return some of the decisions, drawn without repeats, in their order.

        Args:
            count: how many; all if there are fewer.
            seed: of the draw.
        """
        kept = np.sort(np.random.default_rng(seed).permutation(len(self))[:count])
        return Decisions(self.names, **{name: getattr(self, name)[kept] for name in _ARRAYS})


_ARRAYS = [field.name for field in fields(Decisions)][1:]


def record(agent: Agent, env: SB3VecEnv, first_seed: int) -> tuple[Decisions, list[dict[str, Any]]]:
    """Play one whole episode in every environment, and keep all decisions, those of a warm-up included.

    Args:
        agent: takes the decisions.
        env: n environments that observe candidates.
        first_seed: seed of environment 0; environment i has `first_seed + i`.

    Returns:
        The decisions, and the metrics of each episode.

    Raises:
        SsdgymError: the environments do not observe candidates.
    """
    names = FeatureNames.of(env.vector_env)
    kept: dict[str, list[np.ndarray]] = {name: [] for name in _ARRAYS}
    nothing = np.empty((env.num_envs, 0), np.int64)

    def watch(
        observation: Observation, infos: dict[str, Any], actions: np.ndarray, counting: np.ndarray
    ) -> None:
        kept["candidates"].append(observation["candidates"][counting])
        kept["context"].append(observation["context"][counting])
        kept["mask"].append(observation["action_mask"][counting] != 0)
        kept["choices"].append(actions[counting].astype(np.int64))
        kept["proposed"].append(np.asarray(infos.get("proposed", nothing))[counting])

    episodes = play(agent, env, first_seed, watch)
    decisions = Decisions(names, **{name: np.concatenate(parts) for name, parts in kept.items()})
    return decisions, [episode["metrics"] for episode in episodes]
