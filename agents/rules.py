"""Agents as compiled rules: load them by name, check them, and pack their weights for the engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ssdgym.agents.card import (
    SWITCH,
    AgentCard,
    OrdinalConfig,
    ScorerConfig,
    Weights,
    cost_of,
    read_parts,
    unpack_weights,
)
from ssdgym.agents.scoring import (
    CONTEXT_KINDS,
    MAX_FEATURES,
    MAX_LAYERS,
    MAX_WEIGHTS,
    MAX_WIDTH,
    NETWORK,
    RECORDER,
    collect_idle,
    level_wear,
    place_and_note,
    place_page,
    score_blocks,
    score_streams,
)
from ssdgym.agents.training.config import default_of
from ssdgym.agents.zoo import PREFIX, find_agent
from ssdgym.engine.core.handle import Memory
from ssdgym.engine.decisions import IDLE_STEPS
from ssdgym.envs.features.registry import RegisteredFeature, find_features
from ssdgym.envs.features.selection import PROPOSED_BY, SAMPLED_PAGES
from ssdgym.errors import SsdgymError
from ssdgym.files import file_hash, refuse_special
from ssdgym.policy import Kind, Rule
from ssdgym.policy.names import files_of
from ssdgym.policy.page_history import page_history

#: Features that no rule can compute: they need all candidates or the time of the last decision.
_NEED_MORE = ("wear", "host_pages", "elapsed")
#: The kinds of context features that a rule can compute in each decision.
_CONTEXT_OF = {
    "EraseVictim": ("device", "decision"),
    "Placement": ("device", "decision", "page"),
    "BackgroundGC": ("device", "decision", "die"),
    "WearLevel": ("device", "decision"),
}
#: The kind of candidate features of each decision.
_CANDIDATES_OF = {"EraseVictim": "candidate", "Placement": "stream"}
#: The trackers whose features a rule can read; "" stands for features without a tracker.
_NOTES = ("", "page_history")


class CompiledNetwork:
    """The network of an agent, in records of `dtype` that compiled rules read; `who` begins its errors."""

    def __init__(self, card: AgentCard, weights: Weights, who: str, dtype: np.dtype = NETWORK) -> None:
        self.card, self.dtype = card, dtype
        self._features = _features_of(card, who)
        self._records: dict[Memory, np.ndarray] = {}
        _check_size(card, who)
        self.packed = _packed(card, weights)

    @property
    def functions(self) -> list[Callable[..., float]]:
        """The functions of the network's features."""
        return [one.function for part in self._features for one in part]

    @property
    def records(self) -> list[np.void]:
        """The records made so far, one for each layout of the memory of the rules that read them."""
        return [record[0] for record in self._records.values()]

    def record_on(self, memory: Memory) -> np.ndarray:
        """Return the network's record, (1,) `dtype`, for a rule with this memory. Compiles at first use."""
        if memory not in self._records:
            record = np.zeros(1, self.dtype)
            _write_shape(record[0], self.card)
            self._write_features(record[0], memory)
            self._records[memory] = record
            self._write_weights()
        return self._records[memory]

    def _write_weights(self) -> None:
        """Write the weights into all records."""
        body, linear = self.packed
        scorer = self.card.scorer
        for record in self._records.values():
            if scorer:
                # Hidden layers whose output is always zero, as in an untrained network, are skipped.
                corrects = np.any(body[-1 - scorer.hidden[-1] :])
                record["layers"] = len(scorer.hidden) if corrects else 0
            record["weights"][0, : len(body)] = body
            record["weights"][0, MAX_WEIGHTS - len(linear) :] = linear

    def replace_weights(self, weights: Weights) -> None:
        """Replace the weights in all records; keys are names in PyTorch, shapes stay the same."""
        self.packed = _packed(self.card, weights)
        self._write_weights()

    def _write_features(self, record: np.void, memory: Memory) -> None:
        candidates, context = self._features
        record["sampled"] = SAMPLED_PAGES if any(one.samples_pages for one in candidates) else 0
        for k, one in enumerate(candidates):
            record["feature"][k] = one.address_on(memory if one.tracker else Memory())
        for k, one in enumerate(context):
            record["entry"][k] = one.address_on(memory if one.tracker else Memory())
            record["entry_kind"][k] = CONTEXT_KINDS.index(one.kind)


