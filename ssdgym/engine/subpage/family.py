"""The sub-page family: its operations, its empty devices, and how its decisions are carried out."""

import numpy as np

from ssdgym.engine import entries, loop, operations, rounds
from ssdgym.engine.blocks.index import add_block, format_plane
from ssdgym.engine.core.kernel import inlined, kernel
from ssdgym.engine.core.pointer import STORED_BYTES, store_at
from ssdgym.engine.decisions import ERASE, Decider, hooked_by, store_action
from ssdgym.engine.erase.candidates import pairs_of
from ssdgym.engine.observation import observer_by_kind
from ssdgym.engine.subpage import host, lifetime
from ssdgym.engine.subpage.buffer import forget_sector
from ssdgym.engine.subpage.gc_round import run_round
from ssdgym.engine.subpage.pages import is_written
from ssdgym.engine.subpage.scheduler import dispatch_die
from ssdgym.engine.subpage.state import ARRAYS, SUBFTL, bind_device
from ssdgym.engine.subpage.writes import trim_part
from ssdgym.engine.time.events import format_queues
from ssdgym.engine.view import VICTIM, view_of


@kernel
def _format_plane(dev, number):
    params = dev.params[0]
    format_plane(dev, number)
    subpage, region = dev.subpage[0], dev.region[number]
    region.open = region.reserve = region.victim = region.evicts = -1
    region.write_head = -1
    first = (number + 1) * np.int64(params.blocks) - subpage.region_blocks
    for k in range(subpage.region_blocks):
        dev.member[number * subpage.region_blocks + k] = first + k
        dev.region_block[first + k].in_region = 1
    if subpage.kind == SUBFTL:
        region.reserve = first + subpage.region_blocks - 1
    for block in range(number * params.blocks, (number + 1) * params.blocks):
        if not dev.region_block[block].in_region:
            add_block(dev, number, block)


@inlined
def _format(dev):
    params = dev.params[0]
    slots = np.int64(params.planes) * params.blocks * dev.subpage[0].block_pages * dev.subpage[0].slots
    for slot in range(slots):
        dev.physical[slot].lpn = -1
    for plane in range(params.planes):
        _format_plane(dev, plane)
    subpage, buffer = dev.subpage[0], dev.buffer[0]
    for number in range(subpage.buffer_groups):
        dev.entry[number].next = number + 1
    buffer.head = buffer.tail = buffer.sweep_plane = buffer.write_plane = -1
    buffer.collected_plane = buffer.run_next = -1
    for group in range(dev.params[0].logical_pages // np.int64(subpage.slots)):
        dev.entry_of[group] = -1
    format_queues(dev)


@inlined
def _bind(state, i, rules, external, pairs, address):
    """Store a device; all its rules share one view, and none keeps memory."""
    view = store_at(view_of(state, i, VICTIM), address + STORED_BYTES)
    bind_device(state, i, Decider(external, rules, pairs, hooked_by(rules), view, view, view, view), address)


@inlined
def _apply_action(dev, chosen, action):
    control = dev.control[0]
    if control.decision_kind == ERASE:
        return np.int64(rounds.start_round(dev, np.int64(control.decision_plane), chosen, pairs_of(chosen)))
    return store_action(dev, action, 2)


SUBPAGE_FAMILY = entries.add_family(
    "subpage",
    ARRAYS,
    {
        operations.family_bind: _bind,
        operations.family_format: _format,
        operations.family_is_written: is_written,
        operations.family_apply_action: _apply_action,
        operations.family_observe: observer_by_kind(ARRAYS),
        operations.family_forget_page: forget_sector,
        operations.family_run_round: run_round,
        operations.family_can_move: lifetime.can_move,
        operations.family_settle: lifetime.settle,
        loop.part_pages: host.part_pages,
        loop.trim: trim_part,
        loop.is_at_horizon: host.is_at_horizon,
        operations.family_do_work: host.do_work,
        operations.family_do_write: host.do_write,
        loop.do_read: host.do_read,
        loop.do_flush: host.do_flush,
        loop.has_window: host.has_window,
        loop.start_next: host.start_next,
        loop.admit_write: host.admit_write,
        loop.admit_read: host.admit_read,
        loop.page_ended: host.page_ended,
        operations.family_dispatch: dispatch_die,
    },
)
