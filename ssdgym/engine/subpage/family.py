"""The sub-page family: its empty devices, its loops, and how its decisions are described and carried out."""

import numpy as np

from ssdgym.engine import loop
from ssdgym.engine.blocks.index import add_block, format_plane
from ssdgym.engine.core.family import Family
from ssdgym.engine.core.kernel import inlined, kernel
from ssdgym.engine.core.pointer import STORED_BYTES, store_at
from ssdgym.engine.core.status import FAULTS
from ssdgym.engine.decisions import ERASE, Decider, hooked_by, store_action
from ssdgym.engine.entries import (
    LOOPS,
    apply_action,
    bind,
    count_lost_pages,
    find_fault,
    format_arrays,
    loop_caller,
    observe,
    run_loop,
)
from ssdgym.engine.erase.candidates import pairs_of
from ssdgym.engine.observation import observer_by_kind
from ssdgym.engine.rounds import start_round
from ssdgym.engine.subpage.audit import count_lost_in, first_fault_of
from ssdgym.engine.subpage.scheduler import dispatch_die
from ssdgym.engine.subpage.state import ARRAYS, SUBFTL, SubpageDevice, SubpageState, bind_device
from ssdgym.engine.subpage.timed import admit_part, has_window, page_ended, start_next
from ssdgym.engine.subpage.untimed import do_next, do_work, is_at_horizon
from ssdgym.engine.time.events import format_control, format_queues
from ssdgym.engine.view import whole_view


@kernel
def _format_region(dev, number):
    """Give the last blocks of a plane to its region."""
    params = dev.params[0]
    subpage = dev.subpage[0]
    region = dev.region[number]
    region.open = -1
    region.reserve = -1
    region.victim = -1
    region.evicts = -1
    region.write_head = -1
    first = (number + 1) * np.int64(params.blocks) - subpage.region_blocks
    for k in range(subpage.region_blocks):
        dev.member[number * subpage.region_blocks + k] = first + k
        dev.region_block[first + k].in_region = 1
    if subpage.kind == SUBFTL:
        region.reserve = first + subpage.region_blocks - 1


@kernel
def _format_plane(dev, number):
    params = dev.params[0]
    format_plane(dev, number)
    _format_region(dev, number)
    for block in range(number * params.blocks, (number + 1) * params.blocks):
        if not dev.region_block[block].in_region:
            add_block(dev, number, block)


@kernel
def _format_buffer(dev):
    subpage = dev.subpage[0]
    buffer = dev.buffer[0]
    for number in range(subpage.buffer_groups):
        dev.entry[number].next = number + 1
    buffer.head = -1
    buffer.tail = -1
    buffer.sweep_plane = -1
    buffer.write_plane = -1
    buffer.collected_plane = -1
    for group in range(dev.params[0].logical_pages // np.int64(subpage.slots)):
        dev.entry_of[group] = -1


@inlined
def _format(dev):
    params = dev.params[0]
    for lpn in range(params.logical_pages):
        dev.logical[lpn].ppn = -1
    slots = np.int64(params.planes) * params.blocks * dev.subpage[0].block_pages * dev.subpage[0].slots
    for slot in range(slots):
        dev.physical[slot].lpn = -1
    for plane in range(params.planes):
        _format_plane(dev, plane)
    _format_buffer(dev)
    format_queues(dev)
    format_control(dev)


@inlined
def _bind(state, i, rules, external, pairs, address):
    """Store a device; its rules have no memory of their own."""
    view = store_at(whole_view(state, i, 0, 0, 0, 0), address + STORED_BYTES)
    bind_device(state, i, Decider(external, rules, pairs, hooked_by(rules), view, view, view), address)


@inlined
def _apply_action(dev, chosen, action):
    control = dev.control[0]
    if control.decision_kind == ERASE:
        return np.int64(start_round(dev, np.int64(control.decision_plane), chosen, pairs_of(chosen)))
    return store_action(dev, action, 2)


SUBPAGE_FAMILY = Family("subpage", ARRAYS, LOOPS, FAULTS)
bind.of(SubpageState)(_bind)
run_loop.of(SubpageDevice)(loop_caller(ARRAYS))
loop.do_next.of(SubpageDevice)(do_next)
loop.do_work.of(SubpageDevice)(do_work)
loop.is_at_horizon.of(SubpageDevice)(is_at_horizon)
loop.admit_page.of(SubpageDevice)(admit_part)
loop.page_ended.of(SubpageDevice)(page_ended)
loop.start_next.of(SubpageDevice)(start_next)
loop.has_window.of(SubpageDevice)(has_window)
loop.dispatch_once.of(SubpageDevice)(dispatch_die)
format_arrays.of(SubpageDevice)(_format)
count_lost_pages.of(SubpageDevice)(count_lost_in)
find_fault.of(SubpageDevice)(first_fault_of)
apply_action.of(SubpageDevice)(_apply_action)
observe.of(SubpageDevice)(observer_by_kind(ARRAYS))
