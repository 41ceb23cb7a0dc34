"""A trained agent: a network with what is needed to use it, in one file."""

from __future__ import annotations

import io
import pickle
import warnings
import zipfile
from pathlib import Path
from typing import IO, Any, Literal

import gymnasium as gym
import numpy as np
import torch
from gymnasium.vector import VectorEnv
from pydantic import Field, ValidationError

import ssdgym
from ssdgym.agents.features import Columns, FeatureNames
from ssdgym.agents.learning.stages import Stage, how_trained
from ssdgym.agents.scorer import CandidateScorer, ScorerConfig
from ssdgym.agents.weights import pack_weights, unpack_weights
from ssdgym.config.loading import Config
from ssdgym.errors import SsdgymError
from ssdgym.files import write_atomically
from ssdgym.types import Observation

_CARD = "agent.json"
_WEIGHTS = "weights.safetensors"
#: In files of the first format.
_OLD_WEIGHTS = "weights.pt"


class AgentCard(Config):
    """The description that a saved agent carries."""

    format: Literal[1, 2] = 2
    ssdgym_version: str = ssdgym.__version__
    algorithm: Literal["none", "search", "ppo", "dqn"] = Field(
        description="what has trained these weights last; none: they are the untrained start"
    )
    environment: str
    decisions: int = Field(description="all that trained these weights, episodes of a search included")
    trained_by: tuple[Stage, ...] = Field((), description="what trained these weights, in order")
    candidate_features: tuple[str, ...]
    context_features: tuple[str, ...]
    scorer: ScorerConfig
    training: dict[str, Any] = {}

    @property
    def features(self) -> FeatureNames:
        """The features the agent was trained on."""
        return FeatureNames(self.candidate_features, self.context_features)

    @property
    def how_trained(self) -> str:
        """What has trained the weights, as a phrase."""
        if self.format == 1:
            return f"{self.algorithm}, after what a file of that version does not say"
        return how_trained(self.trained_by, self.scorer.start)


class Agent:
    """A scorer that chooses among the candidates of an observation.

    Args:
        scorer: the network.
        card: its description.
        seed: of the draws of `act(..., deterministic=False)`.
        columns: where its features are in the observations; None if they are those it was trained on.
    """

    def __init__(
        self, scorer: CandidateScorer, card: AgentCard, seed: int = 0, columns: Columns | None = None
    ) -> None:
        self.scorer = scorer.eval()
        self.card = card
        self._columns = columns or card.features.locate(card.features, "agent")
        self._rng = np.random.default_rng(seed)

    @classmethod
    def load(cls, path: str | Path, env: gym.Env | VectorEnv | None = None, seed: int = 0) -> Agent:
        """Load an agent that `save` wrote. Nothing in the file is executed.

        Args:
            path: the file.
            env: environment the agent is to act in, whose features are matched with the agent's by name;
                without it, observations are to have the features the agent was trained on.
            seed: of the draws of `act(..., deterministic=False)`.

        Raises:
            SsdgymError: if the file is missing, not an agent, or trained on features the environment lacks.
        """
        card, weights = _read(Path(path))
        columns = None if env is None else card.features.locate(FeatureNames.of(env), str(path))
        scorer = CandidateScorer(card.candidate_features, card.context_features, card.scorer)
        try:
            scorer.load_state_dict(weights)
        except RuntimeError as error:
            raise SsdgymError(f"{path}: its weights do not fit its description; train it again.") from error
        return cls(scorer, card, seed, columns)

    def save(self, path: str | Path) -> Path:
        """Write the agent to one zip file, atomically.

        Raises:
            SsdgymError: if the file cannot be written.
        """
        path = Path(path)
        weights = pack_weights(self.scorer.state_dict())

        def write(file: IO[bytes]) -> None:
            with zipfile.ZipFile(file, "w") as archive:
                archive.writestr(_CARD, self.card.model_dump_json(indent=2))
                archive.writestr(_WEIGHTS, weights)

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
        mask: np.ndarray | bool | None = None,
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
            SsdgymError: if the features do not fit, or a draw is asked of an agent without a distribution
                (DQN).
        """
        if isinstance(mask, bool):
            warnings.warn(
                "the second argument of Agent.act is the mask now; write deterministic=...; the old way goes "
                "with the next version",
                FutureWarning,
                stacklevel=2,
            )
            deterministic = mask
        scores = self.scores(observation)
        if not deterministic:
            scores = scores + self._gumbel(scores.shape, rng or self._rng)
        actions = scores.argmax(axis=-1)
        return int(actions) if scores.ndim == 1 else actions

    def _gumbel(self, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
        """Return noise that makes the best score a draw from the softmax of the scores (Gumbel-max trick)."""
        if self.card.algorithm != "ppo":
            raise SsdgymError(
                f"act(deterministic=False): a {self.card.algorithm} agent has no distribution to draw from; "
                "use deterministic=True."
            )
        return rng.gumbel(size=shape)


def _read(path: Path) -> tuple[AgentCard, dict[str, torch.Tensor]]:
    try:
        with zipfile.ZipFile(path) as archive:
            card = archive.read(_CARD)
            old = _OLD_WEIGHTS in archive.namelist()
            weights = archive.read(_OLD_WEIGHTS if old else _WEIGHTS)
    except FileNotFoundError as error:
        raise SsdgymError(f"{path}: there is no such agent; train one first or correct the path.") from error
    except (zipfile.BadZipFile, KeyError, OSError) as error:
        raise SsdgymError(f"{path}: not an agent, or a damaged one ({error}); train it again.") from error
    return _parse_card(path, card), (_parse_old_weights if old else unpack_weights)(weights, str(path))


def _parse_card(path: Path, card: bytes) -> AgentCard:
    try:
        return AgentCard.model_validate_json(card)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"])) or "contents"
        raise SsdgymError(f"{path}: {_CARD}: {field}: {first['msg']}; train the agent again.") from error


def _parse_old_weights(weights: bytes, where: str) -> dict[str, torch.Tensor]:
    try:
        # weights_only: a file from a stranger may hold numbers, not code
        return torch.load(io.BytesIO(weights), weights_only=True, map_location="cpu")
    except (pickle.UnpicklingError, RuntimeError, EOFError, ValueError, KeyError) as error:
        raise SsdgymError(
            f"{where}: its weights are damaged ({type(error).__name__}); train it again."
        ) from error
