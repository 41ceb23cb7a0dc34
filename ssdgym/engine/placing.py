"""What the PLACE and RELOCATE decisions look like to a learner: write streams as candidates, and the page.

The numbers are features: functions of what is looked at here, called by address. This is compiled only where
such a decision is described.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ssdgym.engine.core.bits import quotient
from ssdgym.engine.core.kernel import compiled_address, inlined
from ssdgym.engine.core.records import MAX_STREAMS
from ssdgym.engine.decisions import RELOCATE, TRACKERS, stream_by
from ssdgym.engine.erase.features import describe_decision, describing_kernels
from ssdgym.engine.observation import observer_type
from ssdgym.engine.page.placement import rule_of_host, rule_of_relocated
from ssdgym.engine.page.state import ARRAYS

_describe_streams, _describe_page = describing_kernels("stream", "page")


@inlined
def look_at_page(dev, plane, lpn, source, page):
    """Write to PAGE_SEEN which page is placed in a plane, and where its data is up to now.

    It is relocated from page `source`, -1 for a page of the host. Rules call it with their view.
    """
    held = source if source >= 0 else np.int64(dev.logical[lpn].ppn)
    page.plane = plane
    page.lpn = lpn
    page.relocated = source >= 0
    page.held = held
    page.block = quotient(held, dev.params[0].pages_per_block) if held >= 0 else -1
    page.stream = dev.block[page.block].stream if held >= 0 else -1


@inlined
def _look_at_stream(dev, plane, number, seen):
    """Write what a stream of the plane holds."""
    params = dev.params[0]
    slot = plane * MAX_STREAMS + number
    sub = np.int64(dev.open_sub_block[slot])
    seen.number = number
    seen.streams = params.streams
    seen.slot = slot
    seen.own = plane * params.streams + number
    seen.open = sub >= 0
    room = np.int64(0)
    if sub >= 0:
        # Sub-blocks are written one after the other.
        block = quotient(sub, params.sub_blocks)
        room = params.pages_per_block - dev.block[block].written - dev.sub_block[sub].written
    seen.room = room
    seen.blocks = dev.stream[slot].blocks
    seen.valid = dev.stream[slot].valid
    seen.written = seen.blocks * params.pages_per_block - room


@inlined
def _look_at_decision(dev, plane, taken, decision):
    control = dev.control[0]
    decision.kind = control.decision_kind
    decision.plane = plane
    decision.candidates = dev.params[0].streams
    decision.mean_erases = 0.0
    decision.host_pages = control.clock - taken.clock
    decision.elapsed_ns = control.now - taken.now


@inlined
def _describe_features(dev, spec, view):
    handle, page = dev.decider.place_view, spec.page[0]
    first, context = spec.candidate_features.shape[0], spec.context_features.shape[0]
    streams, number = np.int64(dev.params[0].streams), first + context
    features = spec.stream_features
    _describe_streams(spec, handle, features, first, number, spec.streams, streams, page, view.features)
    number += features.shape[0]
    _describe_page(spec, handle, spec.page_features, context, number, page, view.context)


@inlined
def _mark(spec, view, j, stream):
    """Note the choice of proposer `j` of streams, and mark it."""
    view.proposed[spec.proposers.shape[0] + j] = max(stream, -1)
    column = spec.stream_columns[j]
    if stream >= 0 and column >= 0:
        view.features[stream, column] = np.float32(1.0)


@inlined
def _propose(dev, plane, spec, view):
    """Mark what the device's placement would choose, and then the trackers that choose."""
    page = spec.page[0]
    lpn, source = np.int64(page.lpn), np.int64(page.held if page.relocated else -1)
    stream = rule_of_relocated(dev, plane, lpn, source) if page.relocated else rule_of_host(dev, plane, lpn)
    _mark(spec, view, 0, stream)
    j = 1
    for k in range(TRACKERS, dev.decider.rules.shape[0]):
        if dev.decider.rules[k].choose != 0:
            _mark(spec, view, j, stream_by(dev, k, plane, lpn, source))
            j += 1


def _observe(dev, spec, view, plane):
    """Describe the stream of a page as a decision. Pure: the device stays as it is."""
    view.features[:] = np.float32(0.0)
    view.mask[:] = 0
    control = dev.control[0]
    subject, relocated = np.int64(control.decision_subject), control.decision_kind == RELOCATE
    lpn = np.int64(dev.physical[subject].lpn) if relocated else subject
    look_at_page(dev, plane, lpn, subject if relocated else np.int64(-1), spec.page[0])
    for stream in range(dev.params[0].streams):
        view.mask[stream] = 1
        _look_at_stream(dev, plane, stream, spec.streams[stream])
    _look_at_decision(dev, plane, view.taken, spec.decision[0])
    _propose(dev, plane, spec, view)
    describe_decision(dev, spec, view.context)
    _describe_features(dev, spec, view)


@cache
def _compiled() -> tuple[int, Any]:
    return compiled_address(_observe, observer_type(ARRAYS))


def stream_describer() -> int:
    """Return the address of what describes PLACE and RELOCATE decisions; compiles at first use."""
    return _compiled()[0]
