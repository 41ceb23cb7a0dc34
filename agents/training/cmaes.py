"""Search the weights of the candidate scorer by CMA-ES, for any environment with candidates.

CMA-ES is covariance matrix adaptation (Hansen, Ostermeier, 2001), from the package `cmaes`. In each
*generation* it draws *members*, which are weight vectors. The cost of a decision may appear long after the
decision, so the search compares the members' returns of whole episodes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from cmaes import CMA
from gymnasium.vector import VectorEnv
from stable_baselines3.common.logger import Logger
from torch.func import functional_call, vmap
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from ssdgym.agents.card import WITHOUT_EFFECT
from ssdgym.agents.features import FeatureNames
from ssdgym.agents.networks import CandidateScorer
from ssdgym.agents.training.config import TrainConfig
from ssdgym.agents.training.stages import segment_seed

#: Attributes of `CMA` that are arrays of its state.
_ARRAYS = ("_mean", "_C", "_p_sigma", "_pc")


def fitness_of(returns: np.ndarray, standardised: bool) -> np.ndarray:
    """Return the mean return of each member, (members,), from returns (members, episodes).

    If `standardised`, each episode's returns are first scaled to mean 0 and deviation 1 over the members.
    """
    if standardised:
        returns = (returns - returns.mean(axis=0)) / (returns.std(axis=0) + np.finfo(float).eps)
    return returns.mean(axis=1)


class CmaesLearner:
    """CMA-ES: a `Learner` of `ssdgym.agents.training.train`.

    All members of a generation play at the same time, each in its own environments, with the same seeds.
    """

    logger: Logger

    def __init__(self, config: TrainConfig, env: VectorEnv, features: FeatureNames) -> None:
        self.config, self.settings, self.env = config, config.cmaes, env
        torch.manual_seed(config.seed)
        self.scorer = CandidateScorer(features.candidates, features.context, config.scorer)
        searched = ("",) if self.settings.network else ("linear.",)
        self._searched = {
            name: weights
            for name, weights in self.scorer.named_parameters()
            if name.startswith(searched) and not name.startswith(WITHOUT_EFFECT)
        }
        self.decisions = 0
        self._search = CMA(
            mean=self._weights(),
            sigma=self.settings.spread,
            population_size=self.settings.members,
            seed=config.seed,
        )

    def state(self) -> dict[str, Any]:
        """Return the distribution that members are drawn from, and counters, as tensors and numbers."""
        arrays = {name: torch.from_numpy(getattr(self._search, name).copy()) for name in _ARRAYS}
        search = self._search
        return {**arrays, "_sigma": float(search._sigma), "_g": search._g, "decisions": self.decisions}

    def restore(self, state: dict[str, Any]) -> None:
        """Restore a state that `state` returned."""
        self.decisions = state["decisions"]
        for name in _ARRAYS:
            setattr(self._search, name, state[name].numpy().copy())
        self._search._sigma, self._search._g = state["_sigma"], state["_g"]
        self._take_mean()

    def begin_segment(self) -> None:
        """Seed the draws of members. In the first segment, set the search's mean to the present weights."""
        if self.decisions == 0:  # cloning may have changed the weights
            self._search._mean = self._weights()
        self._search.reseed_rng(segment_seed(self.config.seed, self.decisions) % 2**32)

    def step(self) -> None:
        """Play a generation, and update the distribution that members are drawn from."""
        vectors = [self._search.ask() for _ in range(self.settings.members)]
        returns = self._play(np.stack(vectors))
        fitness = fitness_of(returns, self.settings.standardised)
        self._search.tell(list(zip(vectors, -fitness, strict=True)))
        self._take_mean()
        self.logger.record("rollout/ep_rew_mean", float(returns.mean()))
        self.logger.dump(self.decisions)

    def _weights(self) -> np.ndarray:
        return parameters_to_vector(self._searched.values()).detach().numpy().astype(float)

    def _take_mean(self) -> None:
        """Set the scorer's weights to the mean of the search."""
        vector_to_parameters(torch.tensor(self._search.mean, dtype=torch.float32), self._searched.values())

    @torch.inference_mode()
    def _play(self, vectors: np.ndarray) -> np.ndarray:
        """Play an episode per environment; return the returns, float64 (members, episodes per member)."""
        members, each = len(vectors), self.env.num_envs // len(vectors)
        sizes = [weights.numel() for weights in self._searched.values()]
        split = zip(
            self._searched, torch.tensor(vectors, dtype=torch.float32).split(sizes, dim=1), strict=True
        )
        own = {name: part.reshape(members, *self._searched[name].shape) for name, part in split}
        scores = vmap(lambda weights, *seen: functional_call(self.scorer, weights, seen))
        seed = segment_seed(self.config.seed, self.decisions)
        observation, _ = self.env.reset(seed=np.tile(np.arange(seed, seed + each), members).tolist())
        returns, over = np.zeros(self.env.num_envs), np.zeros(self.env.num_envs, bool)
        while not over.all():
            parts = (observation[name] for name in ("candidates", "context", "action_mask"))
            seen = (torch.from_numpy(part).unflatten(0, (members, each)) for part in parts)
            actions = scores(own, *seen).flatten(0, 1).argmax(1).numpy()
            observation, rewards, terminated, truncated, _ = self.env.step(actions)
            returns += np.where(over, 0.0, rewards)
            self.decisions += int((~over).sum())
            over |= terminated | truncated
        return returns.reshape(members, each)
