"""What plays: agents, functions and random actions, and how their episodes go."""

from __future__ import annotations

import hashlib
import importlib
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
from ssdgym.own_code import find_module
from ssdgym.types import Observation

if TYPE_CHECKING:
    from ssdgym.envs.sb3 import SB3VecEnv


class Agent(Protocol):
    """An object that chooses actions. Any object with this method is one; nothing has to be inherited."""

    def act(self, observation: Observation, mask: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Choose an action in every environment.

        Args:
            observation: of n environments, arrays by name with n as the first axis: `candidates` (n, K, F),
                `context` (n, G), `action_mask` (n, K).
            mask: bool (n, K), the valid actions, at least one in each row.
            rng: of all that the agent draws; seeded by the seeds of the episodes.

        Returns:
            Whole numbers (n,), each valid.
        """


class RandomAction:
    """Draw every action uniformly from the valid ones.

    Proposers have picked the candidates, so this is not the policy `random`, which draws among all blocks:
    compare an agent with `RandomAction` to see what it has learned.
    """

    def act(self, observation: Observation, mask: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Choose an action in every environment, int64 (n,)."""
        # the valid action with the largest key is uniform among the valid ones; no valid key is below 0
        return np.where(mask, rng.random(mask.shape), -1.0).argmax(axis=1)


class Source(ABC):
    """Where an agent comes from.

    Attributes:
        text: as it was written.
        executes: the code that loading executes; empty if none.
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
        """Return the environment that the agent was trained in, where its file has it."""
        return None

    @abstractmethod
    def digest(self) -> str:
        """Return a hash of all that the agent is made of but the code of ssdgym."""

    @abstractmethod
    def build(self, env: VectorEnv) -> Agent:
        """Make the agent for an environment.

        Raises:
            SsdgymError: it cannot be made, or does not fit the environment.
        """


_CALL = re.compile(r"(?:(?P<module>[A-Za-z_][\w.]*):)?(?P<name>[A-Za-z_][\w.]*)\s*(?:\((?P<inner>.*)\))?")


def names_callable(text: str) -> bool:
    """Return whether a text is `module:callable`, with parameters in brackets or without."""
    found = _CALL.fullmatch(text)
    return found is not None and found["module"] is not None


class CallableSource(Source):
    """`module:callable`, or `module:callable(name=value, ...)`: a function or class that makes the agent.

    The module is imported as Python would, or from the present folder. A parameter called `env` is given the
    vector environment.
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
        """Call the callable."""
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
        self.digest()  # raises if something is missing
        found: Any = importlib.import_module(self.module)
        for part in self.name.split("."):
            found = getattr(found, part, None)
        if not callable(found):
            raise SsdgymError(f"agent {self.text}: {self.module} has no callable {self.name}; correct it.")
        return found


def read_parameters(where: str, pieces: Iterable[str]) -> dict[str, Any]:
    """Read texts such as `name=value`; values are YAML, so that `3` is a number and `a.pt` a text.

    Raises:
        SsdgymError: a text has another form, or a name is given twice.
    """
    found: dict[str, Any] = {}
    for piece in filter(None, map(str.strip, pieces)):
        name, equals, value = (part.strip() for part in piece.partition("="))
        if not equals or not name.isidentifier() or name in found:
            raise SsdgymError(f"{where}: {piece!r:.60} is not of the form name=value, each name once.")
        found[name] = parse_value(value, f"{where}: {name}")
    return found


#: Called with (observation, infos of the batch, actions, numbers of the environments that still count).
Watch = Callable[[Observation, dict[str, Any], np.ndarray, np.ndarray], None]


def play(agent: Agent, env: SB3VecEnv, first_seed: int, watch: Watch | None = None) -> list[dict[str, Any]]:
    """Play one whole episode in every environment.

    Environments whose episode is over go on with others, which do not count, until all are.

    Args:
        agent: takes the decisions.
        env: n environments.
        first_seed: seed of environment 0; environment i has `first_seed + i`.
        watch: called before every step.

    Returns:
        For each environment the info at the end of its episode, with `episode` and `metrics`.
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
    """Return a native vector environment of one device, whose episodes begin by `reset` alone.

    Args:
        environment: id and keyword arguments.
        more: keyword arguments of the vector environment.

    Raises:
        SsdgymError: there is no such environment, or it does not take the arguments.
    """
    check_arguments(environment.id, environment.kwargs)
    how = {"vectorization_mode": "vector_entry_point", "autoreset_mode": "Disabled", **more}
    return gym.make_vec(environment.id, num_envs=1, **how, **environment.kwargs)


def heuristic(env: VectorEnv, policy: str) -> Behaviour:
    """Return an agent that takes the picks of a proposer of the environment.

    Raises:
        SsdgymError: the environment has no such proposer. The behaviour raises it where that picks nothing.
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
    """Return the behaviour of an agent."""
    agent = source.build(env)

    def behave(observation: Observation, info: Mapping[str, Any], rng: np.random.Generator) -> int:
        return int(agent.act(observation, observation["action_mask"] != 0, rng)[0])

    return behave
