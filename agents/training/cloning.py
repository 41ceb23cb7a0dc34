"""Clone a policy: train a network to choose as the policy does, before CMA-ES or PPO improve it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from gymnasium.vector import VectorEnv
from torch import Tensor, nn
from torch.nn.functional import nll_loss

from ssdgym.agents.networks import CandidateScorer
from ssdgym.agents.playing.files import source_of
from ssdgym.agents.training.config import FIRST_PROPOSER, PriorConfig
from ssdgym.agents.training.ppo import Collector
from ssdgym.errors import SsdgymError
from ssdgym.types import Observation

#: Decisions per environment in a rollout, decisions per gradient step, and passes over a rollout.
_STEPS = 64
_BATCH = 256
_EPOCHS = 4
#: Steps of the bisection that finds the factor by which all scores are multiplied.
_HALVINGS = 30
#: The value in `info["proposed"]` if the policy picks none of the candidates.
_NONE = -1


def clone(
    scorer: CandidateScorer,
    env: VectorEnv,
    prior: PriorConfig,
    seed: int,
    report: Callable[[int], None] = lambda decisions: None,
) -> tuple[int, float]:
    """Train a scorer to imitate a named policy in the environment.

    The policy plays every second environment, and the network plays the others. So the network also learns
    the policy's choices in states that its own mistakes lead to (Ross, Gordon, Bagnell, AISTATS 2011).

    `report` is called after each rollout with the number of decisions so far. The scorer changes in place.

    Returns:
        The number of decisions, `prior.clone_decisions` rounded up to whole rollouts, and the share of the
        last rollout's decisions in which the policy picks the candidate that the network scores highest.

    Raises:
        SsdgymError: the environment does not show the policy's choices (`info["proposed"]`).
    """
    teach = _teacher(env, prior)
    generator = torch.Generator().manual_seed(seed)
    collector = Collector(env, scorer, _STEPS)
    collector.begin(seed)
    optimizer = torch.optim.Adam(scorer.parameters(), lr=prior.clone_learning_rate)
    decisions, agreement = 0, 0.0
    while decisions < prior.clone_decisions:
        optimizer.param_groups[0]["lr"] = prior.clone_learning_rate * (1 - decisions / prior.clone_decisions)
        labels: list[np.ndarray] = []

        def choose(
            drawn: np.ndarray,
            observation: Observation,
            infos: dict[str, Any],
            labels: list[np.ndarray] = labels,
        ) -> np.ndarray:
            picks = teach(observation, infos)
            labels.append(picks)
            played = (np.arange(len(picks)) % 2 == 0) & (picks != _NONE)
            return np.where(played, picks, drawn)

        rollout = collector.collect(generator, choose)
        picks = torch.from_numpy(np.concatenate(labels))
        known = picks != _NONE
        agreement = float((rollout.scores.argmax(1) == picks)[known].float().mean())
        for _ in range(_EPOCHS):
            for rows in torch.randperm(len(picks), generator=generator).split(_BATCH):
                logs = scorer(*rollout.decisions.take(rows)).log_softmax(1)
                loss = nll_loss(logs, picks[rows], ignore_index=_NONE, reduction="sum")
                optimizer.zero_grad()
                (loss / known[rows].sum().clamp(min=1)).backward()
                nn.utils.clip_grad_norm_(scorer.parameters(), 1.0)
                optimizer.step()
        decisions += len(picks)
        report(decisions)
    with torch.no_grad():
        _soften(scorer, scorer(*rollout.decisions), prior.clone_confidence)
    return decisions, agreement


def _soften(scorer: CandidateScorer, scores: Tensor, confidence: float) -> None:
    """Scale all scores down until the mean of the decisions' largest probabilities is at most a bound.

    If one candidate has a probability of almost 1, PPO never tries another candidate and learns nothing.

    Args:
        scorer: network whose scores are multiplied.
        scores: scores (B, K) of the decisions over which the mean is taken.
        confidence: the bound, between 0 and 1.
    """
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        factor = (low + high) / 2
        sure = (factor * scores).softmax(1).amax(1).mean() > confidence
        low, high = (low, factor) if sure else (factor, high)
    scorer.linear.log_sharpness += math.log(high)
    scorer.score_layer.weight *= high
    scorer.score_layer.bias *= high


def first_picks(proposed: np.ndarray) -> np.ndarray:
    """Return the first pick in each row of `info["proposed"]`, (n, proposers); -1 in rows without a pick."""
    return proposed[np.arange(len(proposed)), (proposed != _NONE).argmax(axis=1)]


#: Returns the policy's actions from observation and infos: int64 (N,), -1 where it picks no candidate.
Teacher = Callable[[Observation, dict[str, Any]], np.ndarray]


def _teacher(env: VectorEnv, prior: PriorConfig) -> Teacher:
    """Return the policy to clone: a proposer, the first proposer with a pick, or a `stump`."""
    policy = str(prior.policy)
    if policy.startswith("stump("):
        rule, rng = source_of(policy).build(env), np.random.default_rng(0)
        return lambda observation, infos: rule.act(observation, observation["action_mask"] != 0, rng)
    proposers = tuple(env.metadata.get("proposers", ()))
    columns = slice(None)
    if policy in proposers:
        columns = slice(proposers.index(policy), proposers.index(policy) + 1)
    elif policy != FIRST_PROPOSER or "proposers" not in env.metadata:
        proposals = f"proposes {', '.join(proposers)}" if proposers else "shows no policy's choice by name"
        raise SsdgymError(
            f"prior.policy: {policy!r} cannot be cloned, since the environment {proposals}; "
            f"name it in environment.kwargs.proposers, or set policy to {FIRST_PROPOSER} or stump(...)."
        )
    return lambda observation, infos: first_picks(infos["proposed"][:, columns]).astype(np.int64)
