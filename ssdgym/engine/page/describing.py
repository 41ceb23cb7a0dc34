"""Observations of decisions of the page family other than ERASE: PLACE, RELOCATE, IDLE and LEVEL.

An observer is compiled when it is first used. A feature is a function of the records that are filled here; it
is called by its address.
"""

import numpy as np

from ssdgym.engine import observation
from ssdgym.engine.blocks.index import most_invalid_block
from ssdgym.engine.blocks.wear import erases_of, mean_erases
from ssdgym.engine.core.bits import NONE, full_mask, has, quotient
from ssdgym.engine.core.kernel import inlined, kernel
from ssdgym.engine.core.records import INDEXED, MAX_PAIRS, MAX_STREAMS
from ssdgym.engine.decisions import (
    IDLE,
    IDLE_STEPS,
    LEVEL,
    RELOCATE,
    TO_THE_END,
    idle_by_rule,
    level_by,
    sub_block_at,
)
from ssdgym.engine.erase.best_set import best_set
from ssdgym.engine.erase.features import count_candidate, describe_candidates
from ssdgym.engine.flash import invalid_in
from ssdgym.engine.page.collecting import background_plane, move_ns, pages_to_move
from ssdgym.engine.page.placement import target_of_proposer
from ssdgym.engine.page.state import ARRAYS
from ssdgym.engine.time.events import NEVER

_describe_stream = observation.describing_kernel("stream", "page")


@inlined
def look_at_page(dev, plane, lpn, source, page):
    """Fill in the PAGE_SEEN `page`: the page to place in a plane, and where the page's present data is.

    `source` is the physical page that is relocated, -1 for a host page. Rules pass their view as `dev`.
    """
    held = source if source >= 0 else np.int64(dev.logical[lpn].ppn)
    page.plane = plane
    page.lpn = lpn
    page.relocated = source >= 0
    page.held = held
    page.block = quotient(held, dev.params[0].pages_per_block) if held >= 0 else -1
    page.stream = dev.block[page.block].stream if held >= 0 else -1


@inlined
def look_at_stream(dev, plane, number, seen):
    """Fill in the STREAM_SEEN `seen` for stream `number` of a plane. Rules pass their view as `dev`."""
    params = dev.params[0]
    slot = plane * MAX_STREAMS + number
    sub = np.int64(dev.open_sub_block[slot])
    seen.target, seen.near, seen.chosen = 0, 0.0, 0
    seen.number = number
    seen.streams = params.streams
    seen.slot = slot
    seen.own = plane * params.streams + number
    seen.open = sub >= 0
    room = np.int64(0)
    if sub >= 0:
        # The sub-blocks of an open block are written one after the other.
        block = quotient(sub, params.sub_blocks)
        room = params.pages_per_block - dev.block[block].written - dev.sub_block[sub].written
    seen.room = room
    seen.blocks = dev.stream[slot].blocks
    seen.valid = dev.stream[slot].valid
    seen.written = seen.blocks * params.pages_per_block - room


@inlined
def _row_of(dev, spec, view, number, target):
    """Return the row of a proposer's target among the answers: a stream's row, or a row for a sub-block."""
    streams = np.int64(dev.params[0].streams)
    if target < MAX_STREAMS:
        return target
    for row in range(streams, streams + number):
        if view.mask[row] and spec.streams[row].target == target:
            return np.int64(row)
    view.mask[streams + number] = 1
    seen = spec.streams[streams + number]
    params, sub = dev.params[0], np.int64(sub_block_at(target))
    block = quotient(sub, params.sub_blocks)
    record, plane = dev.block[block], np.int64(dev.block[block].plane)
    seen.number = streams + number
    seen.streams = params.streams
    seen.slot = plane * MAX_STREAMS + record.stream
    seen.own = plane * params.streams + record.stream
    seen.room = params.pages_per_sub_block - dev.sub_block[sub].written
    seen.open, seen.blocks = 1, 1
    seen.valid = record.written - record.invalid
    seen.written = record.written
    seen.target = target
    seen.near = record.invalid / max(dev.plane[plane].max_invalid, 1)
    seen.chosen = has(best_set(dev, block), sub - block * params.sub_blocks)
    return streams + number


