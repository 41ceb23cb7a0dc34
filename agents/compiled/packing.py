"""From the weights of an agent to the record that its rule reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ssdgym.agents.card import SWITCH, AgentCard, OrdinalConfig, ScorerConfig
from ssdgym.agents.compiled.network import (
    CONTEXT_KINDS,
    MAX_FEATURES,
    MAX_LAYERS,
    MAX_WEIGHTS,
    MAX_WIDTH,
    NETWORK,
)
from ssdgym.agents.cost import cost_of
from ssdgym.engine.core.handle import Memory
from ssdgym.envs.features.registry import RegisteredFeature, find_features
from ssdgym.envs.features.selection import PROPOSED_BY, SAMPLED_PAGES
from ssdgym.errors import SsdgymError

Weights = Mapping[str, np.ndarray]

#: Features that need more than a rule is told: the other candidates, or when the last decision was.
_NEED_MORE = ("wear", "host_pages", "elapsed")
#: What the context of each decision may be about.
_CONTEXT_OF = {
    "EraseVictim": ("device", "decision"),
    "Placement": ("device", "decision", "page"),
    "BackgroundGC": ("device", "decision", "die"),
}
#: The notes that placements of agents keep.
_NOTES = ("", "page_history")


class CompiledNetwork:
    """The network of an agent, as rules read it.

    Args:
        card: of the agent.
        weights: by name, as its file has them.
        who: names it in errors.

    Raises:
        SsdgymError: a feature, or the shape of the network, is not for rules.
    """

    #: Of the record that the rule reads.
    dtype = NETWORK

    def __init__(self, card: AgentCard, weights: Weights, who: str) -> None:
        self.card, self.who = card, who
        self._features = _features_of(card, who)
        self._records: dict[Memory, np.ndarray] = {}
        _check_size(card, who)
        self.packed = _checked_pack(card, weights, who)

    @property
    def functions(self) -> list[Callable[..., float]]:
        """The functions of its features."""
        return [one.function for part in self._features for one in part]

    @property
    def records(self) -> list[np.void]:
        """What rules read, a record for each kind of devices, where they read it."""
        return [record[0] for record in self._records.values()]

    def record_on(self, memory: Memory) -> np.ndarray:
        """Return the constants of a rule, shape (1,) NETWORK; compiles features at first use.

        Args:
            memory: the records of the rule, as they lie on the devices.
        """
        if memory not in self._records:
            record = np.zeros(1, self.dtype)
            _write_shape(record[0], self.card)
            self._write_features(record[0], memory)
            self._records[memory] = record
            self.set_weights(self.packed)
        return self._records[memory]

    def set_weights(self, packed: Sequence[np.ndarray]) -> None:
        """Replace the weights of all rules that read this network.

        Args:
            packed: as `_packed` returns them.
        """
        body, linear = packed
        scorer = self.card.scorer
        for record in self._records.values():
            if scorer:
                # A correction that is zero, as that of an untrained network, is not computed.
                corrects = np.any(body[-1 - scorer.hidden[-1] :])
                record["layers"] = len(scorer.hidden) if corrects else 0
            record["weights"][0, : len(body)] = body
            record["weights"][0, MAX_WEIGHTS - len(linear) :] = linear

    def replace_weights(self, weights: Weights) -> None:
        """Replace the weights by others of the same shape.

        Args:
            weights: by name, as PyTorch has them.
        """
        self.packed = _packed(self.card, weights)
        self.set_weights(self.packed)

    def _write_features(self, record: np.void, memory: Memory) -> None:
        candidates, context = self._features
        record["sampled"] = SAMPLED_PAGES if any(one.samples_pages for one in candidates) else 0
        for k, one in enumerate(candidates):
            record["feature"][k] = one.address_on(Memory())
        for k, one in enumerate(context):
            record["entry"][k] = one.address_on(memory if one.tracker else Memory())
            record["entry_kind"][k] = CONTEXT_KINDS.index(one.kind)


def _features_of(card: AgentCard, who: str) -> tuple[list[RegisteredFeature], list[RegisteredFeature]]:
    """Return the features that are computed: of candidates, where these are scored, and of the context."""
    for name in (*(card.candidate_features if card.scorer else ()), *card.context_features):
        if name in _NEED_MORE or name.startswith(PROPOSED_BY):
            raise _unknown(name, who)
    candidates = find_features(card.candidate_features) if card.scorer else []
    context = find_features(card.context_features)
    about = _CONTEXT_OF.get(decision_of(card), CONTEXT_KINDS)
    for one, kinds in [
        *((one, ("candidate",)) for one in candidates),
        *((one, about) for one in context),
    ]:
        if one.kind not in kinds or one.tracker not in _NOTES:
            raise _unknown(one.feature.name, who)
    return candidates, context


def _unknown(name: str, who: str) -> SsdgymError:
    return SsdgymError(
        f"{who}: its feature {name} is not known to a rule; train it without, or play it as --agent."
    )


def decision_of(card: AgentCard) -> str:
    """Return the decision of an agent's environment, such as `EraseVictim`.

    Args:
        card: of the agent.
    """
    return card.environment.partition("/")[2].partition("-")[0]


def _checked_pack(card: AgentCard, weights: Weights, who: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the packed weights.

    Raises:
        SsdgymError: they are not those of the network that the card describes.
    """
    expected = cost_of(card).weight_bytes // np.dtype(np.float32).itemsize
    if card.scorer:
        expected -= card.scorer.hidden[0]  # two biases are packed as one
    try:
        packed = _packed(card, weights)
    except (KeyError, ValueError, IndexError):
        packed = (np.zeros(0, np.float32), np.zeros(0, np.float32))
    if sum(map(len, packed)) != expected:
        raise SsdgymError(f"{who}: its weights do not fit its description; train it again.")
    return packed


