"""Garbage collection of a plane: when it is needed, and who chooses what is erased."""

from __future__ import annotations

from ssdgym.engine.core.kernel import inlined
from ssdgym.engine.core.status import NO_VICTIM
from ssdgym.engine.decisions import ERASE, ask_outside, decision_code, erase_set_by, is_external
from ssdgym.engine.page.gc_round import start_round
from ssdgym.engine.speedupgc.best_sets import refresh
from ssdgym.engine.speedupgc.groups import refresh_groups


@inlined
def gc_needed(params, plane):
    """Return whether a host program that has just ended in this plane switches foreground GC on."""
    return plane.free_pages < params.low_free or plane.pool_pages < params.low_pool


@inlined
def choose_victim(dev, plane_number):
    """Take the decision a plane needs, outside or by the victim rule, and start the round."""
    refresh(dev, plane_number)
    refresh_groups(dev, plane_number)
    if is_external(dev, ERASE):
        ask_outside(dev, ERASE, plane_number, 0)
        return decision_code(dev)
    decider = dev.decider
    pairs = erase_set_by(decider.rules[ERASE], decider.victim_view, plane_number, decider.pairs)
    if pairs < 1:
        return NO_VICTIM
    return start_round(dev, plane_number, decider.pairs, pairs)