@inlined
def _propose_stream(dev, plane, spec, view):
    """Mark the targets that the placement and the choosing trackers pick; return the number of rows."""
    page = spec.page[0]
    lpn, source = np.int64(page.lpn), np.int64(page.held if page.relocated else -1)
    first, rows = spec.proposers.shape[0], np.int64(dev.params[0].streams)
    for number in range(spec.stream_columns.shape[0]):
        target = np.int64(target_of_proposer(dev, plane, lpn, source, number))
        row = np.int64(_row_of(dev, spec, view, number, target))
        rows = max(rows, row + 1)
        observation.mark_pick(view, first + number, row, spec.stream_columns[number])
    return rows


def _observe_stream(dev, spec, view, plane):
    """Describe a PLACE or RELOCATE decision; the device does not change."""
    view.features[:] = np.float32(0.0)
    view.mask[:] = 0
    control = dev.control[0]
    subject, relocated = np.int64(control.decision_subject), control.decision_kind == RELOCATE
    lpn = np.int64(dev.physical[subject].lpn) if relocated else subject
    look_at_page(dev, plane, lpn, subject if relocated else np.int64(-1), spec.page[0])
    for stream in range(dev.params[0].streams):
        view.mask[stream] = 1
        look_at_stream(dev, plane, stream, spec.streams[stream])
    streams, allowed = np.int64(_propose_stream(dev, plane, spec, view)), np.int64(0)
    for row in range(streams):
        allowed += view.mask[row]
        if not view.mask[row]:  # unused, since the target of this row's proposer has another row
            look_at_stream(dev, plane, np.int64(0), spec.streams[row])
    observation.note_decision(dev, control.decision_kind, plane, allowed, view.taken, spec.decision[0])
    first, place = spec.candidate_features.shape[0], spec.context_features.shape[0]
    rows, about = spec.stream_features, spec.page_features
    seen, handle = spec.page[0], dev.decider.place_view
    _describe_stream(dev, spec, handle, rows, first, spec.streams, streams, about, place, seen, view)
    for row in range(streams):
        if not view.mask[row]:
            view.features[row, :] = np.float32(0.0)


#: Returns the address of the observer of PLACE and RELOCATE decisions, which the first call compiles.
stream_describer = observation.describer(_observe_stream, ARRAYS)


_ANSWERS = len(IDLE_STEPS)
_describe_idle = observation.describing_kernel("answer", "die")


@inlined
def look_at_die(dev, die, seen):
    """Fill in the DIE_SEEN `seen`: GC that a die would continue or start. Rules pass their view as `dev`."""
    plane = np.int64(background_plane(dev, die, NEVER))
    seen.number = die
    seen.collects = plane >= 0
    seen.plane = plane if plane >= 0 else die  # plane d is one of die d
    seen.running = seen.moves = seen.invalid = 0
    if plane >= 0 and dev.plane[plane].round_leader >= 0:
        seen.running = 1
        seen.moves = pages_to_move(dev, plane)
        leader = np.int64(dev.plane[plane].round_leader)
        invalid = np.int64(0)
        for k in range(dev.plane[leader].round_count):
            pair = dev.round_pairs[leader * MAX_PAIRS + k]
            if dev.block[pair.block].plane == plane:
                invalid += invalid_in(dev, np.int64(pair.block), pair.mask)
        seen.invalid = invalid
    elif plane >= 0:
        block = np.int64(most_invalid_block(dev, plane))
        record = dev.block[block]
        seen.moves = record.written - record.invalid
        seen.invalid = record.invalid


@inlined
def _answer_of(commands):
    """Return the index in IDLE_STEPS of the largest number that is at most `commands`; 0 if there is none."""
    number = 0
    for k in range(1, _ANSWERS):
        if min(commands, TO_THE_END) >= IDLE_STEPS[k]:
            number = k
    return number


