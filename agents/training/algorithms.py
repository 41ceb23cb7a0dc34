"""The algorithms of Stable-Baselines3 as learners, masked DQN among them, saved as plain tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import Any, Protocol, cast

import numpy as np
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3 import DQN
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.buffers import DictReplayBuffer
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.noise import ActionNoise
from stable_baselines3.common.utils import LinearSchedule

from ssdgym.agents.features import FeatureNames
from ssdgym.agents.networks.policies import ScorerActorCriticPolicy, ScorerDQNPolicy, ScorerQNetwork
from ssdgym.agents.networks.scorer import CandidateScorer
from ssdgym.agents.training.config import TrainConfig, make_environment, thread_arguments
from ssdgym.agents.training.ppo.learner import FastPpo
from ssdgym.agents.training.stages import Segments, segment_seed
from ssdgym.envs.sb3 import SB3VecEnv
from ssdgym.types import Observation


class MaskedDQN(DQN):
    """`stable_baselines3.DQN` for observations with an `action_mask`.

    Random actions, in the warm-up and in epsilon-greedy exploration, are drawn uniformly from the valid ones;
    each environment of a batch throws its own coin, where Stable-Baselines3 throws one for all. The Q network
    masks what is greedy and what is bootstrapped (`ScorerDQNPolicy`). The arguments are those of
    `stable_baselines3.DQN`.
    """

    def predict(
        self,
        observation: Observation,  # type: ignore[override]
        state: tuple[np.ndarray, ...] | None = None,
        episode_start: np.ndarray | None = None,
        deterministic: bool = False,
    ) -> tuple[np.ndarray, tuple[np.ndarray, ...] | None]:
        """Choose epsilon-greedy actions.

        Args:
            observation: one, or a batch of n.
            state: not used.
            episode_start: not used.
            deterministic: choose greedily.

        Returns:
            Actions, (n,) for a batch, () for one observation, and the state.
        """
        actions, state = self.policy.predict(observation, state, episode_start, deterministic=True)
        if deterministic:
            return actions, state
        explore = np.random.random(np.shape(actions)) < self.exploration_rate  # noqa: NPY002 (SB3 seeds this one)
        return np.where(explore, random_valid_actions(observation["action_mask"]), actions), state

    def _sample_action(
        self, learning_starts: int, action_noise: ActionNoise | None = None, n_envs: int = 1
    ) -> tuple[np.ndarray, np.ndarray]:
        if self.num_timesteps >= learning_starts:
            return super()._sample_action(learning_starts, action_noise, n_envs)
        assert isinstance(self._last_obs, dict)
        actions = random_valid_actions(self._last_obs["action_mask"])
        return actions, actions


def random_valid_actions(mask: np.ndarray) -> np.ndarray:
    """Draw one valid action, uniformly, for every row of the mask, from numpy's global generator.

    Stable-Baselines3 draws from that generator, too, and seeds it (`set_random_seed`).

    Args:
        mask: (..., K), nonzero where valid; every row has a valid action.

    Returns:
        int64 array of shape (...).
    """
    keys = np.random.random(mask.shape)  # noqa: NPY002 (SB3 seeds this one)
    # the valid action with the largest key is uniform among the valid ones; no valid key is below 0
    return np.where(mask, keys, -1.0).argmax(axis=-1)


# what an algorithm counts beside its weights; the rest of its attributes follow from the configuration
_COUNTERS = {
    "ppo": ("num_timesteps", "_n_updates"),
    "dqn": ("num_timesteps", "_n_updates", "_n_calls", "_episode_num", "exploration_rate"),
}
_REPLAY_ARRAYS = ("actions", "rewards", "dones", "timeouts")
_REPLAY_OBSERVATIONS = ("observations", "next_observations")


class StableBaselinesLearner:
    """MaskablePPO or MaskedDQN; see `ssdgym.agents.training.algorithms.Learner`.

    Args:
        config: the training run.
        env: environments to learn in.
        features: names of the columns they observe.
    """

    def __init__(self, config: TrainConfig, env: SB3VecEnv, features: FeatureNames) -> None:
        self.config, self.env = config, env
        self.model = make_algorithm(config, env, features)

    @property
    def decisions(self) -> int:
        """Number of decisions learned from so far."""
        return self.model.num_timesteps

    @property
    def scorer(self) -> CandidateScorer:
        """The network that chooses."""
        return scorer_of(self.model)

    def set_logger(self, logger: Logger) -> None:
        """Write what is learned to a logger."""
        self.model.set_logger(logger)

    def set_linear_weights(self, weights: np.ndarray) -> None:
        """Set the weights (F,) of the linear part of the score, in the target network, too."""
        scorers = [self.scorer]
        if isinstance(self.model, MaskedDQN):
            assert isinstance(self.model.q_net_target, ScorerQNetwork)
            scorers.append(self.model.q_net_target.scorer)
        with torch.no_grad():
            for scorer in scorers:
                scorer.linear.weights.copy_(torch.as_tensor(weights))

    def state(self) -> dict[str, Any]:
        """Return weights, optimiser, counters and replay of the algorithm, as tensors and numbers."""
        model = self.model
        return {
            "policy": model.policy.state_dict(),
            "optimizer": model.policy.optimizer.state_dict(),
            "counters": {name: getattr(model, name) for name in _COUNTERS[self.config.algorithm]},
            "replay": _replay_state(cast(DictReplayBuffer, model.replay_buffer))
            if isinstance(model, MaskedDQN)
            else None,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a saved state."""
        model = self.model
        model.policy.load_state_dict(state["policy"])
        model.policy.optimizer.load_state_dict(state["optimizer"])
        for name in _COUNTERS[self.config.algorithm]:
            setattr(model, name, state["counters"][name])
        if isinstance(model, MaskedDQN):
            _restore_replay(cast(DictReplayBuffer, model.replay_buffer), state["replay"])

    def learn(self, segments: Segments, first_reward: float) -> None:
        """Learn to the end of the run.

        Args:
            segments: called between segments and after every step.
            first_reward: mean reward of the untrained agent, which is taken off.
        """
        self.env.reward_offset = -first_reward
        left = max(0, self.config.total_decisions - self.decisions)
        self._begin_segment()
        callback = _Callback(segments, self._begin_segment)
        self.model.learn(left, callback=callback, reset_num_timesteps=False)

    def _begin_segment(self) -> None:
        """Seed every generator again and begin new episodes."""
        model = self.model
        model.set_random_seed(segment_seed(self.config.seed, self.decisions))
        assert isinstance(model.env, SB3VecEnv)
        model._last_obs = model.env.reset()
        model._last_episode_starts = np.ones(model.n_envs, dtype=bool)


