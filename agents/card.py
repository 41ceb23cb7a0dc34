"""Read the card (description) and the weights of a saved agent; count the operations of a decision."""

from __future__ import annotations

import itertools
import math
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import Field, PositiveFloat, ValidationError, model_validator

import ssdgym
from ssdgym.agents.features import FeatureNames
from ssdgym.agents.training.stages import Method, Stage, how_trained
from ssdgym.config.loading import Config
from ssdgym.errors import SsdgymError, needing
from ssdgym.files import DAMAGED_ZIP, refuse_special

#: The context feature that chooses between two heads of an ordinal network: 0 the first, 1 the second.
SWITCH = "page_relocated"
Start = Literal["cost_benefit", "greedy", "none"]


class ScorerConfig(Config):
    """Shape and initial weights of a `CandidateScorer`."""

    hidden: tuple[int, ...] = Field((32, 32), min_length=1, description="units of each hidden layer")
    pooling: Literal["mean_max", "none"] = Field(
        "mean_max", description="mean and maximum of all candidates' features as further inputs, or none"
    )
    start: Start = Field("cost_benefit", description="heuristic by which the untrained scorer ranks; or none")
    sharpness: float = Field(
        5.0,
        gt=0,
        description="initial scores are this factor times the logarithm (base 4) of the heuristic's score; "
        "at 5, a candidate's probability is proportional to the heuristic's score to the power 3.6",
    )


class OrdinalConfig(Config):
    """Shape of an `OrdinalNetwork`."""

    hidden: tuple[int, ...] = Field((), description="units of each hidden layer; (): no hidden layer")
    actions: int = Field(6, ge=2, le=16, description="number of actions, such as write streams")
    ranges: tuple[tuple[int, int], ...] = Field(
        ((0, 6), (0, 6)),
        min_length=1,
        max_length=2,
        description="(first action, number of actions) of each head; one head for all decisions, or one for "
        "host pages and one for relocated pages",
    )

    gap: PositiveFloat = Field(
        1.0, description="initial distance of neighbouring thresholds; if small, the end actions are frequent"
    )

    @model_validator(mode="after")
    def _ranges_are_of_actions(self) -> OrdinalConfig:
        for first, count in self.ranges:
            if first < 0 or count < 1 or first + count > self.actions:
                raise ValueError(f"ranges has ({first}, {count}), which is not within {self.actions} actions")
        return self

    @property
    def heads(self) -> int:
        """Number of heads: one for all decisions, or one for host pages and one for relocated pages."""
        return len(self.ranges)


class InputConfig(Config):
    """Scaling and initial weights of one feature.

    An ordinal network computes with `(feature - centre) / spread`. A scorer has one head and no scaling, and
    begins as `ScorerConfig.start` if `start` is () for all features.
    """

    centre: float = 0.0
    spread: PositiveFloat = 1.0
    start: tuple[float, ...] = Field((), description="initial weight of the feature in each head; (): zeros")


#: Names of the parts of an agent's file.
CARD, WEIGHTS = "agent.json", "weights.safetensors"
#: Largest size, in bytes, of a part of the file: enough for 67 million weights.
_LARGEST_PART = 1 << 28


