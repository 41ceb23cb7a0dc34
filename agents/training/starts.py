"""What PPO begins with: linear weights found by whole episodes, or a clone of a policy."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from gymnasium.vector import VectorEnv
from torch import Tensor

from ssdgym.agents.networks import MASKED_SCORE, CandidateScorer
from ssdgym.agents.training.config import FIRST_PROPOSER, CrossEntropyConfig, PriorConfig
from ssdgym.agents.training.ppo_network import Minibatch, Network
from ssdgym.agents.training.ppo_rollout import Collector
from ssdgym.envs.sb3 import SB3VecEnv
from ssdgym.errors import SsdgymError
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
    """Search for weights of the linear score that do well over whole episodes: the cross-entropy method.

    Policy search with it: Szita, Lorincz, "Learning Tetris using the noisy cross-entropy method", Neural
    Computation 2006. What a choice of victim leads to shows only hundreds of decisions later, so a gradient
    per decision is faint; whole episodes of the same seed compare two rules clearly, and a linear rule has
    few enough weights to be found that way.

    All environments play the episode of one seed, each with weights of its own; the best of them give the
    mean and the spread of the next generation. Each generation has another seed.

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
    """Play the episode of a seed with the weights of each member; return returns (n,) and decisions."""
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


#: Decisions of each environment between gradient steps, and of each of these steps.
_STEPS = 64
_BATCH = 256
_EPOCHS = 4
#: Steps of the bisection for the factor of all scores.
_HALVINGS = 30
#: What `info["proposed"]` has where the policy proposes none of the candidates.
_NONE = -1


def clone(
    network: Network,
    env: VectorEnv,
    prior: PriorConfig,
    seed: int,
    report: Callable[[int], None] = lambda decisions: None,
) -> tuple[int, float]:
    """Teach a scorer what a policy by name chooses in the environment.

    The policy plays every second environment and the network, as far as it is, the others: so it also learns
    what the policy would do where mistakes of its own lead (Ross, Gordon, Bagnell, AISTATS 2011).

    Returns:
        The decisions taken, rounded up to a whole rollout, and the share of those of the last rollout in
        which the network chooses what the policy does.

    Raises:
        SsdgymError: the environment does not propose what the policy would do.
    """
    columns = _columns(env, prior)
    generator = torch.Generator().manual_seed(seed)
    collector = Collector(env, network, _STEPS)
    collector.begin(seed)
    optimizer = torch.optim.Adam([network.parameters], lr=prior.clone_learning_rate)
    decisions, agreement = 0, 0.0
    while decisions < prior.clone_decisions:
        optimizer.param_groups[0]["lr"] = prior.clone_learning_rate * (1 - decisions / prior.clone_decisions)
        labels: list[np.ndarray] = []

        def choose(drawn: np.ndarray, infos: dict[str, Any], labels: list[np.ndarray] = labels) -> np.ndarray:
            picks = first_picks(infos["proposed"][:, columns]).astype(np.int64)
            labels.append(picks)
            played = (np.arange(len(picks)) % 2 == 0) & (picks != _NONE)
            return np.where(played, picks, drawn)

        rollout = collector.collect(generator, choose)
        picks = torch.from_numpy(np.concatenate(labels))
        known = picks != _NONE
        agreement = float((rollout.scores.argmax(1) == picks)[known].float().mean())
        for _ in range(_EPOCHS):
            for rows in torch.randperm(len(picks), generator=generator).split(_BATCH):
                _imitate(network, rollout.decisions.take(rows, network.arrays), picks[rows])
                network.clip(1.0)
                optimizer.step()
        decisions += len(picks)
        report(decisions)
    network.refresh()
    last = rollout.decisions.whole(network.arrays)
    _soften(network.scorer, network.actor.scores(last), prior.clone_confidence)
    return decisions, agreement


def _imitate(network: Network, decisions: Minibatch, picks: Tensor) -> None:
    """Write the gradient of the cross-entropy of picks, int64 (B,), to a network, less `_NONE`."""
    network.refresh()
    with torch.no_grad():
        known = picks != _NONE
        of_scores = network.actor.scores(decisions).softmax(0)
        of_scores.scatter_add_(0, picks.clamp(min=0).unsqueeze(0), torch.full((1, len(picks)), -1.0))
        network.actor.backward(decisions, of_scores * known / known.sum().clamp(min=1))
        network.finish()


def _soften(scorer: CandidateScorer, scores: Tensor, confidence: float) -> None:
    """Shrink all scores alike until the best candidates are drawn with a probability at most, on average.

    What a network is sure of, PPO never tries otherwise, and the surer it is the less it learns.
    """
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        factor = (low + high) / 2
        sure = (factor * scores).softmax(0).amax(0).mean() > confidence
        low, high = (low, factor) if sure else (factor, high)
    with torch.no_grad():
        scorer.linear.log_sharpness += math.log(high)
        scorer.score_layer.weight *= high
        scorer.score_layer.bias *= high


def first_picks(proposed: np.ndarray) -> np.ndarray:
    """Return the first pick of each row of `info["proposed"]`, (n, proposers); -1 in rows without one."""
    return proposed[np.arange(len(proposed)), (proposed != _NONE).argmax(axis=1)]


def _columns(env: VectorEnv, prior: PriorConfig) -> slice:
    """Return the places of the policy among the proposers of the environment."""
    proposers = tuple(env.metadata.get("proposers", ()))
    if prior.policy == FIRST_PROPOSER and "proposers" in env.metadata:
        return slice(None)
    if prior.policy not in proposers:
        proposals = f"proposes {', '.join(proposers)}" if proposers else "shows no policy's choice by name"
        raise SsdgymError(
            f"fast_ppo.prior.policy: {prior.policy!r} cannot be cloned, since the environment {proposals}; "
            f"name it in environment.kwargs.proposers, or set policy to {FIRST_PROPOSER}."
        )
    place = proposers.index(prior.policy)
    return slice(place, place + 1)
