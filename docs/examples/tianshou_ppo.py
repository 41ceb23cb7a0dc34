"""PPO of Tianshou 2, with invalid actions masked by the network.

Train with `python tianshou_ppo.py --decisions 100000`. The network is that of `ppo_cleanrl.py`.
"""

from __future__ import annotations

import argparse
from typing import Any

import gymnasium as gym
import torch
from ppo_cleanrl import SetNetwork
from tianshou.algorithm import PPO
from tianshou.algorithm.modelfree.reinforce import ProbabilisticActorPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv
from tianshou.trainer import OnPolicyTrainerParams
from torch.distributions import Categorical

import ssdgym  # noqa: F401  registers the environments


class WithoutInfo(gym.Wrapper):
    """A wrapper that drops infos: Tianshou's buffer cannot hold metrics that only an episode's end has."""

    def reset(self, **kwargs: Any) -> tuple[Any, dict[str, Any]]:
        """Begin an episode."""
        return self.env.reset(**kwargs)[0], {}

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Take a decision."""
        return *self.env.step(action)[:4], {}


class Scores(torch.nn.Module):
    """The logits of the network, for observations of Tianshou."""

    def __init__(self, network: SetNetwork) -> None:
        super().__init__()
        self.network = network

    def look(self, obs: Any) -> tuple[Categorical, torch.Tensor]:
        """Return the distribution and the values (n,) of observations."""
        candidates, context, mask = (
            torch.as_tensor(obs[key]) for key in ("candidates", "context", "action_mask")
        )
        return self.network(candidates, context, mask.bool())

    def forward(self, obs: Any, state: Any = None, info: Any = None) -> tuple[torch.Tensor, Any]:
        """Return logits (n, K), and the state unchanged, since the network has none."""
        return self.look(obs)[0].logits, state


class Values(Scores):
    """The values of the network."""

    def forward(self, obs: Any, **kwargs: Any) -> torch.Tensor:
        """Return values (n, 1)."""
        return self.look(obs)[1].unsqueeze(-1)


def main() -> None:
    """Train; after each update play an episode, and print the highest return so far."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--batch", type=int, default=8192)
    parser.add_argument("--decisions", type=int, default=100_000)
    parser.add_argument("--device", default="demo", help="device of ssdgym")
    parser.add_argument("--horizon", type=int, default=8192, help="host pages of an episode")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)

    def make() -> gym.Env:
        arguments = {"device": args.device, "ftl": {"timing": "none"}, "horizon": args.horizon}
        return WithoutInfo(gym.make("ssdgym/EraseVictim-v0", **arguments))

    envs = DummyVectorEnv([make] * 4)
    envs.seed(args.seed)
    env = make()
    space = env.observation_space
    shapes = space["candidates"].shape[1], space["context"].shape[0]
    policy = ProbabilisticActorPolicy(
        actor=Scores(SetNetwork(*shapes, 32)),
        dist_fn=lambda logits: Categorical(logits=logits),
        action_space=env.action_space,
        action_scaling=False,
        action_bound_method=None,
    )
    algorithm = PPO(
        policy=policy,
        critic=Values(SetNetwork(*shapes, 32)),
        optim=AdamOptimizerFactory(lr=1e-3),
        gamma=0.998,
        gae_lambda=0.98,
        ent_coef=0.0,
        max_grad_norm=0.5,
        max_batchsize=1024,
    )
    collector = Collector(algorithm, envs, VectorReplayBuffer(args.batch, len(envs)))
    found = algorithm.run_training(
        OnPolicyTrainerParams(
            training_collector=collector,
            test_collector=Collector(algorithm, DummyVectorEnv([make])),
            test_step_num_episodes=1,
            max_epochs=-(-args.decisions // args.batch),
            epoch_num_steps=args.batch,
            collection_step_num_env_steps=args.batch,
            update_step_num_repetitions=2,
            batch_size=1024,
            verbose=False,
            show_progress=False,
        )
    )
    print(f"{found.train_step} decisions, best return {found.best_reward:.2f}")


if __name__ == "__main__":
    main()