class AgentCard(Config):
    """The description in the file of a saved agent."""

    format: Literal[3] = 3
    ssdgym_version: str = ssdgym.__version__
    algorithm: Method | Literal["none"] = Field(
        "none", description="method that trained the weights last; none: untrained weights"
    )
    environment: str
    decisions: int = Field(0, description="sum of `decisions` over the stages of `trained_by`")
    trained_by: tuple[Stage, ...] = Field((), description="stages of the training, in order")
    candidate_features: tuple[str, ...]
    context_features: tuple[str, ...]
    scorer: ScorerConfig | None = Field(None, description="shape of a network that scores candidates")
    ordinal: OrdinalConfig | None = Field(None, description="shape of an ordinal network")
    training: dict[str, Any] = {}
    command: str = Field("", description="command that reproduces the weights")
    suite: str = Field("", description="suite whose training and validation tasks were used")
    split_digest: str = Field("", description="hash of the splits of that suite")
    results: dict[str, float] = Field({}, description="measured results of the agent, by name")

    @model_validator(mode="after")
    def _has_one_network(self) -> AgentCard:
        if (self.scorer is None) == (self.ordinal is None):
            raise ValueError("has to have either scorer or ordinal")
        return self

    def trained(self, stages: Sequence[Stage], **fields: Any) -> AgentCard:
        """Return a copy with these stages, the fields that follow from them, and other `fields`."""
        made = {
            "algorithm": stages[-1].method if stages else "none",
            "decisions": sum(stage.decisions for stage in stages),
            "trained_by": tuple(stages),
        }
        return self.model_copy(update={**made, **fields})

    @property
    def decision(self) -> str:
        """Name of the environment without prefix and version, such as `EraseVictim`."""
        return self.environment.partition("/")[2].partition("-")[0]

    @property
    def network(self) -> ScorerConfig | OrdinalConfig:
        """The shape of the agent's network."""
        network = self.scorer or self.ordinal
        assert network is not None, "a card has one of the two"
        return network

    @property
    def features(self) -> FeatureNames:
        """The features the agent was trained on."""
        return FeatureNames(self.candidate_features, self.context_features)

    @property
    def arguments(self) -> Mapping[str, Any]:
        """Arguments of the training environment; `streams` defaults to `actions` of an ordinal network."""
        environment = self.training.get("environment", {})
        given = environment.get("kwargs", {}) if isinstance(environment, Mapping) else {}
        return {**({"streams": self.ordinal.actions} if self.ordinal else {}), **given}

    @property
    def how_trained(self) -> str:
        """A phrase that names the methods that have trained the weights."""
        if "suite" in self.training:  # an evolution: its configuration sets the initial weights
            return how_trained(self.trained_by, "the start of its configuration")
        return how_trained(self.trained_by, self.scorer.start if self.scorer else "none")


def read_parts(path: Path) -> tuple[AgentCard, bytes]:
    """Return an agent's card, and its weights as safetensors bytes. Nothing in the file is executed.

    Raises:
        SsdgymError: the file is missing, damaged, not a regular file, or not an agent.
    """
    refuse_special(path)
    try:
        with zipfile.ZipFile(path) as archive:
            card, weights = _part(archive, CARD), _part(archive, WEIGHTS)
    except FileNotFoundError as error:
        raise SsdgymError(f"{path}: there is no such agent; train one first or correct the path.") from error
    except DAMAGED_ZIP as error:
        raise SsdgymError(
            f"{path}: not an agent, or a damaged one ({str(error) or 'cut off'}); train it again."
        ) from error
    return _parse_card(path, card), weights


def _part(archive: zipfile.ZipFile, name: str) -> bytes:
    """Return the bytes of a part of an agent's file; first check its size and compression."""
    part = archive.getinfo(name)
    if part.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise NotImplementedError(f"{name} is neither stored nor deflated")
    if part.file_size > _LARGEST_PART:
        raise zipfile.BadZipFile(f"{name} has {part.file_size:,} bytes, and an agent's has {_LARGEST_PART:,}")
    with archive.open(part) as file:
        return file.read(part.file_size)  # without a size, read() would unpack more than `file_size`


def _parse_card(path: Path, card: bytes) -> AgentCard:
    try:
        return AgentCard.model_validate_json(card)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"])) or "contents"
        raise SsdgymError(f"{path}: {CARD}: {field}: {first['msg']}; train the agent again.") from error


#: Arrays of weights by their names in the PyTorch network.
Weights = Mapping[str, np.ndarray]


def weight_shapes(card: AgentCard) -> dict[str, tuple[int, ...]]:
    """Return the shape of each weight array of a card's network, by its name in PyTorch."""
    entries = len(card.context_features)
    if card.ordinal is not None:
        return _shapes_of_ordinal(card.ordinal, entries)
    assert card.scorer is not None, "a card has one of the two"
    features, widths = len(card.candidate_features), card.scorer.hidden
    pooled = 2 * features if card.scorer.pooling == "mean_max" else 0
    layers = {
        "candidate_layer": (widths[0], features),
        "shared_layer": (widths[0], entries + pooled),
        **{f"body.{2 * k + 1}": (out, into) for k, (into, out) in enumerate(itertools.pairwise(widths))},
        "score_layer": (1, widths[-1]),
        "value_embedding": (widths[0], features),
        "value_body.0": (widths[0], entries + 2 * widths[0]),
        "value_body.2": (1, widths[0]),
    }
    return {"linear.weights": (features,), "linear.log_sharpness": (), **_of_layers(layers)}


