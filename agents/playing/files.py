"""Load agents from files of `ssdgym train` and from zip files of Stable-Baselines3."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Callable
from pathlib import Path

from gymnasium.vector import VectorEnv

from ssdgym.agents.card import AgentCard, read_parts
from ssdgym.agents.playing.agents import Agent, CallableSource, RandomAction, Source, names_callable
from ssdgym.agents.playing.stumps import Stump
from ssdgym.agents.training.config import EnvironmentConfig, decision_arguments
from ssdgym.agents.zoo import find_agent
from ssdgym.errors import SsdgymError, needing
from ssdgym.files import DAMAGED_ZIP, file_hash


class FileSource(Source):
    """A file that contains an agent."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.path = find_agent(text)

    @property
    def label(self) -> str:
        """The file's name without its suffix; `FOLDER/NAME` if the name begins with `agent`."""
        stem = self.path.stem
        return f"{self.path.resolve().parent.name}/{stem}" if stem.startswith("agent") else stem

    def digest(self) -> str:
        """Return a hash of the file."""
        try:
            return file_hash(self.path)
        except OSError as error:
            raise SsdgymError(
                f"{self.path}: there is no such agent ({error.strerror}); train one first, correct the path, "
                "or name one of ssdgym list agents."
            ) from None


class TrainedSource(FileSource):
    """A file that `ssdgym train` wrote. Nothing in the file is executed."""

    @property
    def objective(self) -> str:
        """The objective of the training, from the agent's card."""
        return str(self._card().arguments.get("objective", ""))

    def own_environment(self) -> EnvironmentConfig | None:
        """Return the training's environment with its decision's arguments, without device and workload."""
        card = self._card()
        names = decision_arguments(card.environment)
        kept = {name: card.arguments[name] for name in names if name in card.arguments}
        if "features" in names:
            # All features are named, because the default features depend on the device.
            kept["features"] = [*card.candidate_features, *card.context_features]
        return EnvironmentConfig(id=card.environment, kwargs=kept)

    def build(self, env: VectorEnv) -> Agent:
        """Load the agent, and match its features with the environment's by name."""
        with needing("agents", "an agent from a file needs"):
            from ssdgym.agents.agent import Agent as Trained
        return Trained.load(self.path, env)

    def _card(self) -> AgentCard:
        return read_parts(self.path)[0]


class SB3Source(FileSource):
    """A zip file that an algorithm of Stable-Baselines3 saved; it contains pickles."""

    executes = "pickles in it"

    def own_environment(self) -> EnvironmentConfig | None:
        """Return the environment of the training, stored with the observation space; None if it is not."""
        with zipfile.ZipFile(self.path) as archive:
            noted = json.loads(archive.read("data"))["observation_space"].get("environment")
        if not isinstance(noted, dict) or noted["id"] is None:
            return None  # an environment of another package, or arguments that are no plain values
        return EnvironmentConfig(**noted)

    def build(self, env: VectorEnv) -> Agent:
        """Load the policy in the file; this executes the file's pickles."""
        with needing("agents", "an agent from a file needs"):
            from ssdgym.agents.playing.sb3 import load_sb3
        return load_sb3(self.path, env)


def is_sb3_zip(path: Path) -> bool:
    """Return whether a file was saved by an algorithm of Stable-Baselines3."""
    try:
        with zipfile.ZipFile(path) as archive:
            return {"data", "policy.pth"} <= set(archive.namelist())
    except DAMAGED_ZIP:
        return False


#: Baselines by name: agents that do not learn, for comparison with learned agents.
BASELINES: dict[str, Callable[..., Agent]] = {"random_action": RandomAction, "stump": Stump}


class BaselineSource(CallableSource):
    """One of `BASELINES`, with its parameters in brackets."""

    executes = ""
    learns = False

    def digest(self) -> str:
        """Return an empty text, because the baselines are code of ssdgym."""
        return ""

    def _callable(self) -> Callable[..., Agent]:
        return BASELINES[self.name]


def source_of(agent: str | Path, *, trust: bool = False) -> Source:
    """Return the source from which an agent is loaded.

    Args:
        agent: name of a baseline or of an agent of the zoo, `module:callable`, or path of a file.
        trust: whether loading may execute code that comes with the agent.

    Raises:
        SsdgymError: `agent` has another form, or loading would execute code although `trust` is false.
    """
    source = untrusted_source_of(agent)
    if source.executes and not trust:
        raise SsdgymError(
            f"agent {source.text}: loading it executes {source.executes}; if you trust it, give --trust "
            "(in Python: trust=True)."
        )
    return source


def untrusted_source_of(agent: str | Path) -> Source:
    """Return the source of an agent for inspection, without executing code of the agent."""
    text = str(agent)
    if re.split(r"\s*\(", text)[0] in BASELINES:
        return BaselineSource(text)
    if names_callable(text):
        return CallableSource(text)
    return SB3Source(text) if is_sb3_zip(find_agent(text)) else TrainedSource(text)
