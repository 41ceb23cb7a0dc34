"""Write an agent as one C header, for simulators and firmware without Python and PyTorch.

The header needs only the C library, keeps no state, allocates nothing, and computes in single precision.
"""

from __future__ import annotations

import itertools
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from string import Template
from typing import Any

import numpy as np
import torch

from ssdgym.agents.agent import Agent
from ssdgym.agents.card import cost_of
from ssdgym.agents.networks import CandidateScorer, OrdinalNetwork
from ssdgym.errors import SsdgymError

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PER_LINE = 6

_HEADER = Template("""\
/* $title
 *
 * Made by ssdgym $version from an agent for $environment.
 * Trained by: $trained.
 * A decision among K candidates costs $fixed + $each * K multiply-adds; the weights take $bytes bytes.
 *
 * Candidate features, in order:
$candidate_features
 * Context features, in order:
$context_features
 */
#ifndef ${guard}
#define ${guard}

#include <float.h>

#define ${upper}_CANDIDATE_FEATURES $features
#define ${upper}_CONTEXT_FEATURES $entries
#define ${upper}_CANDIDATE_NAMES $candidate_names
#define ${upper}_CONTEXT_NAMES $context_names

$weights

/* Writes the scores of `count` candidates; those whose `valid` is 0 keep -1e9.
 *
 * candidates: count rows of ${upper}_CANDIDATE_FEATURES numbers.
 * context: ${upper}_CONTEXT_FEATURES numbers.
 * valid: count bytes.
 * scores: count numbers.
 */
static inline void ${name}_scores(const float *candidates, const float *context,
                                  const unsigned char *valid, int count, float *scores)
{
    float shared_inputs[$shared_inputs];
    float shared[$width];
    int i, j, k;

    for (i = 0; i < $entries; i++)
        shared_inputs[i] = context[i];
$pooling
    for (j = 0; j < $width; j++) {
        float sum = ${name}_shared_bias[j];
        for (i = 0; i < $shared_inputs; i++)
            sum += ${name}_shared[j][i] * shared_inputs[i];
        shared[j] = sum;
    }
    for (k = 0; k < count; k++) {
        const float *own = candidates + (long)k * $features;
        float linear = 0.0f, score = ${name}_score_bias[0];
$declarations
        if (!valid[k]) {
            scores[k] = -1e9f;
            continue;
        }
        for (j = 0; j < $width; j++) {
            float sum = ${name}_candidate_bias[j] + shared[j];
            for (i = 0; i < $features; i++)
                sum += ${name}_candidate[j][i] * own[i];
            hidden0[j] = sum > 0.0f ? sum : 0.0f;
        }
$body
        for (i = 0; i < $last_width; i++)
            score += ${name}_score[0][i] * $last[i];
        for (i = 0; i < $features; i++)
            linear += ${name}_linear[i] * own[i];
        scores[k] = score + linear;
    }
}

/* Returns the valid candidate with the highest score, the first of equals; 0 if none is valid.
 * `scores` is scratch for count numbers.
 */
static inline int ${name}_choose(const float *candidates, const float *context,
                                 const unsigned char *valid, int count, float *scores)
{
    int best = 0, k;

    ${name}_scores(candidates, context, valid, count, scores);
    for (k = 1; k < count; k++)
        if (scores[k] > scores[best])
            best = k;
    return best;
}

#endif
""")

_POOLING = Template("""\
    {
        int chosen = 0;

        for (k = 0; k < count; k++)
            chosen += valid[k] != 0;
        for (i = 0; i < $features; i++) {
            float sum = 0.0f, largest = -FLT_MAX;
            for (k = 0; k < count; k++) {
                float value = candidates[(long)k * $features + i];
                if (!valid[k])
                    continue;
                sum += value;
                if (value > largest)
                    largest = value;
            }
            shared_inputs[$entries + i] = chosen ? sum / (float)chosen : 0.0f;
            shared_inputs[$entries + $features + i] = chosen ? largest : 0.0f;
        }
    }""")

_LAYER = Template("""\
    for (j = 0; j < $outputs; j++) {
        float sum = ${name}_body${number}_bias[j];
        for (i = 0; i < $inputs; i++)
            sum += ${name}_body${number}[j][i] * $before[i];
        hidden${number}[j] = sum > 0.0f ? sum : 0.0f;
    }
""")


