"""Load, save and use a trained agent: one file with a network and its description, the *card*."""

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
from ssdgym.files import write_atomically
from ssdgym.types import Observation


class Agent:
    """A network that chooses among the candidates of an observation.

    Args:
        scorer: the network, a `CandidateScorer` or an `OrdinalNetwork`.
        card: the description of the agent.
        columns: columns of the agent's features in observations; None: those of the training, in its order.
    """

    def __init__(self, scorer: nn.Module, card: AgentCard, columns: Columns | None = None) -> None:
        self.scorer = scorer.eval()
        self.card = card
        self._columns = columns or card.features.locate(card.features, "agent")

    @classmethod
    def load(cls, path: str | Path, env: gym.Env | VectorEnv | None = None) -> Agent:
        """Load an agent that `save` wrote. Nothing in the file is executed.

        Args:
            path: path of the file, or name of an agent that comes with ssdgym, such as `victim-v1`.
            env: environment in which the agent will act. Its features are matched with the agent's by name.
                If None, observations must have exactly the features of the training, in the same order.

        Raises:
            SsdgymError: the file is missing, is not an agent, or needs features that the environment lacks.
        """
        path = find_agent(str(path))
        card, data = read_parts(path)
        unpacked = unpack_weights(data, card, str(path))
        weights = {name: torch.tensor(array) for name, array in unpacked.items()}
        columns = None if env is None else card.features.locate(FeatureNames.of(env), str(path))
        scorer = network_of(card)
        scorer.load_state_dict(weights)
        return cls(scorer, card, columns)

    def save(self, path: str | Path) -> Path:
        """Write the agent to one zip file, atomically; return its path.

        Raises:
            SsdgymError: the file cannot be written.
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
        """Return the scores of the K candidates or actions, float32 (K,), or (n, K) for a batch.

        The score is -1e9 where `action_mask` is 0.

        Raises:
            SsdgymError: the numbers of features differ from those of the environment given to `load`.
        """
        arrays = [*self._columns.select(observation), observation["action_mask"]]
        single = arrays[0].ndim == 2
        device = next(self.scorer.parameters()).device
        tensors = [torch.as_tensor(array[np.newaxis] if single else array, device=device) for array in arrays]
        with torch.inference_mode():
            scores = self.scorer(*tensors).cpu().numpy()
        return scores[0] if single else scores

    def act(
        self, observation: Observation, mask: np.ndarray | None = None, rng: np.random.Generator | None = None
    ) -> np.ndarray | int:
        """Choose the candidate with the highest score; if several have it, choose the first of them.

        Args:
            observation: `candidates` (K, F), `context` (G,), `action_mask` (K,), each (n, ...) in a batch.
                `scores` checks the numbers of features.
            mask: ignored, since the observation contains the mask.
            rng: ignored, since the choice is not random.

        Returns:
            The number of the candidate or action: an int for one observation, int64 (n,) for a batch.
        """
        scores = self.scores(observation)
        actions = scores.argmax(axis=-1)
        return int(actions) if scores.ndim == 1 else actions