def _observe_idle(dev, spec, view, plane):
    """Describe an IDLE decision: how many commands an idle die may run; the device does not change."""
    view.features[:] = np.float32(0.0)
    view.mask[:] = 0
    die, control = spec.die[0], dev.control[0]
    # At the horizon, describe the die of the last decision.
    decided = control.decision_kind == IDLE and control.decision_subject < dev.params[0].dies
    look_at_die(dev, np.int64(control.decision_subject) if decided else np.int64(0), die)
    count = np.int64(_ANSWERS) if die.collects else np.int64(1)
    for number in range(count):
        view.mask[number] = 1
        seen = spec.answers[number]
        steps = np.int64(IDLE_STEPS[number])
        seen.number = number
        seen.commands = min(steps, die.moves + 1) if die.collects else np.int64(0)
        seen.moves = min(seen.commands, die.moves)
        seen.erases = seen.commands > die.moves
        seen.nominal_ns = seen.moves * move_ns(dev) + seen.erases * dev.params[0].erase_ns
    observation.note_decision(dev, IDLE, die.plane, count, view.taken, spec.decision[0])
    if dev.decider.rules[IDLE].choose != 0 and die.collects:
        commands = np.int64(idle_by_rule(dev, die.number, np.int64(-1)))
        observation.mark_pick(view, 0, _answer_of(commands), spec.answer_columns[0])
    first = spec.candidate_features.shape[0] + spec.stream_features.shape[0]
    place = spec.context_features.shape[0] + spec.page_features.shape[0]
    rows, about, handle = spec.answer_features, spec.die_features, dev.decider.victim_view
    _describe_idle(dev, spec, handle, rows, first, spec.answers, count, about, place, die, view)


#: Returns the address of the observer of IDLE decisions, which the first call compiles.
idle_describer = observation.describer(_observe_idle, ARRAYS)


@inlined
def _list_block(dev, sets, count, block):
    """Append a block to the candidates, unless it is listed or the list is full; return their number."""
    known = block < 0 or count == sets.shape[0]
    for k in range(count):
        known = known or (sets[k, 0].mask != NONE and sets[k, 0].block == block)
    if known:
        return count
    sets[count, 0].block = block
    sets[count, 0].mask = full_mask(dev.params[0].sub_blocks)
    return count + 1


@kernel
def _list_by_wear(dev, plane, sets, count):
    """Append a plane's indexed blocks, sorted by erases, then number; return the number of candidates."""
    blocks = np.int64(dev.params[0].blocks)
    last, last_erases = np.int64(-1), np.int64(-1)
    while count < sets.shape[0]:
        best, fewest = np.int64(-1), np.int64(0)
        for block in range(plane * blocks, (plane + 1) * blocks):
            if dev.block[block].status & INDEXED:
                erases = np.int64(erases_of(dev, block))
                is_behind = erases > last_erases or (erases == last_erases and block > last)
                if is_behind and (best < 0 or erases < fewest):
                    best, fewest = np.int64(block), erases
        if best < 0:
            return count
        last, last_erases = best, fewest
        count = _list_block(dev, sets, count, best)
    return count


def _observe_block(dev, spec, view, plane):
    """Describe a LEVEL decision: the block to empty; the device does not change.

    Candidate 0 means no block. The pick of the device's own rule follows, then the other indexed blocks.
    """
    view.features[:] = np.float32(0.0)
    view.mask[:] = 0
    for k in range(view.mask.shape[0]):
        for j in range(MAX_PAIRS):
            view.sets[k, j].mask = NONE
    pick = level_by(dev, plane) if dev.decider.rules[LEVEL].choose != 0 else np.int64(-1)
    count = _list_block(dev, view.sets, np.int64(1), pick)
    count = np.int64(_list_by_wear(dev, plane, view.sets, count))
    observation.note_decision(dev, LEVEL, plane, count, view.taken, spec.decision[0])
    spec.decision[0].mean_erases = mean_erases(dev, plane)
    for k in range(1, count):
        view.mask[k] = 1
        count_candidate(dev, view.sets[k], 1, 0, spec.tallies[k])
    describe_candidates(dev, spec, count, view)
    observation.mark_pick(view, 0, 1 if pick >= 0 else 0, spec.proposed_columns[0])
    view.mask[0] = 1
    observation.describe_decision(dev, spec, view.context)


#: Returns the address of the observer of LEVEL decisions, which the first call compiles.
block_describer = observation.describer(_observe_block, ARRAYS)