def _check_size(card: AgentCard, who: str) -> None:
    network = card.scorer or card.ordinal
    assert network is not None, "a card has one of the two"
    if card.scorer and card.scorer.pooling != "none":
        raise SsdgymError(
            f"{who}: pools candidates, and a rule scores every block by itself; train it with pooling: none."
        )
    features = max(len(card.candidate_features), len(card.context_features))
    weights = cost_of(card).weight_bytes // np.dtype(np.float32).itemsize
    shape = (features, len(network.hidden), max((0, *network.hidden)), weights)
    for what, size, most in zip(
        ("features", "hidden layers", "units in a layer", "weights"),
        shape,
        (MAX_FEATURES, MAX_LAYERS, MAX_WIDTH, MAX_WEIGHTS),
        strict=True,
    ):
        if size > most:
            raise SsdgymError(f"{who}: has {size} {what}, and a rule can have {most}; train a smaller one.")


def _write_shape(record: np.void, card: AgentCard) -> None:
    record["entries"] = len(card.context_features)
    record["switch"] = -1
    network = card.scorer or card.ordinal
    assert network is not None, "a card has one of the two"
    record["layers"] = len(network.hidden)
    record["widths"][: len(network.hidden)] = network.hidden
    if card.scorer:
        record["features"] = len(card.candidate_features)
    if card.ordinal:
        record["heads"] = card.ordinal.heads
        record["first"][: card.ordinal.heads] = [first for first, _ in card.ordinal.ranges]
        record["actions"][: card.ordinal.heads] = [count for _, count in card.ordinal.ranges]
        record["thresholds"] = max(*(count for _, count in card.ordinal.ranges), 2) - 1
        if card.ordinal.heads > 1:
            record["switch"] = card.context_features.index(SWITCH)


def _packed(card: AgentCard, weights: Weights) -> tuple[np.ndarray, np.ndarray]:
    """Return the weights in the order in which rules read them, and those that stand at the end."""
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
        # ReLU stands before each linear layer of the body, which begins with one
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
