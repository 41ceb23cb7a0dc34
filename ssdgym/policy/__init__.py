"""Define, register and look up policies.

A policy is a victim rule, optionally with a placement, an idle rule (garbage collection of idle dies), an
allocation (which free block is opened) and a levelling rule. If a policy names no rule of a kind, the rule of
the device remains: `greedy` keeps the device's placement, `gsm+hotness_groups` replaces it. On devices of
mapping block a policy is a single merge rule, such as `mmerge`. A victim rule is one decorated function that
numba compiles into the engine. With `compiled=False` it may be any Python, but runs far more slowly:

    from ssdgym.policy import victim_policy, choose_block, eligible, blocks_of

    @victim_policy("youngest", source="an example")
    def youngest(view, plane, parameters, choice):
        best, best_time = -1, -1
        for block in blocks_of(view, plane):
            if eligible(view, block) and view.block[block].closed_at > best_time:
                best, best_time = block, view.block[block].closed_at
        return choose_block(view, choice, best)

A placement is also one decorated function. It returns the stream of a page and must not change any record. A
rule can declare records of its own, here one for each logical page; hooks, called at events, write to them:

    from ssdgym.policy import placement_policy

    @placement_policy(
        "rewritten", source="an example", streams=2, relocation_streams=1, page=[("writes", "i4")]
    )
    def rewritten(view, plane, lpn, source, parameters):
        return 1 if source < 0 and view.page_memory[lpn].writes > 1 else 0

    @rewritten.on("written")
    def count(view, plane, lpn, old_page, page, parameters):
        view.page_memory[lpn].writes += 1

An idle rule returns how many commands of garbage collection (GC) an idle die may carry out:

    from ssdgym.policy import TO_THE_END, idle_policy, plane_to_collect

    @idle_policy("below", source="an example", parameters={"blocks": 4})
    def below(view, die, gap_ns, parameters):
        return TO_THE_END if plane_to_collect(view, die, parameters.blocks, 0.0) >= 0 else 0

A merge rule reads the costs of the candidates, the plans for merging a bundle (logical blocks that are merged
together), and returns the number of a candidate:

    from ssdgym.policy import merge_policy

    @merge_policy("lightest", source="an example")
    def lightest(plans, case, parameters):
        best = 0
        for number in range(case[0].candidates):
            if plans[number].allowed and plans[number].copies < plans[best].copies:
                best = number
        return best

Functions are called with:

* victim rule: `(view, plane, parameters, choice)`, writes the erase set to `choice` as pairs of a block and a
  mask of its sub-blocks, and returns the number of pairs;
* placement: `(view, plane, lpn, source, parameters)`, returns a stream. With `targets=True` it may return
  `MAX_STREAMS` + the number of a sub-block of a block in the plane's pool; if `OPENS` is added as well, the
  block is opened for stream 0. `source` is -1 for a page of the host, otherwise the physical page relocated;
* idle rule: `(view, die, gap_ns, parameters)`, returns how many commands of a GC round (moves of pages, then
  an erase) the die may carry out. If no round runs, one starts. If the result is `-t`, the rule is called
  again after `t` ns. `gap_ns` is the time to the next arrival if `oracle=True`, otherwise -1;
* allocation: `(view, plane, stream, parameters)`, returns the block of the plane's pool that is opened;
* levelling rule: `(view, plane, parameters)`, returns the closed block of the plane to empty, -1 for none;
* merge rule: `(plans, case, parameters)`, returns the number of an `allowed` record of `plans`. Record 0 is a
  Merge, record `1 + l` an M-Merge with partial blocks of level `l`, and record `case[0].candidates - 1` the
  M-Merge of least cost;
* hooks of the events `written`, `relocated`, `trimmed` and `invalidated` (old data became invalid; called
  before `written` or `trimmed`): `(view, plane, lpn, old_page, page, parameters)`, where -1 is no page;
* hooks of the events `opened`, `closed`, `scattered` (a page was programmed in a block of the pool),
  `collected` (before pages move), `erased` (before the erase), `recycled` (after the erase, when the block is
  in the pool again or retired) and `attached` (called for each plane when the rule first runs on a device,
  which may hold data; `block` is -1): `(view, plane, block, parameters)`;
* hooks of the events `answered` (`number` is the result of the idle rule or agent) and `resumed` (a die has
  work of the host again; `number` is the ns for which it was idle): `(view, die, number, parameters)`;
* a placement's hook of `period`, in plain Python: `(view, parameters)` or, if `oracle=True`, `(view,
  parameters, future)`; returns the number of host pages until its next call.

`view` has the records of the device (`view.block[block].invalid`, `view.control[0].clock`) and those of the
rule: `view.page_memory[lpn]`, `view.block_memory[block]`, `view.stream_memory[plane * streams + stream]` and
`view.memory[0]`. The rule's records are zero at the start; a merge rule has none. Parameters are read by
name: `parameters.exponent`.

A composition can have a name of its own:

    policy_alias("tidy", "youngest+sep_gc", source="an example")

A package registers its policies by entry points of the group `ssdgym.policies`. A rule needs no other module
of ssdgym than this one.
"""

