"""Policies: what one is, how it is registered, how it is looked up.

A policy is a victim rule and, where its name says so, a placement: ``greedy`` leaves the device's placement
as it is, ``gsm+hotness_groups`` brings its own. A victim rule is one decorated function. Written in the
subset of Python that numba compiles it runs inside the engine at full speed; with ``compiled=False`` it is
plain Python, called at every decision::

    from ssdgym.policy import victim_policy, whole_block, eligible, blocks_of

    @victim_policy("youngest", source="an example")
    def youngest(dev, plane, parameters, choice):
        best, best_time = -1, -1
        for block in blocks_of(dev, plane):
            if eligible(dev, block) and dev.block[block].closed_at > best_time:
                best, best_time = block, dev.block[block].closed_at
        return whole_block(dev, choice, best)

A composition can have a name of its own::

    named_policy("tidy", "youngest+sep_gc", source="an example")

Packages of policies are found by the entry point group ``ssdgym.policies``.
"""

from ssdgym.engine.blocks.lists import most_invalid_block, next_by_invalid
from ssdgym.engine.core.kernel import kernel
from ssdgym.engine.core.rng import POLICY_STREAM
from ssdgym.engine.erase.legality import legal_set
from ssdgym.engine.erase.victims import (
    blocks_of,
    choose_best_set,
    eligible,
    random_eligible,
    siblings_of,
    whole_block,
    whole_mask,
)
from ssdgym.policy.names import PLACEMENTS
from ssdgym.policy.policy import MAX_PARAMETERS, Policy, new_choice
from ssdgym.policy.registry import (
    ENTRY_POINT_GROUP,
    available_policies,
    device_for,
    get_policy,
    named_policy,
    victim_policy,
)

__all__ = [
    "ENTRY_POINT_GROUP",
    "MAX_PARAMETERS",
    "PLACEMENTS",
    "POLICY_STREAM",
    "Policy",
    "available_policies",
    "blocks_of",
    "choose_best_set",
    "device_for",
    "eligible",
    "get_policy",
    "kernel",
    "legal_set",
    "most_invalid_block",
    "named_policy",
    "new_choice",
    "next_by_invalid",
    "random_eligible",
    "siblings_of",
    "victim_policy",
    "whole_block",
    "whole_mask",
]
