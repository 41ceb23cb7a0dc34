"""Search for the linear part of the scorer before gradient learning: the cross-entropy method.

Policy search with it: Szita, Lorincz, "Learning Tetris using the noisy cross-entropy method", Neural
Computation 2006. What a choice of victim leads to shows only hundreds of decisions later, so a gradient per
decision is faint; whole episodes of the same seed compare two rules clearly, and a linear rule has few enough
weights to be found that way.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ssdgym.agents.networks import MASKED_SCORE
from ssdgym.agents.training.config import CrossEntropyConfig
from ssdgym.envs.sb3 import SB3VecEnv
from ssdgym.types import Observation

_SCALING_STEPS = 64
_NOISE = 0.2
_SEEDS = 2**31 - 1


def search_weights(
    env: SB3VecEnv,
    start: np.ndarray,
    config: CrossEntropyConfig,
    seed: int,
    report: Callable[[int], None] = lambda generation: None,
) -> tuple[np.ndarray, int]:
    """Search for weights of the linear score that do well over whole episodes.

    All environments play the episode of one seed, each with weights of its own; the best of them give the
    mean and the spread of the next generation. Each generation has another seed.

    Args:
        env: n environments, one for each member of a generation.
        start: (F,) weights to begin at.
        config: generations, elite and spread.
        seed: of everything random here.
        report: called with the number of generations done.

    Returns:
        (F,) float64, the mean after the last generation, scaled to the length of `start`; and the decisions
        that the search has taken.
    """
    rng = np.random.default_rng([seed, 0xCE])
    mean = start.astype(np.float64)
    initial = config.initial_spread * _influence(env, mean, int(rng.integers(_SEEDS)))
    spread, decisions = initial, _SCALING_STEPS * env.num_envs
    elite = max(2, round(config.elite_share * env.num_envs))
    for generation in range(config.generations):
        members = mean + spread * rng.standard_normal((env.num_envs, len(mean)))
        members[0] = mean
        returns, taken = _play(env, members, int(rng.integers(_SEEDS)))
        decisions += taken
        best = members[np.argsort(-returns, kind="stable")[:elite]]
        # the noise, which falls to nothing, keeps an unlucky elite from ending the search too soon
        noise = _NOISE * (1 - (generation + 1) / config.generations) * initial
        mean, spread = best.mean(axis=0), np.hypot(best.std(axis=0), noise)
        report(generation + 1)
    length = np.linalg.norm(mean)
    if start.any() and length > 0:
        mean = mean * (np.linalg.norm(start) / length)
    return mean, decisions


def _play(env: SB3VecEnv, members: np.ndarray, seed: int) -> tuple[np.ndarray, int]:
    """Play the episode of a seed in every environment, each with its own weights.

    Returns:
        The returns (n,), and the decisions of all environments up to the end of the last episode.
    """
    observation = _reset_alike(env, seed)
    returns = np.zeros(env.num_envs)
    running = np.ones(env.num_envs, dtype=bool)
    decisions = 0
    while running.any():
        decisions += env.num_envs
        actions = _choose(observation, members)
        observation, rewards, terminated, truncated, _ = env.vector_env.step(actions)
        returns[running] += rewards[running]
        running &= ~(terminated | truncated)
    return returns, decisions


def _reset_alike(env: SB3VecEnv, seed: int) -> Observation:
    """Begin the same episode in every environment."""
    # Gymnasium types the seed as one number, but takes one per environment, too
    observation, _ = env.vector_env.reset(seed=[seed] * env.num_envs)  # type: ignore[arg-type]
    return observation


def _choose(observation: Observation, members: np.ndarray) -> np.ndarray:
    scores = np.einsum("nkf,nf->nk", observation["candidates"], members)
    return np.where(observation["action_mask"], scores, MASKED_SCORE).argmax(axis=1)


def _influence(env: SB3VecEnv, mean: np.ndarray, seed: int) -> np.ndarray:
    """Return the change (F,) of each weight that moves scores as much as they differ in a decision.

    Features that are the same for all candidates get 0: their weights would change nothing.
    """
    observation = _reset_alike(env, seed)
    members = np.tile(mean, (env.num_envs, 1))
    deviations = []
    for _ in range(_SCALING_STEPS):
        valid = observation["action_mask"] != 0
        candidates = np.where(valid[..., np.newaxis], observation["candidates"], np.nan)
        deviations.append((candidates - np.nanmean(candidates, axis=1, keepdims=True))[valid])
        observation, *_ = env.vector_env.step(_choose(observation, members))
    deviation = np.concatenate(deviations)
    features = deviation.std(axis=0)
    scores = (deviation @ mean).std() if mean.any() else 1.0
    return np.divide(scores, features, out=np.zeros_like(mean), where=features > 1e-6)