def _features_of(card: AgentCard, who: str) -> tuple[list[RegisteredFeature], list[RegisteredFeature]]:
    """Return the features of candidates (none for an ordinal network) and of the context, or raise."""
    for name in (*(card.candidate_features if card.scorer else ()), *card.context_features):
        is_of_plane = name == "wear" and card.decision == "WearLevel"
        if (name in _NEED_MORE and not is_of_plane) or name.startswith(PROPOSED_BY):
            raise _unknown(name, who)
    candidates = find_features(card.candidate_features) if card.scorer else []
    context = find_features(card.context_features)
    scored = (_CANDIDATES_OF.get(card.decision, "candidate"),)
    for found, kinds in ((candidates, scored), (context, _CONTEXT_OF.get(card.decision, CONTEXT_KINDS))):
        for one in found:
            if one.kind not in kinds or one.tracker not in _NOTES:
                raise _unknown(one.feature.name, who)
    return candidates, context


def _unknown(name: str, who: str) -> SsdgymError:
    return SsdgymError(
        f"{who}: its feature {name} is not known to a rule; train it without, or play it as --agent."
    )


def _streams_of(card: AgentCard, who: str) -> int:
    """Return the number of write streams of a placement."""
    given = card.arguments
    streams = given["streams"] if "streams" in given else default_of(card.environment, "streams")
    if streams is None:
        raise SsdgymError(f"{who}: its card does not say how many streams it has; train it with streams.")
    return int(streams)


