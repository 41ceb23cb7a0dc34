"""Find an agent by what it is written as in a policy, and make a rule of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ssdgym.agents.card import AgentCard, read_parts
from ssdgym.agents.compiled.network import collect_idle, place_page
from ssdgym.agents.compiled.packing import CompiledNetwork, decision_of
from ssdgym.agents.compiled.victims import RecordingNetwork, place_and_note, score_blocks
from ssdgym.agents.zoo import find_agent
from ssdgym.engine.decisions import IDLE_STEPS
from ssdgym.errors import SsdgymError
from ssdgym.files import file_hash
from ssdgym.policy import IdleRule, PlacementRule, VictimRule
from ssdgym.policy.names import files_of
from ssdgym.policy.page_history import page_history
from ssdgym.policy.rules import Rule

#: Begins the names of such rules.
PREFIX = "agent:"
#: Agents without a file, by name.
_IN_TRAINING: dict[str, Rule] = {}


@dataclass(frozen=True)
class _OfAgent(Rule):
    """What rules of agents have beside others: the network."""

    network: CompiledNetwork = field(kw_only=True, compare=False)
    digest: str = field(kw_only=True)

    @property
    def code(self) -> bytes:
        """The files of the function, the hooks and the features, and the hash of the agent's file."""
        files = files_of([*self.network.functions, CompiledNetwork.record_on])
        features = b"".join(file.read_bytes() for file in files if file.is_file())
        return super().code + features + self.digest.encode()

    @cached_property
    def record(self) -> np.ndarray:
        """The rule, its hooks and its network for the engine, shape () RULE; compiles at first use."""
        record = super().record.copy()
        record["constants"] = self.network.record_on(self.memory).ctypes.data
        return record


@dataclass(frozen=True)
class AgentVictims(_OfAgent, VictimRule):
    """A candidate scorer that chooses victims."""


@dataclass(frozen=True)
class AgentPlacement(_OfAgent, PlacementRule):
    """A ordinal network that chooses write streams; it notes what `page_history` does."""


@dataclass(frozen=True)
class AgentIdle(_OfAgent, IdleRule):
    """A ordinal network that chooses how far an idle die collects."""


def rule_named(name: str) -> Rule:
    """Return the rule that an agent is.

    Args:
        name: `agent:` and the name of an agent of the zoo or the path of a file.

    Raises:
        SsdgymError: there is no such agent, or it cannot be a rule.
    """
    if name in _IN_TRAINING:
        return _IN_TRAINING[name]
    path = find_agent(name.removeprefix(PREFIX))
    try:
        digest = file_hash(path)
    except OSError as error:
        raise SsdgymError(
            f"policy {name}: there is no such agent ({error.strerror}); ssdgym zoo list names those there "
            "are."
        ) from None
    return _loaded(name, path, digest)


def register_trainable(card: AgentCard, weights: dict[str, np.ndarray]) -> tuple[str, CompiledNetwork]:
    """Let an agent whose weights change be a rule by name, in this process.

    Args:
        card: of the agent.
        weights: by name, to begin with.

    Returns:
        The name, and the network, whose weights are replaced where the engine reads them.

    Raises:
        SsdgymError: its decision, features or network are not for rules.
    """
    name = f"{PREFIX}in-training-{len(_IN_TRAINING)}"
    rule = rule_of(name, card, weights, name)
    _IN_TRAINING[name] = rule
    return name, rule.network


def register_recorder(card: AgentCard, weights: dict[str, np.ndarray]) -> tuple[str, RecordingNetwork]:
    """Let an agent that notes what it sees of the pages it places be a rule by name, in this process.

    Args:
        card: of the agent, which is a placement.
        weights: by name.

    Returns:
        The name, and the network, whose records have what was seen.

    Raises:
        SsdgymError: it is no placement, or its features or network are not for rules.
    """
    name = f"{PREFIX}recording-{len(_IN_TRAINING)}"
    network = RecordingNetwork(card, weights, f"policy {name}")
    if decision_of(card) != "Placement" or not card.ordinal:
        raise SsdgymError(
            f"lifetimes are for a placement with ordinal, not for {card.environment}; leave them out."
        )
    _IN_TRAINING[name] = _placement(place_and_note, network, name, card, name)
    return name, network


@cache  # for good: the engine reads weights where they lie
def _loaded(name: str, path: Path, digest: str) -> Rule:
    card, data = read_parts(path)
    return rule_of(name, card, _unpacked(data, name), digest)


def rule_of(name: str, card: AgentCard, weights: dict[str, np.ndarray], digest: str) -> _OfAgent:
    """Make a rule of an agent.

    Args:
        name: of the rule.
        card: of the agent.
        weights: by name.
        digest: hash of these.

    Raises:
        SsdgymError: its decision, features or network are not for rules.
    """
    network = CompiledNetwork(card, weights, f"policy {name}")
    common: dict[str, Any] = {"name": name, "source": f"learned: {card.how_trained}", "digest": digest}
    decision = decision_of(card)
    if decision == "EraseVictim" and card.scorer:
        return AgentVictims(function=score_blocks, network=network, **common)
    if decision == "Placement" and card.ordinal:
        return _placement(place_page, network, name, card, digest)
    if decision == "BackgroundGC" and card.ordinal:
        if card.ordinal.actions > len(IDLE_STEPS):
            raise SsdgymError(
                f"policy {name}: has {card.ordinal.actions} actions, and an idle die has {len(IDLE_STEPS)} "
                "answers; train one with as many."
            )
        return AgentIdle(function=collect_idle, network=network, **common)
    raise SsdgymError(
        f"policy {name}: an agent of {card.environment} with this network is no rule; play it as --agent."
    )


def _placement(
    function: Callable[..., int], network: CompiledNetwork, name: str, card: AgentCard, digest: str
) -> AgentPlacement:
    assert card.ordinal is not None, "placements are ordinal networks"
    return AgentPlacement(
        name=name,
        source=f"learned: {card.how_trained}",
        digest=digest,
        function=function,
        network=network,
        streams=card.ordinal.actions,
        relocation_streams=card.ordinal.ranges[-1][1],
        memory=page_history.memory,
        hooks=page_history.hooks,
    )


def _unpacked(data: bytes, name: str) -> dict[str, np.ndarray]:
    try:
        from safetensors import SafetensorError
        from safetensors.numpy import load
    except ModuleNotFoundError as error:
        raise SsdgymError(
            f"policy {name}: needs the package {error.name}: install it with pip install 'ssdgym[agents]'."
        ) from error
    try:
        return load(data)
    except (SafetensorError, ValueError, KeyError, OverflowError) as error:
        raise SsdgymError(
            f"policy {name}: its weights are damaged ({error!s:.60}); train it again."
        ) from error
