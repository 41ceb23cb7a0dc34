"""A tracker that measures the costs of each placement decision of an agent, for the agent's training.

Each copy of a page that an agent has placed has an account of its costs. To settle an account is to store the
costs for the environment. This happens when the agent decides where the copy is relocated to, or when the
block is erased after the copy has become invalid.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from ssdgym.engine.core.bits import has, quotient, remainder
from ssdgym.engine.core.handle import Memory
from ssdgym.engine.core.kernel import helper as kernel
from ssdgym.engine.core.records import MAX_PAIRS
from ssdgym.policy.registry import register
from ssdgym.policy.rules import Rule


@dataclass(frozen=True)
class CreditTracker(Rule):
    """A tracker whose parameters `pages_per_block` and `pages` set the lengths of arrays in its records."""

    def with_parameters(self, given: Mapping[str, float]) -> CreditTracker:
        """Return the tracker with the given parameters, and with records of matching sizes."""
        rule = super().with_parameters(given)
        slots, rows = int(rule.parameters["pages_per_block"]), int(rule.parameters["pages"])
        of_block = [
            ("decision", "i4", (slots,)),  # number of the decision that placed the copy, from 1; 0: none
            ("moves", "i4", (slots,)),  # relocations, by the device's own placement, since the decision
            ("died", "i8", (slots,)),  # clock at which the copy became invalid
        ]
        of_device = [
            ("due", "i4"),  # number of the agent's next decision, from 1; 0: the episode has not begun
            ("settled", "i4"),  # number of settled accounts; each has a row in the following arrays
            ("decision", "i4", (rows,)),
            ("moves", "i4", (rows,)),  # relocations of the copy
            ("waited", "i8", (rows,)),  # host pages from the copy's invalidation to the erase of its block
            ("following", "i4", (rows,)),  # number of the decision that relocated the copy; 0: it was erased
        ]
        memory = Memory(block=np.dtype(of_block, align=True), device=np.dtype(of_device, align=True))
        return replace(rule, memory=memory)


#: Parameters: `host` and `relocated` are 1 if the agent places host pages or relocated pages, otherwise 0.
#: `pages` is the number of physical pages: a step of the environment settles at most one account for each.
page_credit = CreditTracker(
    "tracker",
    "page_credit",
    None,
    "Q-learning over the life of a page: a copy costs its relocation, or the time from invalidation to erase",
    parameters={"host": 1, "relocated": 1, "pages_per_block": 1, "pages": 1},
    bounds={"host": (0, 1), "relocated": (0, 1), "pages_per_block": (1, np.inf), "pages": (1, np.inf)},
)
register(page_credit)


@kernel
def _place_of(view, page):
    pages_per_block = view.params[0].pages_per_block
    return quotient(page, pages_per_block), remainder(page, pages_per_block)


@kernel
def _open(view, page, decision, moves):
    """Open an account for the copy at a page."""
    block, slot = _place_of(view, page)
    account = view.block_memory[block]
    account.decision[slot] = decision
    account.moves[slot] = moves


@kernel
def _settle(view, decision, moves, waited, following):
    """Store the costs of a decision; the environment reads them after its step."""
    memory = view.memory[0]
    row = memory.settled
    memory.decision[row] = decision
    memory.moves[row] = moves
    memory.waited[row] = waited
    memory.following[row] = following
    memory.settled = row + 1


@kernel
def _end(view, page):
    """Record that the copy at a page has become invalid."""
    block, slot = _place_of(view, page)
    view.block_memory[block].died[slot] = view.control[0].clock


@kernel
def _take_number(view):
    """Return the number of the agent's decision that has just been carried out; 0 before the episode."""
    memory = view.memory[0]
    number = memory.due
    if number > 0:
        memory.due = number + 1
    return number


@page_credit.on("written")
def written(view, plane, lpn, old_page, page, parameters):
    """Record that the overwritten copy is invalid, and open an account for the new copy."""
    if old_page >= 0:
        _end(view, old_page)
    if parameters.host > 0.0:
        _open(view, page, _take_number(view), 0)
        if view.logical[lpn].ppn != page:  # a newer write or a trim has overtaken this write
            _end(view, page)


@page_credit.on("trimmed")
def trimmed(view, plane, lpn, old_page, page, parameters):
    """Record that the trimmed copy is invalid."""
    _end(view, old_page)


@page_credit.on("relocated")
def relocated(view, plane, lpn, old_page, page, parameters):
    """Settle the account of a copy if the agent chose its new place; otherwise keep it for the new copy."""
    block, slot = _place_of(view, old_page)
    account = view.block_memory[block]
    decision, moves = account.decision[slot], account.moves[slot] + 1
    account.decision[slot] = 0
    if parameters.relocated > 0.0:
        following = _take_number(view)
        if decision > 0:
            _settle(view, decision, moves, 0, following)
        _open(view, page, following, 0)
    elif decision > 0:
        _open(view, page, decision, moves)


@kernel
def _erased_sub_blocks(view, plane, block):
    """Return the mask of the sub-blocks of a victim that the round erases."""
    leader = view.plane[plane].round_leader
    mask = np.uint64(0)
    for k in range(view.plane[leader].round_count):
        pair = view.round_pairs[leader * MAX_PAIRS + k]
        if pair.block == block:
            mask |= pair.mask
    return mask


@page_credit.on("erased")
def erased(view, plane, block, parameters):
    """Settle the accounts of the invalid copies in the erased sub-blocks."""
    mask, clock = _erased_sub_blocks(view, plane, block), view.control[0].clock
    per_sub_block = view.params[0].pages_per_sub_block
    account = view.block_memory[block]
    for slot in range(view.params[0].pages_per_block):
        if account.decision[slot] > 0 and has(mask, slot // per_sub_block):
            _settle(view, account.decision[slot], account.moves[slot], clock - account.died[slot], 0)
            account.decision[slot] = 0