class _Callback(BaseCallback):
    """Updates the segments of a run with its progress.

    Args:
        segments: of the run.
        begin: begins the next segment.
    """

    def __init__(self, segments: Segments, begin: Callable[[], None]) -> None:
        super().__init__()
        self.segments, self.begin = segments, begin

    def _on_training_start(self) -> None:
        self.segments.start(self.model.num_timesteps)

    def _on_rollout_start(self) -> None:
        # here the update that belongs to the last rollout is done, and the next rollout has not looked yet
        if self.segments.end(self.model.num_timesteps):
            self.begin()

    def _on_step(self) -> bool:
        self.segments.on_step(self.model.num_timesteps)
        return True


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


class Learner(Protocol):
    """An algorithm with its network, between two segments of a run."""

    @property
    def decisions(self) -> int:
        """Number of decisions learned from so far, over all environments."""

    @property
    def scorer(self) -> CandidateScorer:
        """The network that chooses."""

    def set_logger(self, logger: Logger) -> None:
        """Write what is learned to a logger."""

    def set_linear_weights(self, weights: np.ndarray) -> None:
        """Set the weights (F,) of the linear part of the score."""

    def state(self) -> dict[str, Any]:
        """Return all that a resumed run needs, as tensors and numbers."""

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from what `state` returned for the same configuration."""

    def learn(self, segments: Segments, first_reward: float) -> None:
        """Learn until the decisions of the run have been taken.

        Every segment begins new episodes and seeds every generator again (`segment_seed`).

        Args:
            segments: updated at the start and with every step; they end the run between updates.
            first_reward: mean reward of a decision of the untrained agent.

        Raises:
            Enough: the run ends at a checkpoint.
        """


def make_learner(config: TrainConfig, env: SB3VecEnv, features: FeatureNames) -> Learner:
    """Make the untrained learner of a run, with all weights drawn from its seed.

    Args:
        config: the run.
        env: environments to learn in.
        features: names of the columns they observe.
    """
    if config.algorithm == "fast_ppo":
        return FastPpo(config, env.vector_env, features)
    return StableBaselinesLearner(config, env, features)


@contextmanager
def torch_threads(number: int) -> Iterator[None]:
    """Let torch use so many threads inside the block."""
    before = torch.get_num_threads()
    torch.set_num_threads(number)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def environments_of(config: TrainConfig) -> Iterator[tuple[SB3VecEnv, list[SB3VecEnv]]]:
    """Yield environments to learn in, and batches of them to evaluate in, closed at the end of the block."""
    evaluation = config.evaluation
    played = [{"workload": workload} for workload in evaluation.workloads] or [{}]
    kwargs = thread_arguments(config.environment.id, config.threads) | config.environment.kwargs
    environment = config.environment.model_copy(update={"kwargs": kwargs})
    with ExitStack() as stack:
        env = stack.enter_context(closing(make_environment(environment, config.n_envs)))
        batches = []
        for one in played:
            arguments = {**evaluation.kwargs, **one}
            batch = make_environment(environment, evaluation.episodes, **arguments)
            batches.append(stack.enter_context(closing(batch)))
        yield env, batches
