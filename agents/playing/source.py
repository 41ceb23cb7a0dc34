"""What evaluations need to know of an agent before they play it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from gymnasium.vector import VectorEnv

from ssdgym.agents.environments import EnvironmentConfig
from ssdgym.agents.playing.protocol import Agent


class Source(ABC):
    """Where an agent comes from.

    Attributes:
        text: as it was written.
        executes: what of it is executed when it is loaded; empty where nothing is.
        learns: whether it is to be called learned; baselines are not.
    """

    executes: ClassVar[str] = ""
    learns: ClassVar[bool] = True

    def __init__(self, text: str) -> None:
        self.text = text

    @property
    def label(self) -> str:
        """The name of the agent in results."""
        return self.text

    @property
    def objective(self) -> str:
        """What the agent was trained for, where that is known."""
        return ""

    def own_environment(self) -> EnvironmentConfig | None:
        """Return the environment that the agent was trained in, where it knows.

        Raises:
            SsdgymError: the agent cannot be read.
        """
        return None

    @abstractmethod
    def digest(self) -> str:
        """Return a hash of all that the agent is made of but the code of ssdgym.

        Raises:
            SsdgymError: there is no such agent.
        """

    @abstractmethod
    def build(self, env: VectorEnv) -> Agent:
        """Make the agent.

        Args:
            env: that it is to act in.

        Raises:
            SsdgymError: it cannot be made, or does not fit the environment.
        """
