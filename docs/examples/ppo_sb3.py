"""MaskablePPO of sb3-contrib with the set network of ssdgym: learn what to erase, from scratch.

Train with `python ppo_sb3.py --workload zipf99 --out masked.zip`; `ssdgym evaluate --agent masked.zip --trust
--agent random_action` measures the agent.
"""

from __future__ import annotations

import argparse
import csv
import time
from dataclasses import dataclass, fields
from pathlib import Path

import gymnasium as gym
import numpy as np
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback

import ssdgym  # noqa: F401  registers the environments
from ssdgym.agents.training.sb3 import ScorerActorCriticPolicy
from ssdgym.envs.sb3 import SB3VecEnv

#: Observed features: the update rate of a candidate's pages says whether waiting reclaims more pages.
FEATURES = ("default", "log_update_rate", "log_neighbour_rate")


@dataclass
class Args:
    """The settings of a run; each is an option of the command line."""

    workload: str = "zipf99"
    horizon: int = 65_536
    seed: int = 1
    cpu_seconds: float = 100.0  # CPU time of the process after which training ends
    total_timesteps: int = 0  # above 0: training ends after so many decisions, and repeats exactly
    num_envs: int = 64
    num_steps: int = 256
    learning_rate: float = 3e-3
    gamma: float = 0.998
    gae_lambda: float = 0.98
    out: str = "masked.zip"


class Budget(BaseCallback):
    """End training after a CPU time, let the learning rate fall to zero by then, and keep a table.

    It also shifts the mean of the rewards to zero as the agent improves, so that values stay small.
    """

    def __init__(self, args: Args) -> None:
        super().__init__()
        self.args = args
        self.rows: list[dict[str, float]] = []

    def _on_training_start(self) -> None:
        self.began = time.process_time()
        self.counted = self._counters()

    def _counters(self) -> tuple[np.ndarray, np.ndarray]:
        infos = self.training_env.last_infos
        return infos["host_pages_written"], infos["relocated_pages"]

    def _share(self) -> float:
        if self.args.total_timesteps:
            return self.num_timesteps / self.args.total_timesteps
        return (time.process_time() - self.began) / self.args.cpu_seconds

    def _on_rollout_start(self) -> None:
        self.model.lr_schedule = lambda _: self.args.learning_rate * max(0.0, 1 - self._share())

    def _on_rollout_end(self) -> None:
        self.training_env.reward_offset -= 0.1 * self.model.rollout_buffer.rewards.mean()
        now = self._counters()
        host, relocated = (new - old for new, old in zip(now, self.counted, strict=True))
        self.counted = now
        # counters restart with each episode, so a rollout in which an episode ends has no value
        known = host.min() > 0
        row = {"cpu_seconds": time.process_time() - self.began, "decisions": self.num_timesteps}
        self.rows.append(
            {**row, "write_amplification": 1 + relocated.sum() / host.sum() if known else np.nan}
        )

    def _on_step(self) -> bool:
        return bool(self.args.total_timesteps) or self._share() < 1

    def _on_training_end(self) -> None:
        self.model.lr_schedule = lambda _: (
            0.0
        )  # do not save the former schedule, which holds the environments

    def write(self, path: Path) -> None:
        """Write the table."""
        with path.open("w", newline="") as file:
            table = csv.DictWriter(file, list(self.rows[0]))
            table.writeheader()
            table.writerows(self.rows)


def train(args: Args) -> str:
    """Train and save the model; return the path of the zip file."""
    torch.set_num_threads(1)
    envs = gym.make_vec(
        "ssdgym/EraseVictim-v0",
        num_envs=args.num_envs,
        vectorization_mode="vector_entry_point",
        ftl={"timing": "none"},
        workload=args.workload,
        horizon=args.horizon,
        features=FEATURES,
    )
    env = SB3VecEnv(envs)
    model = MaskablePPO(
        ScorerActorCriticPolicy,
        env,
        n_steps=args.num_steps,
        batch_size=1024,
        n_epochs=2,
        learning_rate=args.learning_rate,
        gamma=args.gamma,
        gae_lambda=args.gae_lambda,
        seed=args.seed,
        device="cpu",
    )
    budget = Budget(args)
    model.learn(args.total_timesteps or 10**9, callback=budget)
    model.save(args.out)
    budget.write(Path(args.out).with_suffix(".csv"))
    return args.out


if __name__ == "__main__":
    parser = argparse.ArgumentParser(formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    for field in fields(Args):
        option = f"--{field.name.replace('_', '-')}"
        parser.add_argument(option, type=type(field.default), default=field.default)
    print(train(Args(**vars(parser.parse_args()))))
