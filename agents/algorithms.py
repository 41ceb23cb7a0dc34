"""From a `TrainConfig` to a Stable-Baselines3 algorithm, and its state to and from plain tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.buffers import DictReplayBuffer
from stable_baselines3.common.utils import LinearSchedule

from ssdgym.agents.config import TrainConfig
from ssdgym.agents.dqn import MaskedDQN
from ssdgym.agents.features import FeatureNames
from ssdgym.agents.policies import ScorerActorCriticPolicy, ScorerDQNPolicy, ScorerQNetwork
from ssdgym.agents.scorer import CandidateScorer
from ssdgym.envs.sb3 import SB3VecEnv

# what an algorithm counts beside its weights; the rest of its attributes follow from the configuration
_COUNTERS = {
    "ppo": ("num_timesteps", "_n_updates"),
    "dqn": ("num_timesteps", "_n_updates", "_n_calls", "_episode_num", "exploration_rate"),
}
_REPLAY_ARRAYS = ("actions", "rewards", "dones", "timeouts")
_REPLAY_OBSERVATIONS = ("observations", "next_observations")


def make_algorithm(config: TrainConfig, env: SB3VecEnv, features: FeatureNames) -> BaseAlgorithm:
    """Make the untrained algorithm, with all weights drawn from `config.seed`.

    Args:
        config: the training run.
        env: environments to learn in.
        features: names of the columns they observe.
    """
    common: dict[str, Any] = {
        "env": env,
        "seed": config.seed,
        "device": config.device,
        "policy_kwargs": {
            "candidate_features": features.candidates,
            "context_features": features.context,
            "scorer": config.scorer,
        },
    }
    return _make_ppo(config, common) if config.algorithm == "ppo" else _make_dqn(config, common)


def scorer_of(model: BaseAlgorithm) -> CandidateScorer:
    """Return the network that chooses."""
    network = model.q_net if isinstance(model, MaskedDQN) else model.policy
    assert isinstance(network, (ScorerActorCriticPolicy, ScorerQNetwork))
    return network.scorer


def set_linear_weights(model: BaseAlgorithm, weights: np.ndarray) -> None:
    """Set the weights of the linear part of the score, in the target network, too.

    Args:
        model: the algorithm.
        weights: (F,), one for each candidate feature.
    """
    scorers = [scorer_of(model)]
    if isinstance(model, MaskedDQN):
        assert isinstance(model.q_net_target, ScorerQNetwork)
        scorers.append(model.q_net_target.scorer)
    with torch.no_grad():
        for scorer in scorers:
            scorer.linear.weights.copy_(torch.as_tensor(weights))


def state_of(model: BaseAlgorithm) -> dict[str, Any]:
    """Return weights, optimiser, counters and replay of the algorithm, as tensors and numbers."""
    return {
        "policy": model.policy.state_dict(),
        "optimizer": model.policy.optimizer.state_dict(),
        "counters": {name: getattr(model, name) for name in _COUNTERS[_kind(model)]},
        "replay": _replay_state(model.replay_buffer) if isinstance(model, MaskedDQN) else None,
    }


def restore_state(model: BaseAlgorithm, state: dict[str, Any]) -> None:
    """Continue from a saved state.

    Args:
        model: an algorithm of the same configuration.
        state: as `state_of` returned it.
    """
    model.policy.load_state_dict(state["policy"])
    model.policy.optimizer.load_state_dict(state["optimizer"])
    for name in _COUNTERS[_kind(model)]:
        setattr(model, name, state["counters"][name])
    if isinstance(model, MaskedDQN):
        _restore_replay(model.replay_buffer, state["replay"])


def begin_segment(model: BaseAlgorithm, seed: int) -> None:
    """Seed every generator again and begin new episodes.

    Both depend only on `seed` and the number of decisions so far. That is why a run that was stopped at a
    checkpoint and resumed equals one that went on: at a checkpoint, both do this.

    Args:
        model: the algorithm.
        seed: of the training run.
    """
    segment = np.random.SeedSequence([seed, model.num_timesteps]).generate_state(1)
    # 31 bits: the environments are seeded with this number and those after it
    model.set_random_seed(int(segment[0]) >> 1)
    assert isinstance(model.env, SB3VecEnv)
    model._last_obs = model.env.reset()
    model._last_episode_starts = np.ones(model.n_envs, dtype=bool)


def _make_ppo(config: TrainConfig, common: dict[str, Any]) -> MaskablePPO:
    ppo = config.ppo
    return MaskablePPO(
        ScorerActorCriticPolicy,
        n_steps=ppo.rollout_steps,
        batch_size=ppo.batch_decisions,
        n_epochs=ppo.epochs,
        learning_rate=LinearSchedule(ppo.learning_rate, 0.0, 1.0),
        gamma=ppo.gamma,
        gae_lambda=ppo.gae_lambda,
        clip_range=ppo.clip_range,
        ent_coef=ppo.entropy_coefficient,
        vf_coef=ppo.value_coefficient,
        max_grad_norm=ppo.max_gradient_norm,
        target_kl=ppo.target_kl,
        **common,
    )


def _make_dqn(config: TrainConfig, common: dict[str, Any]) -> MaskedDQN:
    dqn = config.dqn
    return MaskedDQN(
        ScorerDQNPolicy,
        buffer_size=dqn.buffer_decisions,
        learning_starts=dqn.warm_up_decisions,
        batch_size=dqn.batch_decisions,
        learning_rate=dqn.learning_rate,
        gamma=dqn.gamma,
        train_freq=dqn.train_every_steps,
        gradient_steps=dqn.gradient_steps,
        target_update_interval=dqn.target_update_decisions,
        exploration_fraction=dqn.exploration_fraction,
        exploration_initial_eps=dqn.exploration_initial,
        exploration_final_eps=dqn.exploration_final,
        max_grad_norm=dqn.max_gradient_norm,
        **common,
    )


def _kind(model: BaseAlgorithm) -> str:
    return "dqn" if isinstance(model, MaskedDQN) else "ppo"


def _replay_state(buffer: DictReplayBuffer) -> dict[str, Any]:
    filled = buffer.buffer_size if buffer.full else buffer.pos
    state: dict[str, Any] = {"pos": buffer.pos, "full": buffer.full}
    for name in _REPLAY_ARRAYS:
        state[name] = torch.from_numpy(getattr(buffer, name)[:filled])
    for name in _REPLAY_OBSERVATIONS:
        state[name] = {key: torch.from_numpy(array[:filled]) for key, array in getattr(buffer, name).items()}
    return state


def _restore_replay(buffer: DictReplayBuffer, state: dict[str, Any]) -> None:
    buffer.pos, buffer.full = state["pos"], state["full"]
    for name in _REPLAY_ARRAYS:
        getattr(buffer, name)[: len(state[name])] = state[name].numpy()
    for name in _REPLAY_OBSERVATIONS:
        for key, array in getattr(buffer, name).items():
            array[: len(state[name][key])] = state[name][key].numpy()
