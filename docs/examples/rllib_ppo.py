"""PPO of RLlib on a cluster of Ray, with invalid actions masked by the network.

Train with `python rllib_ppo.py --runners 2 --decisions 100000`. The network is that of `ppo_cleanrl.py`: the
same weights score every candidate; invalid candidates have probability 0, so no runner takes one and fails.
"""

from __future__ import annotations

import argparse
from typing import Any

import gymnasium as gym
import torch
from ppo_cleanrl import SetNetwork
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.apis.value_function_api import ValueFunctionAPI
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.core.rl_module.torch import TorchRLModule
from ray.tune.registry import register_env


class MaskedModule(TorchRLModule, ValueFunctionAPI):
    """Scores of the candidates, very low for invalid candidates, and the value of the state."""

    def setup(self) -> None:
        """Make the network for the spaces of the environment."""
        space = self.observation_space
        self.network = SetNetwork(space["candidates"].shape[1], space["context"].shape[0], 32)

    def _forward(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        return {Columns.ACTION_DIST_INPUTS: self._look(batch)[0].logits}

    def compute_values(self, batch: dict[str, Any], embeddings: Any = None) -> torch.Tensor:
        """Return the values (n,) of a batch of decisions."""
        return self._look(batch)[1]

    def _look(self, batch: dict[str, Any]) -> tuple[Any, torch.Tensor]:
        seen = batch[Columns.OBS]
        return self.network(seen["candidates"], seen["context"], seen["action_mask"].bool())


def make(arguments: dict[str, Any]) -> gym.Env:
    """Make the environment, in any process."""
    import ssdgym  # noqa: F401  registers the environments

    return gym.make("ssdgym/EraseVictim-v0", **arguments)


def config(runners: int, batch: int, **arguments: Any) -> PPOConfig:
    """Return the configuration of the algorithm.

    Args:
        runners: number of processes that play; 0: the learning process plays.
        batch: number of decisions between updates.
        arguments: arguments of the environment.
    """
    register_env("erase_victim", make)
    return (
        PPOConfig()
        .environment("erase_victim", env_config=arguments)
        .env_runners(num_env_runners=runners, num_envs_per_env_runner=4)
        .rl_module(rl_module_spec=RLModuleSpec(module_class=MaskedModule))
        .training(
            train_batch_size=batch,
            minibatch_size=min(1024, batch),
            num_epochs=2,
            lr=1e-3,
            gamma=0.998,
            lambda_=0.98,
        )
    )


def main() -> None:
    """Train, and print the mean return after each update."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runners", type=int, default=0)
    parser.add_argument("--batch", type=int, default=8192)
    parser.add_argument("--decisions", type=int, default=100_000)
    parser.add_argument("--device", default="demo", help="device of ssdgym")
    parser.add_argument("--horizon", type=int, default=8192, help="host pages of an episode")
    args = parser.parse_args()
    arguments = {"device": args.device, "ftl": {"timing": "none"}, "horizon": args.horizon}
    algorithm = config(args.runners, args.batch, **arguments).build_algo()
    taken = 0
    while taken < args.decisions:
        found = algorithm.train()["env_runners"]
        taken = found["num_env_steps_sampled_lifetime"]
        print(f"{taken:.0f} decisions, mean return {found['episode_return_mean']:.2f}", flush=True)
    algorithm.stop()


if __name__ == "__main__":
    main()