def _check_size(card: AgentCard, who: str) -> None:
    if card.scorer and card.scorer.pooling != "none":
        raise SsdgymError(
            f"{who}: pools candidates, and a rule scores every block by itself; train it with pooling: none."
        )
    hidden = card.network.hidden
    for what, size, most in (
        ("features", max(len(card.candidate_features), len(card.context_features)), MAX_FEATURES),
        ("hidden layers", len(hidden), MAX_LAYERS),
        ("units in a layer", max((0, *hidden)), MAX_WIDTH),
        ("weights", cost_of(card).weight_bytes // np.dtype(np.float32).itemsize, MAX_WEIGHTS),
    ):
        if size > most:
            raise SsdgymError(f"{who}: has {size} {what}, and a rule can have {most}; train a smaller one.")


def _write_shape(record: np.void, card: AgentCard) -> None:
    record["entries"] = len(card.context_features)
    record["switch"] = -1
    hidden = card.network.hidden
    record["layers"] = len(hidden)
    record["widths"][: len(hidden)] = hidden
    if card.scorer:
        record["features"] = len(card.candidate_features)
        if card.decision == "Placement":
            record["actions"][0] = _streams_of(card, card.environment)
    if card.ordinal:
        record["heads"] = card.ordinal.heads
        record["first"][: card.ordinal.heads] = [first for first, _ in card.ordinal.ranges]
        record["actions"][: card.ordinal.heads] = [count for _, count in card.ordinal.ranges]
        record["thresholds"] = max(*(count for _, count in card.ordinal.ranges), 2) - 1
        if card.ordinal.heads > 1:
            record["switch"] = card.context_features.index(SWITCH)


def _packed(card: AgentCard, weights: Weights) -> tuple[np.ndarray, np.ndarray]:
    """Return the weights at the beginning of `NETWORK["weights"]`, in order, and those at its end."""
    if card.ordinal:
        return _packed_ordinal(card.ordinal, weights), np.zeros(0, np.float32)
    assert card.scorer is not None, "a card has one of the two"
    return _packed_scorer(card.scorer, weights)


def _packed_scorer(config: ScorerConfig, weights: Weights) -> tuple[np.ndarray, np.ndarray]:
    linear = np.exp(weights["linear.log_sharpness"]) * weights["linear.weights"]
    parts = [
        weights["shared_layer.bias"] + weights["candidate_layer.bias"],
        weights["shared_layer.weight"].T,
        weights["candidate_layer.weight"].T,
    ]
    for layer in range(1, len(config.hidden)):
        # each linear layer of the body follows a ReLU
        parts += [weights[f"body.{2 * layer - 1}.bias"], weights[f"body.{2 * layer - 1}.weight"].T]
    parts += [weights["score_layer.bias"], weights["score_layer.weight"]]
    return _joined(parts), linear.astype(np.float32)


def _packed_ordinal(config: OrdinalConfig, weights: Weights) -> np.ndarray:
    first = weights["first_threshold"][:, None]
    thresholds = np.concatenate([first, first + np.exp(weights["log_gaps"]).cumsum(-1)], axis=-1)
    parts = [weights["centre"], weights["scale"], weights["weights"], weights["bias"], thresholds]
    for layer in range(len(config.hidden)):
        parts += [weights[f"body.{2 * layer}.bias"], weights[f"body.{2 * layer}.weight"].T]
    if config.hidden:
        last = f"body.{2 * len(config.hidden)}"
        for head in range(config.heads):
            parts += [weights[f"{last}.bias"][head : head + 1], weights[f"{last}.weight"][head]]
    return _joined(parts)


def _joined(parts: Sequence[np.ndarray]) -> np.ndarray:
    return np.concatenate([np.ascontiguousarray(part, np.float32).ravel() for part in parts])


#: Rules of agents that are in training and have no file, by name.
_IN_TRAINING: dict[str, Rule] = {}


@dataclass(frozen=True)
class AgentRule(Rule):
    """A rule that evaluates a network. A placement has the memory and hooks of the tracker `page_history`."""

    network: CompiledNetwork = field(kw_only=True, compare=False)
    digest: str = field(kw_only=True)

    @property
    def code(self) -> bytes:
        """The source code of the function, the hooks and the features, followed by `digest`."""
        files = files_of([*self.network.functions, CompiledNetwork.record_on])
        features = b"".join(file.read_bytes() for file in files if file.is_file())
        return super().code + features + self.digest.encode()

    @cached_property
    def record(self) -> np.ndarray:
        """The engine's record, () RULE, of rule, hooks and network, compiled at first use."""
        record = super().record.copy()
        record["constants"] = self.network.record_on(self.memory).ctypes.data
        return record


def rule_named(name: str) -> Rule:
    """Return the rule `agent:NAME`, where NAME is the name of an agent of the zoo or the path of a file.

    Raises:
        SsdgymError: there is no such agent, or it cannot be compiled as a rule.
    """
    if name in _IN_TRAINING:
        return _IN_TRAINING[name]
    path = find_agent(name.removeprefix(PREFIX))
    refuse_special(path)
    try:
        digest = file_hash(path)
    except OSError as error:
        raise SsdgymError(
            f"policy {name}: there is no such agent ({error.strerror}); ssdgym list agents names those there "
            "are."
        ) from None
    return _loaded(name, path, digest)


def register_trainable(card: AgentCard, weights: Weights) -> tuple[str, CompiledNetwork]:
    """Register a rule whose weights training replaces; return its name for policies and its network."""
    name = f"{PREFIX}in-training-{len(_IN_TRAINING)}"
    rule = rule_of(name, card, weights, name)
    _IN_TRAINING[name] = rule
    return name, rule.network


def register_recorder(card: AgentCard, weights: Weights) -> tuple[str, CompiledNetwork]:
    """Register a placement that records its features; return its name and the network that stores them."""
    name = f"{PREFIX}recording-{len(_IN_TRAINING)}"
    network = CompiledNetwork(card, weights, f"policy {name}", RECORDER)
    if card.decision != "Placement" or not card.ordinal:
        raise SsdgymError(
            f"lifetimes are for a placement with ordinal, not for {card.environment}; leave them out."
        )
    _IN_TRAINING[name] = _placement(place_and_note, network, name, name)
    return name, network


@cache  # never freed: the engine reads the weights by address
def _loaded(name: str, path: Path, digest: str) -> Rule:
    card, data = read_parts(path)
    return rule_of(name, card, unpack_weights(data, card, f"policy {name}"), digest)


#: The kind and the function of a rule that scores blocks, by decision.
_OF_BLOCKS: Mapping[str, tuple[Kind, Callable[..., int]]] = {
    "EraseVictim": ("victim", score_blocks),
    "WearLevel": ("levelling", level_wear),
}


def rule_of(name: str, card: AgentCard, weights: Weights, digest: str) -> AgentRule:
    """Make the rule of an agent; `digest` is the hash of its file, or a unique text without a file."""
    network = CompiledNetwork(card, weights, f"policy {name}")
    if card.decision in _OF_BLOCKS and card.scorer:
        return _rule(*_OF_BLOCKS[card.decision], network, name, digest)
    if card.decision == "Placement":
        return _placement(place_page if card.ordinal else score_streams, network, name, digest)
    if card.decision == "BackgroundGC" and card.ordinal:
        if card.ordinal.actions > len(IDLE_STEPS):
            raise SsdgymError(
                f"policy {name}: has {card.ordinal.actions} actions, and an idle die has {len(IDLE_STEPS)} "
                "answers; train one with as many."
            )
        return _rule("idle", collect_idle, network, name, digest)
    raise SsdgymError(
        f"policy {name}: an agent of {card.environment} with this network is no rule; play it as --agent."
    )


def _placement(function: Callable[..., int], network: CompiledNetwork, name: str, digest: str) -> AgentRule:
    streams, ordinal = _streams_of(network.card, f"policy {name}"), network.card.ordinal
    return _rule(
        "placement",
        function,
        network,
        name,
        digest,
        streams=streams,
        relocation_streams=ordinal.ranges[-1][1] if ordinal else streams,
        memory=page_history.memory,
        hooks=page_history.hooks,
    )


def _rule(
    kind: Kind, function: Callable[..., int], network: CompiledNetwork, name: str, digest: str, **more: Any
) -> AgentRule:
    source = f"learned: {network.card.how_trained}"
    return AgentRule(
        kind, function=function, network=network, name=name, source=source, digest=digest, **more
    )
