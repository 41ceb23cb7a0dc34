"""An agent as one C header: for other simulators and for firmware, which have neither Python nor PyTorch.

It needs nothing but the C library, keeps no state, allocates nothing, and computes in single precision.
"""

from __future__ import annotations

from string import Template

import torch

from ssdgym.agents.agent import Agent
from ssdgym.agents.exporting.c_text import array, check, listed, of_comment, scale_header, strings
from ssdgym.agents.exporting.cost import cost_of
from ssdgym.agents.networks import CandidateScorer

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
                sum += ${name}_body${number}[j][i] * hidden${before}[i];
            hidden${number}[j] = sum > 0.0f ? sum : 0.0f;
        }""")


def c_header(agent: Agent, name: str = "agent") -> str:
    """Return an agent as the text of a C header (C99).

    One that scores candidates has functions `NAME_scores` and `NAME_choose`, one that cuts a scale into
    actions `NAME_number` and `NAME_act`. Scores and numbers differ from those of PyTorch by rounding only:
    sums are in another order.

    Args:
        agent: a trained agent.
        name: what its functions and arrays begin with.

    Raises:
        SsdgymError: the name is none in C, or the agent cannot be written in C.
    """
    check(agent, name)
    return scale_header(agent, name) if agent.card.scale else _scorer_header(agent, name)


def _scorer_header(agent: Agent, name: str) -> str:
    card, scorer, cost = agent.card, agent.scorer, cost_of(agent.card)
    assert card.scorer is not None and isinstance(scorer, CandidateScorer), "others cut a scale"
    features, entries = len(card.candidate_features), len(card.context_features)
    widths = card.scorer.hidden
    pools = card.scorer.pooling == "mean_max"
    return _HEADER.substitute(
        title=f"The agent {name}: which of several candidates is chosen.",
        version=card.ssdgym_version,
        environment=card.environment,
        trained=of_comment(card.how_trained),
        fixed=cost.shared_multiply_adds,
        each=cost.candidate_multiply_adds,
        bytes=cost.weight_bytes,
        candidate_features=listed(card.candidate_features),
        context_features=listed(card.context_features),
        candidate_names=strings(card.candidate_features),
        context_names=strings(card.context_features),
        guard=f"SSDGYM_{name.upper()}_H",
        upper=name.upper(),
        name=name,
        features=features,
        entries=entries,
        weights="\n".join(_arrays(name, scorer)),
        shared_inputs=entries + 2 * features * pools,
        width=widths[0],
        pooling=_POOLING.substitute(features=features, entries=entries) if pools else "",
        declarations="\n".join(f"        float hidden{k}[{width}];" for k, width in enumerate(widths)),
        body="\n".join(
            _LAYER.substitute(
                name=name, number=number, before=number - 1, inputs=widths[number - 1], outputs=outputs
            )
            for number, outputs in enumerate(widths[1:], 1)
        ),
        last_width=widths[-1],
        last=f"hidden{len(widths) - 1}",
    )


def _arrays(name: str, scorer: CandidateScorer) -> list[str]:
    """Return the definitions of the weights, but for those that only training needs."""
    layers = {"candidate": scorer.candidate_layer, "shared": scorer.shared_layer}
    linear = [layer for layer in scorer.body if isinstance(layer, torch.nn.Linear)]
    layers |= {f"body{number}": layer for number, layer in enumerate(linear, 1)}
    layers["score"] = scorer.score_layer
    sharp = scorer.linear.log_sharpness.exp() * scorer.linear.weights
    found = [array(f"{name}_linear", sharp)]
    for layer, module in layers.items():
        found += [array(f"{name}_{layer}", module.weight), array(f"{name}_{layer}_bias", module.bias)]
    return found
