"""The names of what an agent sees, by which an agent and an environment know that they fit."""

from __future__ import annotations

from dataclasses import dataclass

import gymnasium as gym
from gymnasium.vector import VectorEnv

from ssdgym.envs.features import CANDIDATE_FEATURES, CONTEXT_FEATURES
from ssdgym.errors import SsdgymError

_KEYS = {"candidates", "context", "action_mask"}


@dataclass(frozen=True)
class FeatureNames:
    """Names of the columns of `candidates` and of the entries of `context`, in order."""

    candidates: tuple[str, ...]
    context: tuple[str, ...]

    @classmethod
    def installed(cls) -> FeatureNames:
        """The features that the environments of this version of ssdgym observe."""
        return cls(
            tuple(feature.name for feature in CANDIDATE_FEATURES),
            tuple(feature.name for feature in CONTEXT_FEATURES),
        )

    @classmethod
    def of(cls, env: gym.Env | VectorEnv) -> FeatureNames:
        """The features that `env` observes.

        Raises:
            SsdgymError: if it does not observe candidates, or another number of features than this version of
                ssdgym names.
        """
        names = cls.installed()
        space = env.single_observation_space if isinstance(env, VectorEnv) else env.observation_space
        if not isinstance(space, gym.spaces.Dict) or not set(space) >= _KEYS:
            raise SsdgymError(f"{env}: its observations have no candidates; use an environment of ssdgym.")
        columns, entries = _width(space["candidates"]), _width(space["context"])
        if (columns, entries) != (len(names.candidates), len(names.context)):
            raise SsdgymError(
                f"{env}: observes {columns} candidate and {entries} context features, but ssdgym names "
                f"{len(names.candidates)} and {len(names.context)}; use an environment of this version."
            )
        return names

    def require(self, wanted: FeatureNames, who: str) -> None:
        """Check that these names are the wanted ones.

        Args:
            wanted: the names to compare with.
            who: how the error names the owner of these names.

        Raises:
            SsdgymError: naming the first feature that differs.
        """
        for kind in ("candidates", "context"):
            ours, theirs = getattr(self, kind), getattr(wanted, kind)
            if ours != theirs:
                raise SsdgymError(
                    f"{who}: its {kind} features differ from the environment's in "
                    f"{_difference(ours, theirs)}; train a new agent or install the version of ssdgym it was "
                    "trained with."
                )


def _width(space: gym.Space) -> int:
    return space.shape[-1] if space.shape else 0


def _difference(ours: tuple[str, ...], theirs: tuple[str, ...]) -> str:
    for i, (our, their) in enumerate(zip(ours, theirs, strict=False)):
        if our != their:
            return f"number {i} ({our!r}, not {their!r})"
    return f"their number ({len(ours)}, not {len(theirs)})"
