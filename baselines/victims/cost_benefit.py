"""Cost-benefit cleaning: the space that a block frees, divided by its cost and multiplied by its age."""

import math

from ssdgym.policy import best_by, choose_block, kernel, longest_quiet, victim_policy

#: From this exponent on, floating-point benefits of two blocks that differ in age only are never equal.
_LEAST_EXPONENT = 1 / 16


@kernel
def benefit_of(view, block, exponent, since_close):
    """Return `age**exponent * invalid / (2 * valid)` of a block; infinite if it has no valid page."""
    record = view.block[block]
    since = record.closed_at if since_close != 0.0 else record.invalidated_at
    age = float(view.control[0].clock - since + 1)
    valid = record.written - record.invalid
    if exponent == 0.5:
        age = math.sqrt(age)  # a few times faster than a power
    elif exponent != 1.0:
        age = age**exponent
    return age * record.invalid / (2.0 * valid) if valid > 0 else float("inf")


@kernel
def _benefit(view, block, parameters):
    return benefit_of(view, block, parameters.exponent, parameters.since_close)


_best_of_all = best_by(_benefit)


@kernel
def _best_of_buckets(view, plane, exponent):
    """Return the best block; of each bucket, examine only the blocks whose age gives the highest benefit."""
    best = -1
    best_score = -1.0
    for invalid in range(view.plane[plane].max_invalid, view.params[0].least_invalid - 1, -1):
        block = longest_quiet(view, plane, invalid)
        oldest = -1.0
        while block >= 0:
            score = benefit_of(view, block, exponent, 0.0)
            if score < oldest:
                break
            if score > best_score or (score == best_score and block < best):
                best = block
                best_score = score
            oldest = score
            block = view.block[block].next_quiet
    return best


@victim_policy(
    "cost_benefit",
    source="Kawaguchi, Nishioka and Motoda, USENIX 1995",
    parameters={"exponent": (1.0, 0), "since_close": 0},
)
def cost_benefit(view, plane, parameters, choice):
    """Choose the eligible block with the largest `age**exponent * invalid / (2 * valid)`.

    The age is `clock - invalidated_at + 1` host pages, or `clock - closed_at + 1` if `since_close` is not 0.
    A block without a valid page is chosen first; a tie goes to the block with the lowest number.
    """
    exponent = parameters.exponent
    # With one sub-block per block, all eligible blocks are full, so blocks of a bucket differ in age only.
    if parameters.since_close == 0.0 and view.params[0].sub_blocks == 1 and exponent >= _LEAST_EXPONENT:
        return choose_block(view, choice, _best_of_buckets(view, plane, exponent))
    return choose_block(view, choice, _best_of_all(view, plane, parameters))
