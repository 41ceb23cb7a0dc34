"""Learn where to write, from scratch, by whole episodes: the cross-entropy method in one file.

Train with `python search_placement.py --workload zipf99 --out placement.npz`; in the same folder,
`ssdgym evaluate --agent "search_placement:load(path=placement.npz)" --trust --environment ssdgym/Placement-v0
--device demo-placement --policy "cost_benefit(since_close=1)"` measures the agent.

What it takes to learn here is in the comments that begin with "Here". The page "Learning with ssdgym" has
what comes out.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import gymnasium as gym
import numpy as np

import ssdgym  # noqa: F401  registers the environments


@dataclass
class Args:
    """The settings of a run; each is an option of the command line."""

    workload: str = "zipf99"
    device: str = "demo-placement"
    streams: int = 4
    warmup: int = 4096  # host pages of an episode before it counts
    horizon: int = 8192  # Here: one overwrite of the device, so that blocks that were filled are collected
    seed: int = 1
    cpu_seconds: float = 300.0  # ends after so much CPU time of the process
    generations: int = 0  # if given, after so many instead: then a seed repeats every bit
    members: int = 64  # rules that are tried side by side, each in an environment of its own
    elite: int = 12  # of them make the next generation
    spread: float = 0.5  # of the weights in the first generation
    noise: float = 0.1  # added to the spread, less and less, against an unlucky elite
    out: str = "placement.npz"


class Rule:
    """A linear guess of how cold a page is, one for pages of the host and one for relocated ones.

    Here: what goes to one stream should die together. One number along which pages are sorted, cut into as
    many pieces as there are streams, has few enough weights to be found by whole episodes. A gradient for
    each decision is faint: what one page does to the write amplification shows thousands of decisions later.

    Args:
        weights: (n, 2, G + 1) for n environments: host or relocated, entries of the context and a constant.
        mean: (G,) of the context, taken off before.
        deviation: (G,), what it is divided by.
        names: of the G entries.
        streams: how many there are.
        observed: names of the entries that the environment has; those in `names` if None.
    """

    def __init__(
        self,
        weights: np.ndarray,
        mean: np.ndarray,
        deviation: np.ndarray,
        names: Sequence[str],
        streams: int,
        observed: Sequence[str] | None = None,
    ) -> None:
        self.weights, self.mean, self.deviation, self.streams = weights, mean, deviation, streams
        self.places = [list(observed or names).index(name) for name in names]
        self.relocated = list(names).index("page_relocated")

    def act(self, observation: dict[str, np.ndarray], mask: np.ndarray, rng: object = None) -> np.ndarray:
        """Return the streams int64 (n,); what `ssdgym evaluate --agent` plays."""
        context = observation["context"][:, self.places]
        which = (context[:, self.relocated] > 0.5).astype(np.int64)
        weights = np.broadcast_to(self.weights, (len(context), *self.weights.shape[1:]))
        weights = weights[np.arange(len(context)), which]
        scaled = (context - self.mean) / self.deviation
        cold = np.einsum("ng,ng->n", scaled, weights[:, :-1]) + weights[:, -1]
        return np.clip(np.rint((cold + 1) / 2 * (self.streams - 1)), 0, self.streams - 1).astype(np.int64)


def load(path: str, env: gym.vector.VectorEnv | None = None) -> Rule:
    """Load what `train` saved, to play in an environment that may observe more, such as one in time."""
    observed = None if env is None else env.metadata["features"]["context"]
    with np.load(path) as saved:
        kept = {name: saved[name] for name in saved.files}
    return Rule(
        kept["weights"],
        kept["mean"],
        kept["deviation"],
        kept["names"].tolist(),
        int(kept["streams"]),
        observed,
    )


def train(args: Args) -> Path:
    """Search, and write the weights; return their file."""
    envs = gym.make_vec(
        "ssdgym/Placement-v0",
        num_envs=args.members,
        vectorization_mode="vector_entry_point",
        device=args.device,
        ftl={"timing": "none"},
        workload=args.workload,
        streams=args.streams,
        warmup=args.warmup,
        horizon=args.horizon,
        reward="plain",  # Here: its sum is minus the pages relocated, which is what counts
        autoreset_mode="NextStep",
        copy=False,
    )
    rng = np.random.default_rng(args.seed)
    names = envs.metadata["features"]["context"]
    seen = _look_around(envs, rng)
    mean, deviation = seen.mean(0), np.maximum(seen.std(0), 1e-3)
    centre = np.zeros((2, len(names) + 1))
    spread = np.full(centre.shape, args.spread)
    began, generation, share = time.process_time(), 0, 0.0
    while share < 1:
        members = centre + spread * rng.standard_normal((args.members, *centre.shape))
        members[0] = centre
        # Here: all play the episode of one seed, so that they differ by their rules and by nothing else.
        returns, decisions = play(
            envs, Rule(members, mean, deviation, names, args.streams), int(rng.integers(2**31))
        )
        best = members[np.argsort(-returns, kind="stable")[: args.elite]]
        generation += 1
        seconds = time.process_time() - began
        share = generation / args.generations if args.generations else seconds / args.cpu_seconds
        centre = best.mean(0)
        spread = np.hypot(best.std(0), args.noise * max(0.0, 1 - share))
        found = 1 - returns * envs.envs[0].episodes.devices[0].geometry.pages_per_block / args.horizon
        print(
            f"generation {generation} cpu_seconds {seconds:.1f} decisions {decisions} write amplification: "
            f"centre {found[0]:.3f} mean {found.mean():.3f} best {found.min():.3f}",
            flush=True,
        )
    envs.close()
    path = Path(args.out)
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez(path, weights=centre[None], mean=mean, deviation=deviation, names=names, streams=args.streams)
    return path


def play(envs: gym.vector.VectorEnv, rule: Rule, seed: int) -> tuple[np.ndarray, int]:
    """Play the episode of a seed in every environment; return the returns (n,) and the decisions taken."""
    observation, _ = envs.reset(seed=[seed] * envs.num_envs)
    returns, running, steps = np.zeros(envs.num_envs), np.ones(envs.num_envs, bool), 0
    while running.any():
        actions = rule.act(observation, observation["action_mask"])
        observation, rewards, _, truncated, _ = envs.step(actions)
        returns += np.where(running, rewards, 0.0)
        running &= ~truncated
        steps += 1
    return returns, steps * envs.num_envs


def _look_around(envs: gym.vector.VectorEnv, rng: np.random.Generator) -> np.ndarray:
    """Return the contexts of some decisions, taken as the device's own placement takes them, (m, G)."""
    _, info = envs.reset(seed=int(rng.integers(2**31)))
    seen = []
    for _ in range(64):
        observation, _, _, _, info = envs.step(info["proposed"][:, 0])
        seen.append(observation["context"].copy())
    return np.concatenate(seen)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    for field in fields(Args):
        option = f"--{field.name.replace('_', '-')}"
        parser.add_argument(option, type=type(field.default), default=field.default)
    print(train(Args(**vars(parser.parse_args()))))
