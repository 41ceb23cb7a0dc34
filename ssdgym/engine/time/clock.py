"""The clock of event-driven loops: which request is next, when it arrives, when something happens at all."""

from __future__ import annotations

import numpy as np

from ssdgym.engine.core.kernel import inlined
from ssdgym.engine.core.status import HORIZON, INPUT_ENDED, OK, OUT_OF_TIME, STUCK
from ssdgym.engine.time.commands import IDLE, channel_event, command_ended
from ssdgym.engine.time.events import NEVER, latest_ns, next_event_ns, take_event
from ssdgym.engine.time.transactions import take_slot
from ssdgym.requests import FLUSH, PARTIAL_HEAD, PARTIAL_TAIL

#: What comes next is an event, and not an arrival.
EVENT = 200


@inlined
def ending(params, control, requests, last):
    """Return INPUT_ENDED or HORIZON where the run ends now, else OK."""
    ended = control.cursor >= requests.shape[0]
    at_horizon = control.admitted_pages >= control.horizon
    if ended and not last and not at_horizon:
        return INPUT_ENDED
    if (ended or at_horizon) and control.free_transactions == params.window_pages:
        return HORIZON if at_horizon else INPUT_ENDED
    return OK


@inlined
def arrived(params, control, request):
    """Return whether a request that has not been started may be started now."""
    if request.op == FLUSH and control.outstanding_writes > 0:
        return False
    if params.queue_depth > 0:
        return request.op == FLUSH or control.outstanding < params.queue_depth
    return request.arrival_ns <= control.now


@inlined
def may_admit(control, requests, least):
    """Return whether there is a page to admit, and `least` places for transactions are free."""
    if control.free_transactions < least or control.cursor >= requests.shape[0]:
        return False
    return control.admitted_pages < control.horizon


@inlined
def is_partial(request, offset):
    """Return whether the request covers only a part of its page number `offset`."""
    head = request.flags & PARTIAL_HEAD and offset == 0
    return head or (request.flags & PARTIAL_TAIL and offset == request.pages - 1)


@inlined
def next_request(control):
    """Go on behind the request in admission."""
    control.cursor += 1
    control.offset = 0
    control.slot = -1


@inlined
def start_request(dev, request):
    """Give the request a slot; a flush that may start is over at once."""
    params = dev.params[0]
    control = dev.control[0]
    if request.op == FLUSH:
        control.serial += 1
        next_request(control)
        return
    arrival_ns = control.now if params.queue_depth > 0 else request.arrival_ns
    control.slot = take_slot(dev, request, arrival_ns)


@inlined
def _next_arrival(params, control, requests, least):
    """Return when the next request arrives, if time alone is what it waits for; else NEVER."""
    blocked = control.slot >= 0 or control.free_transactions < least or params.queue_depth > 0
    if blocked or control.cursor >= requests.shape[0] or control.admitted_pages >= control.horizon:
        return NEVER
    arrival_ns = requests[control.cursor].arrival_ns
    return arrival_ns if arrival_ns > control.now else NEVER


@inlined
def pass_time(dev, requests, least):
    """Go on to the next arrival, unless an event comes before it.

    Args:
        dev: the device.
        requests: the present chunk of input.
        least: free transactions that an admission needs.

    Returns:
        EVENT where the first event is due, OK at an arrival, STUCK if there is neither, OUT_OF_TIME if it is
        too late.
    """
    params = dev.params[0]
    control = dev.control[0]
    arrival_ns = _next_arrival(params, control, requests, least)
    event_ns = next_event_ns(dev)
    if min(event_ns, arrival_ns) >= latest_ns(params):
        return STUCK if event_ns == NEVER and arrival_ns == NEVER else OUT_OF_TIME
    if event_ns <= arrival_ns:
        return EVENT
    control.now = arrival_ns
    return OK


@inlined
def carry_out_event(dev):
    """Carry out the first event.

    Returns:
        The command that has ended with it, IDLE for none, and the number of the die.
    """
    params = dev.params[0]
    dev.control[0].now = next_event_ns(dev)
    resource = np.int64(take_event(dev))
    if resource < params.channels:
        channel_event(dev, resource)
        return np.int64(IDLE), np.int64(-1)
    die_number = np.int64(resource - params.channels)
    return np.int64(command_ended(dev, die_number)), die_number