def _shapes_of_ordinal(config: OrdinalConfig, entries: int) -> dict[str, tuple[int, ...]]:
    heads, most = config.heads, max(count for _, count in config.ranges)
    widths = (entries, *config.hidden, heads) if config.hidden else ()
    layers = {f"body.{2 * k}": (out, into) for k, (into, out) in enumerate(itertools.pairwise(widths))}
    return {
        "centre": (entries,),
        "scale": (entries,),
        "weights": (heads, entries),
        "bias": (heads,),
        "first_threshold": (heads,),
        "log_gaps": (heads, max(most - 2, 0)),
        **_of_layers(layers),
    }


#: Prefixes of names of weights that are neither searched nor counted as costs: those of the value, and the
#: sharpness, which only multiplies the linear weights.
WITHOUT_EFFECT = ("value_", "linear.log_sharpness")


def _of_layers(layers: Mapping[str, tuple[int, int]]) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the weights and the biases of linear layers."""
    weights = {f"{name}.weight": shape for name, shape in layers.items()}
    return {**weights, **{f"{name}.bias": shape[:1] for name, shape in layers.items()}}


def unpack_weights(data: bytes, card: AgentCard, where: str) -> Weights:
    """Return the weights of an agent's file. Nothing in the file is executed.

    Args:
        data: the stored weights in the safetensors format.
        card: the description of the agent.
        where: first part of error messages.

    Raises:
        SsdgymError: the bytes are damaged, in another format, not the single-precision weights that the card
            describes, or not finite; or the package that reads them is missing.
    """
    with needing("agents", f"{where}: needs"):
        from safetensors import SafetensorError
        from safetensors.numpy import load
    try:
        weights: Weights = load(data)
    except (SafetensorError, ValueError, KeyError, OverflowError) as error:
        raise SsdgymError(f"{where}: its weights are damaged ({error!s:.60}); train it again.") from error
    expected = {name: (np.dtype(np.float32), shape) for name, shape in weight_shapes(card).items()}
    found = {name: (array.dtype, array.shape) for name, array in weights.items()}
    if wrong := [name for name in sorted(expected | found) if expected.get(name) != found.get(name)]:
        raise SsdgymError(
            f"{where}: its weights do not fit its description ({wrong[0]!s:.60}); train it again."
        )
    for name, array in weights.items():
        if not np.isfinite(array).all():
            raise SsdgymError(f"{where}: its weights {name} are not all finite; train it again.")
    return weights


_BYTES = 4


@dataclass(frozen=True)
class DecisionCost:
    """The cost of a decision, without comparisons and the additions of pooling.

    Attributes:
        shared_multiply_adds: multiply-adds per decision.
        candidate_multiply_adds: further multiply-adds per candidate.
        weight_bytes: bytes of the weights that scores need, in single precision.
    """

    shared_multiply_adds: int
    candidate_multiply_adds: int
    weight_bytes: int

    def multiply_adds(self, candidates: int) -> int:
        """Return the multiply-adds of a decision among `candidates` candidates."""
        return self.shared_multiply_adds + self.candidate_multiply_adds * candidates


def cost_of(card: AgentCard) -> DecisionCost:
    """Return the cost of a decision of an agent."""
    shapes = {name: one for name, one in weight_shapes(card).items() if not name.startswith(WITHOUT_EFFECT)}
    weight_bytes = _BYTES * sum(map(math.prod, shapes.values()))
    entries, widths = len(card.context_features), card.network.hidden
    if card.ordinal is not None:
        # One multiply-add per feature for scaling and one for the linear part; then the hidden layers.
        widths = (entries, *widths, 1) if widths else ()
        return DecisionCost(2 * entries + _between(widths), 0, weight_bytes)
    features, first = len(card.candidate_features), widths[0]
    shared = shapes["shared_layer.weight"][1] * first
    return DecisionCost(shared, features * first + _between(widths) + widths[-1] + features, weight_bytes)


def _between(widths: Sequence[int]) -> int:
    return sum(inputs * outputs for inputs, outputs in itertools.pairwise(widths))
