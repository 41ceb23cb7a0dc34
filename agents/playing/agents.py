"""Play episodes with agents, and load agents that are made by a Python callable."""

from __future__ import annotations

import hashlib
import inspect
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import gymnasium as gym
import numpy as np
from gymnasium.vector import VectorEnv

from ssdgym.agents.training.config import EnvironmentConfig, check_arguments
from ssdgym.config.loading import parse_value
from ssdgym.errors import SsdgymError
from ssdgym.files import file_hash
from ssdgym.own_code import find_module, import_own
from ssdgym.types import Observation

if TYPE_CHECKING:
    from ssdgym.envs.sb3 import SB3VecEnv


class Agent(Protocol):
    """An object that chooses actions. Any object with the method `act` is an agent, whatever its class."""

    def act(self, observation: Observation, mask: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Choose an action in every environment.

        Args:
            observation: observations of n environments: `candidates` (n, K, F), `context` (n, G) and
                `action_mask` (n, K).
            mask: bool (n, K), the valid actions, at least one in each row.
            rng: generator for all random draws of the agent. The seeds of the episodes determine its seed.

        Returns:
            The chosen actions, whole numbers (n,).
        """


class RandomAction:
    """Draw every action uniformly from the valid ones.

    If heuristics (the proposers) pick the candidates, a random candidate is usually better than a block that
    the policy `random` draws among all blocks. A comparison with `RandomAction` shows what agents learn.
    """

    def act(self, observation: Observation, mask: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Choose an action in every environment, int64 (n,)."""
        # Each valid action has a random key, and the largest is chosen. Keys of invalid actions are below 0.
        return np.where(mask, rng.random(mask.shape), -1.0).argmax(axis=1)


class Source(ABC):
    """Loads the agent that a text names.

    Attributes:
        text: the text, as the user wrote it.
        executes: phrase for the code from outside ssdgym that loading executes; empty if there is none.
        learns: whether results list the agent as learned; false for baselines.
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
        """The argument `objective` of the training environment; empty if it is not recorded."""
        return ""

    def own_environment(self) -> EnvironmentConfig | None:
        """Return the environment of the training; None if the agent's file does not record it."""
        return None

    @abstractmethod
    def digest(self) -> str:
        """Return a hash of everything that determines the agent, except the code of ssdgym."""

    @abstractmethod
    def build(self, env: VectorEnv) -> Agent:
        """Make the agent for an environment.

        Raises:
            SsdgymError: the agent cannot be made, or does not fit the environment.
        """


_CALL = re.compile(r"(?:(?P<module>[A-Za-z_][\w.]*):)?(?P<name>[A-Za-z_][\w.]*)\s*(?:\((?P<inner>.*)\))?")


def names_callable(text: str) -> bool:
    """Return whether a text is `module:callable`, with parameters in brackets or without."""
    found = _CALL.fullmatch(text)
    return found is not None and found["module"] is not None


class CallableSource(Source):
    """`module:callable`, or `module:callable(name=value, ...)`: a function or class that makes the agent.

    The module is imported from the present folder or from the installed packages. If the callable has a
    parameter `env`, it is called with the vector environment.
    """

    executes = "code of the module it names"

    def __init__(self, text: str) -> None:
        super().__init__(text)
        match = _CALL.fullmatch(text)
        if match is None:
            raise SsdgymError(f"agent {text}: is not of the form name(parameter=value, ...); correct it.")
        self.module, self.name = match["module"], match["name"]
        self.parameters = read_parameters(f"agent {text}", (match["inner"] or "").split(","))

    def digest(self) -> str:
        """Return a hash of the module's source and of the files that parameters name."""
        spec = find_module(self.module, f"agent {self.text}")
        files = [Path(spec.origin)] if spec.origin and Path(spec.origin).is_file() else []
        files += [Path(v) for v in self.parameters.values() if isinstance(v, str) and Path(v).is_file()]
        return hashlib.sha256("".join(map(file_hash, files)).encode()).hexdigest()

    def build(self, env: VectorEnv) -> Agent:
        """Call the callable, and return the agent that it makes."""
        make = self._callable()
        try:
            taken = inspect.signature(make).parameters
            given = {**self.parameters, **({"env": env} if "env" in taken else {})}
            inspect.signature(make).bind(**given)
        except (TypeError, ValueError) as error:
            raise SsdgymError(f"agent {self.text}: {self.name} cannot be called so: {error}.") from error
        agent = make(**given)
        if not callable(getattr(agent, "act", None)):
            raise SsdgymError(
                f"agent {self.text}: made a {type(agent).__name__}, which has no method "
                "act(observation, mask, rng)."
            )
        return agent

    def _callable(self) -> Callable[..., Any]:
        found: Any = import_own(self.module, f"agent {self.text}")
        for part in self.name.split("."):
            found = getattr(found, part, None)
        if not callable(found):
            raise SsdgymError(f"agent {self.text}: {self.module} has no callable {self.name}; correct it.")
        return found


def read_parameters(where: str, pieces: Iterable[str]) -> dict[str, Any]:
    """Read parameters such as `name=value`; values are YAML, so `3` is a number and `a.pt` a string.

    Raises:
        SsdgymError: a piece has another form, or a name is given twice.
    """
    found: dict[str, Any] = {}
    for piece in filter(None, map(str.strip, pieces)):
        name, equals, value = (part.strip() for part in piece.partition("="))
        if not equals or not name.isidentifier() or name in found:
            raise SsdgymError(f"{where}: {piece!r:.60} is not of the form name=value, each name once.")
        found[name] = parse_value(value, f"{where}: {name}")
    return found


#: Called with (observation, infos, actions, numbers of the environments whose first episode still runs).
Watch = Callable[[Observation, dict[str, Any], np.ndarray, np.ndarray], None]


def play(agent: Agent, env: SB3VecEnv, first_seed: int, watch: Watch | None = None) -> list[dict[str, Any]]:
    """Play one whole episode in every environment.

    Environments that are done early play further episodes until all are done; those episodes are ignored.

    Args:
        agent: agent that takes the decisions.
        env: n environments.
        first_seed: seed of environment 0. Environment i has `first_seed + i`.
        watch: function to call before every step; None for none.

    Returns:
        For each environment the info at the end of its first episode, with `episode` and `metrics`.
    """
    rng = np.random.default_rng(first_seed)
    env.seed(first_seed)
    observation: Any = env.reset()
    finals: dict[int, dict[str, Any]] = {}
    while len(finals) < env.num_envs:
        actions = np.asarray(agent.act(observation, observation["action_mask"] != 0, rng))
        if watch is not None:
            counting = np.array([i for i in range(env.num_envs) if i not in finals])
            watch(observation, env.last_infos, actions, counting)
        observation, _, dones, infos = env.step(actions)
        for i in np.flatnonzero(dones):
            finals.setdefault(int(i), infos[i])
    return [finals[i] for i in range(env.num_envs)]


#: Chooses the action of one environment from its observation (1, ...), its info, and a generator.
Behaviour = Callable[[Observation, Mapping[str, Any], np.random.Generator], int]


def single(environment: EnvironmentConfig, **more: Any) -> VectorEnv:
    """Return a vector environment of one device without autoreset.

    Args:
        environment: id and keyword arguments of the environment.
        more: keyword arguments of the vector environment.

    Raises:
        SsdgymError: there is no such environment, or it does not take the arguments.
    """
    check_arguments(environment.id, environment.kwargs)
    how = {"vectorization_mode": "vector_entry_point", "autoreset_mode": "Disabled", **more}
    return gym.make_vec(environment.id, num_envs=1, **how, **environment.kwargs)


def heuristic(env: VectorEnv, policy: str) -> Behaviour:
    """Return a behaviour that chooses the candidate that the proposer `policy` of the environment picks.

    Raises:
        SsdgymError: there is no such proposer. If it picks no candidate, the behaviour raises SsdgymError.
    """
    proposers = tuple(env.metadata["proposers"])
    if not proposers:
        raise SsdgymError(
            f"policy {policy}: the environment has no proposers to play; give an agent instead."
        )
    if policy not in proposers:
        raise SsdgymError(
            f"policy {policy} is no proposer of the environment, which has {', '.join(proposers)}."
        )
    place = proposers.index(policy)

    def behave(observation: Observation, info: Mapping[str, Any], rng: np.random.Generator) -> int:
        pick = int(info["proposed"][0, place])
        if pick < 0:
            raise SsdgymError(f"policy {policy} picks none of the candidates of a decision; leave it out.")
        return pick

    return behave


def agent_behaviour(env: VectorEnv, source: Source) -> Behaviour:
    """Make an agent for an environment of one device; return its behaviour."""
    agent = source.build(env)

    def behave(observation: Observation, info: Mapping[str, Any], rng: np.random.Generator) -> int:
        return int(agent.act(observation, observation["action_mask"] != 0, rng)[0])

    return behave