from ssdgym.engine.blocks.index import longest_quiet, most_invalid_block, next_by_invalid, prefetch_block
from ssdgym.engine.blocks.wear import (
    erases_left,
    erases_of,
    is_closed,
    least_worn_free,
    most_worn_free,
    nearest_end_free,
)
from ssdgym.engine.core.bits import (
    DRAWS_PER_CHOICE,
    GOLDEN,
    HOST_PLACEMENT_STREAM,
    POLICY_STREAM,
    RELOCATION_STREAM,
    below,
    draw,
    has,
    list_kernels,
    mix,
)
from ssdgym.engine.core.bits import lowest_of as lowest_bit
from ssdgym.engine.core.kernel import helper as kernel
from ssdgym.engine.core.records import (
    HARDWARE,
    INDEXED,
    LEVELLING_RUNS,
    MAX_PAIRS,
    MAX_STREAMS,
    OPEN,
    POOLED,
    RELAXED,
    SINGLE_PLANE,
    SOFTWARE,
    STRICT,
    SUB_BLOCK_RUN,
    SUB_BLOCK_SET,
    WHOLE_BLOCK,
)
from ssdgym.engine.decisions import OPENS, TO_THE_END
from ssdgym.engine.erase.best_set import (
    best_set_after,
    best_set_from,
    cost_of,
    first_writable,
    neighbours,
    tie_of,
)
from ssdgym.engine.erase.legality import (
    blocks_of,
    choose_block,
    eligible,
    legal_set,
    random_eligible,
    siblings_of,
    whole_mask,
)
from ssdgym.engine.flash import valid_in
from ssdgym.engine.page.collecting import move_ns, pages_to_move, plane_to_collect
from ssdgym.policy.block_order import best_by, block_order, stream_to_fill
from ssdgym.policy.decorators import (
    allocation_policy,
    built_in_placement,
    idle_policy,
    levelling_policy,
    merge_policy,
    placement_policy,
    tracker,
    victim_policy,
)
from ssdgym.policy.lookup import (
    available_policies,
    available_rules,
    device_for,
    get_policy,
    policy_for,
    rules_for,
)
from ssdgym.policy.policy import Policy
from ssdgym.policy.registry import policy_alias
from ssdgym.policy.rules import Kind, Rule, new_choice

__all__ = [
    "DRAWS_PER_CHOICE",
    "GOLDEN",
    "HARDWARE",
    "HOST_PLACEMENT_STREAM",
    "INDEXED",
    "LEVELLING_RUNS",
    "MAX_PAIRS",
    "MAX_STREAMS",
    "OPEN",
    "OPENS",
    "POLICY_STREAM",
    "POOLED",
    "RELAXED",
    "RELOCATION_STREAM",
    "SINGLE_PLANE",
    "SOFTWARE",
    "STRICT",
    "SUB_BLOCK_RUN",
    "SUB_BLOCK_SET",
    "TO_THE_END",
    "WHOLE_BLOCK",
    "Kind",
    "Policy",
    "Rule",
    "allocation_policy",
    "available_policies",
    "available_rules",
    "below",
    "best_by",
    "best_set_after",
    "best_set_from",
    "block_order",
    "blocks_of",
    "built_in_placement",
    "choose_block",
    "cost_of",
    "device_for",
    "draw",
    "eligible",
    "erases_left",
    "erases_of",
    "first_writable",
    "get_policy",
    "has",
    "idle_policy",
    "is_closed",
    "kernel",
    "least_worn_free",
    "legal_set",
    "levelling_policy",
    "list_kernels",
    "longest_quiet",
    "lowest_bit",
    "merge_policy",
    "mix",
    "most_invalid_block",
    "most_worn_free",
    "move_ns",
    "nearest_end_free",
    "neighbours",
    "new_choice",
    "next_by_invalid",
    "pages_to_move",
    "placement_policy",
    "plane_to_collect",
    "policy_alias",
    "policy_for",
    "prefetch_block",
    "random_eligible",
    "rules_for",
    "siblings_of",
    "stream_to_fill",
    "tie_of",
    "tracker",
    "valid_in",
    "victim_policy",
    "whole_mask",
]
