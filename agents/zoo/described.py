"""Summaries of the cards of agents, for tables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ssdgym.agents.card import AgentCard, DecisionCost, cost_of, read_parts, unpack_weights
from ssdgym.agents.zoo import PREFIX, find_agent, zoo_agents
from ssdgym.errors import SsdgymError
from ssdgym.policy.names import parse_policy

#: The kind of rule that an agent replaces, by the name of its environment without version.
_DECIDES = {
    "EraseVictim": "victim",
    "Placement": "placement",
    "BackgroundGC": "idle",
    "WearLevel": "levelling",
}


@dataclass(frozen=True)
class ZooAgent:
    """One agent of the zoo.

    Attributes:
        name: name of the agent. In policies it follows `agent:`.
        path: path of the agent's file.
        card: the description in the file.
    """

    name: str
    path: Path
    card: AgentCard

    @property
    def decides(self) -> str:
        """The kind of rule that the agent replaces; if there is none, the id of its environment."""
        return _DECIDES.get(self.card.decision, self.card.environment)

    @property
    def features(self) -> tuple[str, ...]:
        """The features that the agent observes: of candidates, if it scores them, then of the context."""
        return (*(self.card.candidate_features if self.card.scorer else ()), *self.card.context_features)

    @property
    def network(self) -> str:
        """A phrase that describes the shape of the agent's network."""
        layers = " x ".join(map(str, self.card.network.hidden))
        body = f"linear and {layers} units" if layers else "linear"
        if self.card.ordinal is None:
            return f"scores of candidates, {body}"
        actions = " and ".join(str(count) for _, count in self.card.ordinal.ranges)
        return f"ordinal with {actions} actions, {body}"

    @property
    def cost(self) -> DecisionCost:
        """The operations of a decision and the bytes of the weights."""
        return cost_of(self.card)

    @property
    def made(self) -> dict[str, Any]:
        """The known facts about the training: its command, seed, suite and hash of the splits."""
        known = {
            "command": self.card.command,
            "seed": self.card.training.get("seed"),
            "suite": self.card.suite,
            "split_digest": self.card.split_digest,
            "trained_by": self.card.how_trained,
        }
        return {name: value for name, value in known.items() if value not in (None, "")}

    def as_dict(self) -> dict[str, Any]:
        """Return a description of the agent that can be written as JSON."""
        return {
            "name": self.name,
            "path": str(self.path),
            "file_bytes": self.path.stat().st_size,
            "decides": self.decides,
            "features": list(self.features),
            "network": self.network,
            **vars(self.cost),
            **self.made,
            "results": dict(self.card.results),
        }


def described_zoo() -> list[ZooAgent]:
    """Return the agents that come with ssdgym, by name."""
    return [ZooAgent(name, path, read_parts(path)[0]) for name, path in zoo_agents().items()]


def described_agent(name: str) -> ZooAgent:
    """Return an agent of the zoo or from a path; read its weights, to refuse a damaged file."""
    path = find_agent(name)
    if not path.is_file():
        known = ", ".join(zoo_agents()) or "none"
        raise SsdgymError(f"there is no agent {name}; give a path, or one of the zoo: {known}.")
    card, weights = read_parts(path)
    if find_spec("safetensors"):  # without the extra `agents`, the card can still be shown
        unpack_weights(weights, card, str(path))
    return ZooAgent(name, path, card)


def agents_in(policy: str) -> Iterator[ZooAgent]:
    """Yield the agents that are parts of a policy such as `agent:victim-v1+sepbit`."""
    for name, _ in parse_policy(policy):
        if name.startswith(PREFIX):
            yield described_agent(name.removeprefix(PREFIX))
