"""MaskablePPO with its standard code, on the default rewards and features of an environment.

Train with `python sb3_stock.py --seed 1 --out agent.zip`, two minutes of one core;
`ssdgym evaluate --agent agent.zip --trust --agent random_action` measures the agent. Only the network and the
discount differ from the defaults of Stable-Baselines3.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass, fields
from typing import Any

import gymnasium as gym
import torch
from sb3_contrib import MaskablePPO

import ssdgym  # noqa: F401  registers the environments
from ssdgym.agents.training.sb3 import ScorerActorCriticPolicy
from ssdgym.envs.sb3 import SB3VecEnv


@dataclass
class Args:
    """The settings of a run; each is an option of the command line."""

    policy: str = "set"  # "set", or "flat" for the default network of Stable-Baselines3
    env_id: str = "ssdgym/EraseVictim-v0"
    workload: str = ""  # empty: the environment's default, zipf99 for EraseVictim-v0
    horizon: int = 8192  # host pages of an episode
    timing: str = ""  # empty: the device's default; "none" simulates no time and suffices for EraseVictim-v0
    seed: int = 1
    total_timesteps: int = 196_608
    num_envs: int = 8
    gamma: float = 0.998  # the cost of a choice appears hundreds of decisions later
    out: str = "agent.zip"


def make_model(args: Args, envs: gym.vector.VectorEnv) -> MaskablePPO:
    """Return the untrained algorithm."""
    common: dict[str, Any] = {"gamma": args.gamma, "seed": args.seed, "device": "cpu"}
    env = SB3VecEnv(envs)
    return MaskablePPO(
        "MultiInputPolicy" if args.policy == "flat" else ScorerActorCriticPolicy, env, **common
    )


def arguments(args: Args) -> dict[str, Any]:
    """Return the arguments of the environment; empty settings keep its defaults."""
    timing = args.timing or ("none" if args.env_id == Args.env_id else "")
    given = {"workload": args.workload, "ftl": timing and {"timing": timing}, "horizon": args.horizon}
    return {name: value for name, value in given.items() if value}


def train(args: Args) -> str:
    """Train and save the model; return the path of the zip file."""
    torch.set_num_threads(1)  # the network is small: more threads would only wait for each other
    envs = gym.make_vec(
        args.env_id,
        num_envs=args.num_envs,
        vectorization_mode="vector_entry_point",
        **arguments(args),
    )
    model = make_model(args, envs)
    began = time.process_time()
    model.learn(args.total_timesteps)
    model.save(args.out)
    envs.close()
    print(f"{model.num_timesteps} decisions in {time.process_time() - began:.0f} CPU seconds")
    return args.out


if __name__ == "__main__":
    parser = argparse.ArgumentParser(formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    for field in fields(Args):
        option = f"--{field.name.replace('_', '-')}"
        parser.add_argument(option, type=type(field.default), default=field.default)
    print(train(Args(**vars(parser.parse_args()))))
