"""Garbage collection of a plane: when it is needed, and who chooses what is erased."""

from __future__ import annotations

from typing import Any, NamedTuple

from ssdgym.engine.core.kernel import inlined
from ssdgym.engine.core.status import ERASE_DECISION, NO_VICTIM
from ssdgym.engine.erase.view import policy_at, policy_view
from ssdgym.engine.page.gc_round import start_round
from ssdgym.engine.speedupgc.best_sets import refresh
from ssdgym.engine.speedupgc.groups import refresh_groups


class Decider(NamedTuple):
    """Who takes decisions: the caller (``external``), or the policy at an address."""

    external: Any  # bool
    address: Any  # int64
    parameters: Any  # (MAX_PARAMETERS,) float64 of the policy
    choice: Any  # (MAX_PAIRS,) ERASE_PAIR: scratch that the policy writes its erase set to


@inlined
def gc_needed(params, plane):
    """Does a host program that has just ended in this plane switch foreground GC on?"""
    return plane.free_pages < params.low_free or plane.pool_pages < params.low_pool


@inlined
def choose_victim(dev, plane_number, decider):
    """Get the decision a plane needs: ask outside, or let the policy decide and start the round."""
    control = dev.control[0]
    refresh(dev, plane_number)
    refresh_groups(dev, plane_number)
    if decider.external:
        control.decision_plane = plane_number
        return ERASE_DECISION
    pairs = policy_at(decider.address)(policy_view(dev), plane_number, decider.parameters, decider.choice)
    if pairs < 1:
        return NO_VICTIM
    return start_round(dev, plane_number, decider.choice, pairs)
