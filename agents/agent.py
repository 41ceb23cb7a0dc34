"""A trained agent: a network and its card in one file."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import IO

import gymnasium as gym
import numpy as np
import torch
from gymnasium.vector import VectorEnv
from safetensors.torch import save
from torch import nn

from ssdgym.agents.card import CARD, WEIGHTS, AgentCard, read_parts, unpack_weights
from ssdgym.agents.features import Columns, FeatureNames
from ssdgym.agents.networks import network_of
from ssdgym.agents.zoo import find_agent
from ssdgym.errors import SsdgymError
from ssdgym.files import write_atomically
from ssdgym.types import Observation

#: What trains the softmax of the scores.
_WITH_DISTRIBUTION = ("clone", "ppo")


class Agent:
    """A network that chooses among the candidates of an observation.

    Args:
        scorer: the network, a `CandidateScorer` or a `OrdinalNetwork`.
        card: its description.
        seed: of the draws of `act(..., deterministic=False)`.
        columns: where its features are in the observations; None if they are those it was trained on.
    """

    def __init__(
        self, scorer: nn.Module, card: AgentCard, seed: int = 0, columns: Columns | None = None
    ) -> None:
        self.scorer = scorer.eval()
        self.card = card
        self._columns = columns or card.features.locate(card.features, "agent")
        self._rng = np.random.default_rng(seed)

    @classmethod
    def load(cls, path: str | Path, env: gym.Env | VectorEnv | None = None, seed: int = 0) -> Agent:
        """Load an agent that `save` wrote. Nothing in the file is executed.

        Args:
            path: the file, or the name of an agent of the zoo.
            env: environment the agent is to act in, whose features are matched with the agent's by name;
                without it, observations are to have the features the agent was trained on.
            seed: of the draws of `act(..., deterministic=False)`.

        Raises:
            SsdgymError: if the file is missing, not an agent, or trained on features the environment lacks.
        """
        path = find_agent(str(path))
        card, data = read_parts(path)
        unpacked = unpack_weights(data, card, str(path))
        weights = {name: torch.tensor(array) for name, array in unpacked.items()}
        columns = None if env is None else card.features.locate(FeatureNames.of(env), str(path))
        scorer = network_of(card)
        scorer.load_state_dict(weights)
        return cls(scorer, card, seed, columns)

    def save(self, path: str | Path) -> Path:
        """Write the agent to one zip file, atomically.

        Raises:
            SsdgymError: if the file cannot be written.
        """
        path = Path(path)
        weights = save({name: part.cpu().contiguous() for name, part in self.scorer.state_dict().items()})

        def write(file: IO[bytes]) -> None:
            with zipfile.ZipFile(file, "w") as archive:
                archive.writestr(CARD, self.card.model_dump_json(indent=2))
                archive.writestr(WEIGHTS, weights)

        write_atomically(path, write)
        return path

    def scores(self, observation: Observation) -> np.ndarray:
        """Return the scores float32 of the candidates, (K,) or (n, K); -1e9 where the mask is zero.

        Raises:
            SsdgymError: if the observation has another number of features than the agent was trained on.
        """
        arrays = [*self._columns.select(observation), observation["action_mask"]]
        single = arrays[0].ndim == 2
        device = next(self.scorer.parameters()).device
        tensors = [torch.as_tensor(array[np.newaxis] if single else array, device=device) for array in arrays]
        with torch.inference_mode():
            scores = self.scorer(*tensors).cpu().numpy()
        return scores[0] if single else scores

    def act(
        self,
        observation: Observation,
        mask: np.ndarray | None = None,
        rng: np.random.Generator | None = None,
        *,
        deterministic: bool = True,
    ) -> np.ndarray | int:
        """Choose a candidate, the first of equals, or sample one.

        Args:
            observation: `candidates` (K, F), `context` (G,), `action_mask` (K,), or a batch of n of them.
            mask: not used: it is in the observation.
            rng: of draws; None for the agent's own.
            deterministic: false draws from the distribution that PPO trained.

        Returns:
            The action: an int for one observation, int64 (n,) for a batch.

        Raises:
            SsdgymError: if the features do not fit, or the agent has no distribution to draw from.
        """
        scores = self.scores(observation)
        if not deterministic:
            scores = scores + self._gumbel(scores.shape, rng or self._rng)
        actions = scores.argmax(axis=-1)
        return int(actions) if scores.ndim == 1 else actions

    def _gumbel(self, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
        """Return noise that makes the best score a draw from the softmax of the scores (Gumbel-max trick)."""
        if self.card.algorithm not in _WITH_DISTRIBUTION:
            raise SsdgymError(
                f"act(deterministic=False): a {self.card.algorithm} agent has no distribution to draw from; "
                "use deterministic=True."
            )
        return rng.gumbel(size=shape)
