"""Find the features that an agent was trained on, by their names, in the observations of an environment."""

from __future__ import annotations

from dataclasses import dataclass

import gymnasium as gym
import numpy as np
from gymnasium.vector import VectorEnv

from ssdgym.errors import SsdgymError
from ssdgym.types import Observation

_KEYS = {"candidates", "context", "action_mask"}


@dataclass(frozen=True)
class FeatureNames:
    """Names of features: of the columns of `candidates` and of the entries of `context`, in order."""

    candidates: tuple[str, ...]
    context: tuple[str, ...]

    @classmethod
    def of(cls, env: gym.Env | VectorEnv) -> FeatureNames:
        """Return the features that an environment observes: `metadata["features"]`.

        Raises:
            SsdgymError: the environment observes no candidates, or not as many features as it names.
        """
        space = env.single_observation_space if isinstance(env, VectorEnv) else env.observation_space
        if not isinstance(space, gym.spaces.Dict) or not set(space) >= _KEYS:
            raise SsdgymError(f"{env}: its observations have no candidates; use an environment of ssdgym.")
        named = env.metadata.get("features", {})
        names = cls(tuple(named.get("candidates", ())), tuple(named.get("context", ())))
        columns, entries = _width(space["candidates"]), _width(space["context"])
        if (columns, entries) != (len(names.candidates), len(names.context)):
            raise SsdgymError(
                f"{env}: observes {columns} candidate and {entries} context features, but names "
                f"{len(names.candidates)} and {len(names.context)}; name them in its metadata['features']."
            )
        return names

    def locate(self, observed: FeatureNames, who: str) -> Columns:
        """Return the columns of these features among the `observed` ones; `who` begins the error message.

        Raises:
            SsdgymError: the environment lacks a feature, which the error names.
        """
        for kind in ("candidates", "context"):
            ours, theirs = getattr(self, kind), getattr(observed, kind)
            if not set(ours) <= set(theirs):
                raise SsdgymError(
                    f"{who}: its {kind} features differ from the environment's in "
                    f"{_difference(ours, theirs)}; train a new agent or install the version of ssdgym it was "
                    "trained with."
                )
        return Columns(
            (len(observed.candidates), len(observed.context)),
            tuple(observed.candidates.index(name) for name in self.candidates),
            tuple(observed.context.index(name) for name in self.context),
        )


@dataclass(frozen=True)
class Columns:
    """The positions of an agent's features in the observations of an environment.

    Attributes:
        widths: numbers of the environment's candidate features and context features.
        candidates: column of each candidate feature of the agent.
        context: column of each context feature of the agent.
    """

    widths: tuple[int, int]
    candidates: tuple[int, ...]
    context: tuple[int, ...]

    def select(self, observation: Observation) -> list[np.ndarray]:
        """Return `candidates` and `context` of one observation or a batch, reduced to the agent's features.

        Raises:
            SsdgymError: the observation's numbers of features are not `widths`.
        """
        arrays = [observation["candidates"], observation["context"]]
        seen = tuple(array.shape[-1] for array in arrays)
        if seen != self.widths:
            raise SsdgymError(
                f"observation: has {seen[0]} candidate and {seen[1]} context features, but the agent was "
                f"trained on {self.widths[0]} and {self.widths[1]}; use the environment it was trained in."
            )
        return [
            array if places == tuple(range(width)) else array[..., places]
            for array, width, places in zip(arrays, seen, (self.candidates, self.context), strict=True)
        ]


def _width(space: gym.Space) -> int:
    return space.shape[-1] if space.shape else 0


def _difference(ours: tuple[str, ...], theirs: tuple[str, ...]) -> str:
    """Return a phrase: the first name of `ours` that `theirs` lacks, and the name there in `theirs`."""
    i = next(i for i, name in enumerate(ours) if name not in theirs)
    if i < len(theirs):
        return f"number {i} ({ours[i]!r}, not {theirs[i]!r})"
    return f"their number ({len(ours)}, not {len(theirs)})"