def c_header(agent: Agent, name: str = "agent") -> str:
    """Return an agent as the text of a C header (C99).

    The header of a network that scores candidates has the functions `NAME_scores` and `NAME_choose`; that of
    an ordinal network has `NAME_number` and `NAME_act`. Their results differ from PyTorch's by rounding only,
    because sums are computed in another order.

    Args:
        agent: a trained agent.
        name: prefix of the functions and arrays.

    Raises:
        SsdgymError: `name` is not a C identifier, or the agent cannot be written in C.
    """
    _check(agent, name)
    card = agent.card
    common = {
        "version": card.ssdgym_version,
        "environment": card.environment,
        "trained": of_comment(card.how_trained),
        "bytes": cost_of(card).weight_bytes,
        "context_features": listed(card.context_features),
        "context_names": strings(card.context_features),
        "guard": f"SSDGYM_{name.upper()}_H",
        "upper": name.upper(),
        "name": name,
        "entries": len(card.context_features),
    }
    return (_ordinal_header if card.ordinal else _scorer_header)(agent, name, common)


def _scorer_header(agent: Agent, name: str, common: Mapping[str, Any]) -> str:
    card, scorer, cost = agent.card, agent.scorer, cost_of(agent.card)
    assert card.scorer is not None and isinstance(scorer, CandidateScorer), "others are ordinal"
    features, entries = len(card.candidate_features), len(card.context_features)
    widths = card.scorer.hidden
    pools = card.scorer.pooling == "mean_max"
    return _HEADER.substitute(
        common,
        title=f"The agent {name}: which of several candidates is chosen.",
        fixed=cost.shared_multiply_adds,
        each=cost.candidate_multiply_adds,
        candidate_features=listed(card.candidate_features),
        candidate_names=strings(card.candidate_features),
        features=features,
        weights="\n".join(_arrays(name, scorer)),
        shared_inputs=entries + 2 * features * pools,
        width=widths[0],
        pooling=_POOLING.substitute(features=features, entries=entries) if pools else "",
        declarations="\n".join(f"        float hidden{k}[{width}];" for k, width in enumerate(widths)),
        body=textwrap.indent(_layers(name, widths, 1), "    ").rstrip("\n"),
        last_width=widths[-1],
        last=f"hidden{len(widths) - 1}",
    )


def _layers(name: str, widths: Sequence[int], first: int) -> str:
    """Return the statements of the layers between successive widths, numbered from `first` on."""
    return "".join(
        _LAYER.substitute(
            name=name,
            number=number,
            before=f"hidden{number - 1}" if number else "inputs",
            inputs=inputs,
            outputs=outputs,
        )
        for number, (inputs, outputs) in enumerate(itertools.pairwise(widths), first)
    )


def _arrays(name: str, scorer: CandidateScorer) -> list[str]:
    """Return the definitions of the weights, except those that only training needs."""
    layers = {"candidate": scorer.candidate_layer, "shared": scorer.shared_layer}
    linear = [layer for layer in scorer.body if isinstance(layer, torch.nn.Linear)]
    layers |= {f"body{number}": layer for number, layer in enumerate(linear, 1)}
    layers["score"] = scorer.score_layer
    sharp = scorer.linear.log_sharpness.exp() * scorer.linear.weights
    found = [array(f"{name}_linear", sharp)]
    for layer, module in layers.items():
        found += [array(f"{name}_{layer}", module.weight), array(f"{name}_{layer}_bias", module.bias)]
    return found


def _check(agent: Agent, name: str) -> None:
    """Raise if `name` is not a C identifier, weights are not finite, or the agent sees no context."""
    if not _NAME.fullmatch(name):
        raise SsdgymError(
            f"name = {name!r} is no name in C: use letters, digits and _, and no digit in front."
        )
    for weights, tensor in agent.scorer.state_dict().items():
        if not torch.isfinite(tensor).all():
            raise SsdgymError(f"the agent's {weights} holds what is no finite number; train it again.")
    if not agent.card.context_features:
        raise SsdgymError("the agent sees no context, for which C has no array; train one that does.")


def of_comment(text: str) -> str:
    """Escape a text for a C comment."""
    return text.replace("*/", "* /")


def listed(names: Iterable[str]) -> str:
    """Return names as numbered lines of a comment."""
    return "\n".join(f" *   {number}: {of_comment(feature)}" for number, feature in enumerate(names))


def strings(names: Iterable[str]) -> str:
    """Return the initialiser of an array of strings, a name per line of a macro."""
    return "{" + ", ".join(f'\\\n    "{_of_string(name)}"' for name in names) + "}"


def _of_string(text: str) -> str:
    """Escape a text for a C string."""
    return text.replace("\\", r"\\").replace('"', r"\"")


def array(name: str, values: torch.Tensor) -> str:
    """Return the C definition of an array of one or two dimensions; every number is written exactly."""
    numbers = values.detach().cpu().numpy().astype(np.float32)
    shape = "".join(f"[{length}]" for length in numbers.shape)
    return f"static const float {name}{shape} = {_initialiser(numbers)};"


