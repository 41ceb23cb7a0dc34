"""Record episodes of heuristics and agents as Minari data sets, for offline learning."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import VectorEnv

import ssdgym
from ssdgym.agents.playing.agents import Behaviour, single
from ssdgym.agents.training.config import EnvironmentConfig
from ssdgym.errors import SsdgymError

if TYPE_CHECKING:
    from minari import MinariDataset

RANDOM = "random_action"


#: Mean returns of whole episodes, by the name of the behaviour; one of the names is `random_action`.
Scores = Mapping[str, float]


def play(env: VectorEnv, behaviour: Behaviour, seed: int) -> dict[str, Any]:
    """Play one episode in an environment of one device; return the fields of a Minari `EpisodeBuffer`."""
    rng = np.random.default_rng(seed)
    observation, info = env.reset(seed=seed)
    seen, shown, actions, rewards = [observation], [info], [], []
    over = False
    while not over:
        actions.append(behaviour(observation, info, rng))
        observation, reward, _, truncated, info = env.step(np.array(actions[-1:]))
        rewards.append(float(reward[0]))
        seen.append(observation)
        shown.append(info)
        over = bool(truncated[0])
    return {
        "seed": seed,
        "observations": {key: np.concatenate([one[key] for one in seen]) for key in observation},
        "actions": np.array(actions),
        "rewards": rewards,
        "terminations": [False] * len(rewards),
        "truncations": [False] * (len(rewards) - 1) + [True],
        "infos": {
            "proposed": np.concatenate([one["proposed"] for one in shown]),
            # Minari cannot load one-dimensional arrays.
            "host_pages": [int(one["host_pages"][0]) for one in shown],
        },
    }


def score(env: VectorEnv, behaviours: Mapping[str, Behaviour], seeds: Sequence[int]) -> Scores:
    """Return the mean return of each behaviour over the episodes of the given seeds."""
    return {
        name: float(np.mean([sum(play(env, behaviour, seed)["rewards"]) for seed in seeds]))
        for name, behaviour in behaviours.items()
    }


def record(
    dataset_id: str,
    environment: EnvironmentConfig,
    behaviours: Mapping[str, Behaviour],
    scores: Scores,
    seeds: Sequence[int],
    advance: Callable[[int, int], None] = lambda done, total: None,
) -> tuple[MinariDataset, dict[str, list[float]]]:
    """Play one episode per seed, with the behaviours in turn, and write a data set to Minari's folder.

    Args:
        dataset_id: name of the data set for Minari, `group/name-v0`.
        environment: the environment that is played.
        behaviours: functions that choose actions, by name.
        scores: mean returns, from which Minari normalises: random actions score 0, the best behaviour 1.
        seeds: seeds of the episodes, one each.
        advance: function to call with the number of episodes played, and the total.

    Returns:
        The data set, and the undiscounted returns of its episodes by behaviour.

    Raises:
        SsdgymError: Minari refuses the id or has that data set, or random actions have the highest score.
    """
    import minari
    from minari.data_collector.episode_buffer import EpisodeBuffer

    check_id(dataset_id)
    best = max(scores, key=lambda name: scores[name])
    if best == RANDOM:
        raise SsdgymError(
            "no policy has a higher mean return than random actions, so there are no reference scores; play "
            "more or longer episodes (--reference-episodes, --env-arg horizon=N) or other policies."
        )
    env, names = single(environment), list(behaviours)
    played = [names[k % len(names)] for k in range(len(seeds))]
    buffers = []
    for k, (name, seed) in enumerate(zip(played, seeds, strict=True)):
        buffers.append(EpisodeBuffer(id=k, **play(env, behaviours[name], seed)))
        advance(k + 1, len(seeds))
    spec = gym.make(environment.id, **environment.kwargs).spec
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*is set to None", category=UserWarning)
        dataset: MinariDataset = minari.create_dataset_from_buffers(
            dataset_id,
            buffers,
            env=spec,
            eval_env=spec,
            algorithm_name=", ".join(names),
            ref_min_score=scores[RANDOM],
            ref_max_score=scores[best],
            description=f"Episodes of {environment.id}; 1 is the score of {best}.",
            data_format="arrow",
            requirements=[f"ssdgym=={ssdgym.__version__}"],
        )
    returns = [float(sum(buffer.rewards)) for buffer in buffers]
    dataset.storage.update_episode_metadata([{"behaviour": name} for name in played])
    by_name = {name: [r for r, one in zip(returns, played, strict=True) if one == name] for name in names}
    return dataset, by_name


def check_id(dataset_id: str) -> None:
    """Raise SsdgymError if Minari refuses an id, or has a data set with that id."""
    from minari.dataset.minari_dataset import parse_dataset_id
    from minari.storage.datasets_root_dir import get_dataset_path

    try:
        parse_dataset_id(dataset_id)
    except (ValueError, TypeError):  # TypeError if the version is missing
        raise SsdgymError(
            f"data set {dataset_id}: is no id of Minari; write it as group/name-v0, with letters, digits, - "
            "and _."
        ) from None
    if get_dataset_path(dataset_id).exists():
        raise SsdgymError(
            f"data set {dataset_id}: is there already; give the next version, or remove it with "
            f"minari delete {dataset_id}."
        )
