"""PPO of TorchRL, with invalid actions masked by the network.

Train with `python torchrl_ppo.py --decisions 100000`. The network is that of `ppo_cleanrl.py`.
"""

from __future__ import annotations

import argparse

import gymnasium as gym
import torch
from ppo_cleanrl import SetNetwork
from tensordict.nn import TensorDictModule
from torch.distributions import Categorical
from torchrl.collectors import Collector
from torchrl.envs import GymWrapper, TransformedEnv
from torchrl.envs.transforms import ActionMask, Compose, InitTracker, RewardSum
from torchrl.modules import ProbabilisticActor, ValueOperator
from torchrl.objectives import ClipPPOLoss
from torchrl.objectives.value import GAE

import ssdgym  # noqa: F401  registers the environments

SEEN = ["candidates", "context", "action_mask"]


def make(**arguments: object) -> TransformedEnv:
    """Make the environment with transforms: random actions are valid, rewards are summed per episode."""
    env = GymWrapper(gym.make("ssdgym/EraseVictim-v0", **arguments), categorical_action_encoding=True)
    return TransformedEnv(env, Compose(ActionMask(), InitTracker(), RewardSum()))


class Scores(torch.nn.Module):
    """The logits of the network."""

    def __init__(self, network: SetNetwork) -> None:
        super().__init__()
        self.network = network

    def forward(self, candidates: torch.Tensor, context: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Return logits (n, K)."""
        return self.network(candidates, context, mask.bool())[0].logits


class Values(Scores):
    """The values of the network."""

    def forward(self, candidates: torch.Tensor, context: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Return values (n, 1)."""
        return self.network(candidates, context, mask.bool())[1].unsqueeze(-1)


def main() -> None:
    """Train, and print the mean return of the episodes that end between two updates."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--batch", type=int, default=8192)
    parser.add_argument("--decisions", type=int, default=100_000)
    parser.add_argument("--device", default="demo", help="device of ssdgym")
    parser.add_argument("--horizon", type=int, default=8192, help="host pages of an episode")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    env = make(device=args.device, ftl={"timing": "none"}, horizon=args.horizon)
    env.set_seed(args.seed)
    shapes = [env.observation_spec[key].shape[-1] for key in SEEN[:2]]
    actor = ProbabilisticActor(
        TensorDictModule(Scores(SetNetwork(*shapes, 32)), in_keys=SEEN, out_keys=["logits"]),
        in_keys=["logits"],
        spec=env.action_spec,
        distribution_class=Categorical,
        return_log_prob=True,
    )
    critic = ValueOperator(Values(SetNetwork(*shapes, 32)), in_keys=SEEN)
    advantage = GAE(gamma=0.998, lmbda=0.98, value_network=critic)
    loss = ClipPPOLoss(actor, critic, entropy_coeff=0.0, critic_coeff=0.5, normalize_advantage=True)
    optimizer = torch.optim.Adam(loss.parameters(), lr=1e-3)
    collector = Collector(env, actor, frames_per_batch=args.batch, total_frames=args.decisions)
    for number, data in enumerate(collector, 1):
        with torch.no_grad():
            advantage(data)
        for _ in range(2):
            for rows in torch.randperm(len(data)).split(1024):
                terms = loss(data[rows])
                sum(value for name, value in terms.items() if name.startswith("loss_")).backward()
                torch.nn.utils.clip_grad_norm_(loss.parameters(), 0.5)
                optimizer.step()
                optimizer.zero_grad()
        ended = data["next", "episode_reward"][data["next", "done"]]
        mean = f"{ended.mean():.2f}" if len(ended) else "of no episode yet"
        print(f"{number * args.batch} decisions, mean return {mean}", flush=True)
    collector.shutdown()


if __name__ == "__main__":
    main()