def _initialiser(numbers: np.ndarray) -> str:
    if numbers.ndim == 2:
        return "{" + ",\n    ".join(_initialiser(row) for row in numbers) + "}"
    texts = [_number(number) for number in numbers]
    lines = [", ".join(texts[first : first + _PER_LINE]) for first in range(0, len(texts), _PER_LINE)]
    return "{" + ",\n     ".join(lines) + "}"


def _number(number: np.float32) -> str:
    """Return a constant that is read as the same number: nine digits are enough for single precision."""
    text = f"{float(number):.9g}"
    return f"{text}f" if set(text) & set(".en") else f"{text}.0f"


_ORDINAL_HEADER = Template("""\
/* The agent $name: one number of a decision, and how many thresholds lie below it.
 *
 * Made by ssdgym $version from an agent for $environment.
 * Trained by: $trained.
 * A decision costs $multiply_adds multiply-adds; the weights take $bytes bytes.
 *
 * Context features, in order:
$context_features
 */
#ifndef ${guard}
#define ${guard}

#define ${upper}_CONTEXT_FEATURES $entries
#define ${upper}_CONTEXT_NAMES $context_names
#define ${upper}_ACTIONS $actions
#define ${upper}_HEADS $heads

$weights
static const int ${name}_first[$heads] = {$first};
static const int ${name}_count[$heads] = {$count};

/* Returns the head that a decision is of. */
static inline int ${name}_head(const float *context)
{
    $head
}

/* Returns the number of a decision; context: ${upper}_CONTEXT_FEATURES numbers. */
static inline float ${name}_number(const float *context)
{
    float inputs[$entries];
    int head = ${name}_head(context), i$loops;
    float number = ${name}_bias[head];

    for (i = 0; i < $entries; i++) {
        inputs[i] = (context[i] - ${name}_centre[i]) * ${name}_scale[i];
        number += ${name}_weights[head][i] * inputs[i];
    }
$body    return number;
}

/* Returns the action: the first one of the head, and one more for every threshold below the number. */
static inline int ${name}_act(const float *context)
{
    int head = ${name}_head(context), action = ${name}_first[head], k;
    float number = ${name}_number(context);

    for (k = 0; k + 1 < ${name}_count[head]; k++)
        action += number > ${name}_thresholds[head][k];
    return action;
}

#endif
""")

_LAST = Template("""\
    number += ${name}_last_bias[head];
    for (i = 0; i < $inputs; i++)
        number += ${name}_last[head][i] * $before[i];
""")


def _ordinal_header(agent: Agent, name: str, common: Mapping[str, Any]) -> str:
    """Return an agent with an `OrdinalNetwork` as the text of a C header."""
    card, network = agent.card, agent.scorer
    assert card.ordinal is not None and isinstance(network, OrdinalNetwork), "others score candidates"
    switch = (
        f"return context[{network.switch}] > 0.5f;" if network.switch >= 0 else "return (void)context, 0;"
    )
    return _ORDINAL_HEADER.substitute(
        common,
        multiply_adds=cost_of(card).multiply_adds(0),
        actions=card.ordinal.actions,
        heads=card.ordinal.heads,
        weights="\n".join(_ordinal_arrays(name, network)),
        first=", ".join(str(first) for first, _ in card.ordinal.ranges),
        count=", ".join(str(count) for _, count in card.ordinal.ranges),
        head=switch,
        loops=", j" if card.ordinal.hidden else "",
        body=_body(name, len(card.context_features), card.ordinal.hidden),
    )


def _body(name: str, entries: int, widths: tuple[int, ...]) -> str:
    """Return the statements of the multilayer perceptron; they are empty if it has no hidden layers."""
    if not widths:
        return ""
    units = "".join(f"    float hidden{k}[{width}];\n" for k, width in enumerate(widths))
    last = _LAST.substitute(name=name, inputs=widths[-1], before=f"hidden{len(widths) - 1}")
    return units + _layers(name, (entries, *widths), 0) + last


def _ordinal_arrays(name: str, network: OrdinalNetwork) -> list[str]:
    """Return the definitions of the weights."""
    found = {part: getattr(network, part) for part in ("centre", "scale", "weights", "bias", "thresholds")}
    layers = [layer for layer in network.body if isinstance(layer, torch.nn.Linear)]
    names = [*(f"body{number}" for number in range(len(layers) - 1)), "last"]
    for part, layer in zip(names, layers, strict=False):  # without layers there is no last one
        found |= {part: layer.weight, f"{part}_bias": layer.bias}
    return [array(f"{name}_{part}", values) for part, values in found.items()]
