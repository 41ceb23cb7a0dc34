"""The two loops of every FTL family, without time and in time, and the operations of a family they call.

Without time, one page after the other is carried out, and GC whenever it is due. In time, a page becomes a
transaction, an idle die takes the next command, and the clock goes on to the next event or arrival.
"""

import numpy as np

from ssdgym.engine.allocation import allocate_plane
from ssdgym.engine.core.bits import remainder
from ssdgym.engine.core.kernel import inlined, operation
from ssdgym.engine.core.records import LATE
from ssdgym.engine.core.status import AGAIN, HORIZON, INPUT_ENDED, NO_WORK, OK, OUT_OF_TIME, PERIOD_DUE, STUCK
from ssdgym.engine.decisions import has_oracle, has_periods
from ssdgym.engine.time.events import (
    IDLE,
    NEVER,
    READ_PAGE,
    WRITE_PAGE,
    channel_event,
    command_ended,
    latest_ns,
    make_ready,
    next_event_ns,
    take_event,
    take_ready,
)

# -- without time


@operation(optional=True)
def is_at_horizon(dev):
    """Return whether the run ends here, as enough pages are written."""
    return dev.control[0].admitted_pages >= dev.control[0].horizon


@operation(optional=True)
def do_work(dev):
    """Carry out a step of what goes before the next page, such as GC.

    Returns OK, AGAIN, NO_WORK where there is none, a decision that is due, or an error.
    """
    return np.int64(NO_WORK)


@operation
def do_next(dev, requests):
    """Carry out the next page of the next request; return OK, AGAIN, a decision that is due, or an error."""


@inlined
def run_untimed(dev, requests):
    """Run until input or horizon ends, or until a decision is due outside; return the status."""
    control = dev.control[0]
    periodic = has_periods(dev)
    while True:
        if periodic and control.clock >= control.period_at:
            return np.int64(PERIOD_DUE)
        if is_at_horizon(dev):
            return np.int64(HORIZON)
        status = np.int64(do_work(dev))
        if status == NO_WORK:
            if control.cursor >= requests.shape[0]:
                return np.int64(INPUT_ENDED)
            status = np.int64(do_next(dev, requests))
        if status != OK and status != AGAIN:
            return status


# -- in time


@operation(optional=True)
def has_window(dev):
    """Return whether the transactions that are free suffice for the next page of a request."""
    return dev.control[0].free_transactions > 0


@operation
def start_next(dev, requests):
    """Start the next request if it may have arrived.

    Returns OK where something was done, AGAIN where nothing was, a decision that is due, or an error.
    """


@operation
def admit_page(dev, request):
    """Admit the next page of the started request; return OK, AGAIN, a decision that is due, or an error."""


@operation
def dispatch_once(dev, die_number):
    """Start what an idle die does next, if anything.

    Returns OK, AGAIN where nothing was started but the die's queues have changed, a decision that is due, or
    an error.
    """


@operation
def page_ended(dev, die_number, number, command):
    """Finish a transaction whose command, READ_PAGE or WRITE_PAGE, has ended."""


@inlined
def _ending(dev, requests, last):
    """Return INPUT_ENDED or HORIZON where the run ends now, else OK."""
    control = dev.control[0]
    ended = control.cursor >= requests.shape[0]
    at_horizon = control.admitted_pages >= control.horizon
    if ended and not last and not at_horizon:
        return np.int64(INPUT_ENDED)
    if (ended or at_horizon) and control.free_transactions == dev.params[0].window_pages:
        return np.int64(HORIZON if at_horizon else INPUT_ENDED)
    return np.int64(OK)


@inlined
def _may_admit(dev, requests):
    """Return whether there is a page to admit, and transactions for it."""
    control = dev.control[0]
    if control.cursor >= requests.shape[0] or control.admitted_pages >= control.horizon:
        return False
    return has_window(dev)


@inlined
def _dispatch(dev, die_number):
    """Start what an idle die does next, if anything; return OK, a decision that is due, or an error."""
    status = np.int64(AGAIN)
    while status == AGAIN:
        status = np.int64(dispatch_once(dev, die_number))
    return status


@inlined
def _offer_write(dev):
    """Wake an idle die that can take the head of the common queue (late allocation); say if one can."""
    params = dev.params[0]
    control = dev.control[0]
    if params.allocation != LATE or control.write_head < 0:
        return False
    for k in range(params.dies):
        die_number = remainder(control.die_cursor + k, params.dies)
        if dev.die[die_number].command == IDLE and allocate_plane(dev, die_number) >= 0:
            control.die_cursor = remainder(die_number + 1, params.dies)
            make_ready(dev, die_number)
            return True
    return False


@inlined
def _known_arrival(dev, requests):
    """Return when the next request arrives, for rules that need it: -1 in a closed loop, NEVER for none."""
    control = dev.control[0]
    if dev.params[0].queue_depth > 0:
        return np.int64(-1)
    if control.slot >= 0:
        return control.now
    if control.cursor >= requests.shape[0] or control.admitted_pages >= control.horizon:
        return NEVER
    return max(requests[control.cursor].arrival_ns, control.now)


@inlined
def _next_arrival(dev, requests):
    """Return when the next request arrives, if time alone is what it waits for; else NEVER."""
    control = dev.control[0]
    if control.slot >= 0 or dev.params[0].queue_depth > 0 or not _may_admit(dev, requests):
        return NEVER
    arrival_ns = requests[control.cursor].arrival_ns
    return arrival_ns if arrival_ns > control.now else NEVER


@inlined
def _carry_out_event(dev):
    """Carry out the first event, and finish what its command was for."""
    params = dev.params[0]
    dev.control[0].now = next_event_ns(dev)
    resource = np.int64(take_event(dev))
    if resource < params.channels:
        channel_event(dev, resource)
        return
    die_number = np.int64(resource - params.channels)
    command = np.int64(command_ended(dev, die_number))
    if command != READ_PAGE and command != WRITE_PAGE:
        return
    number = np.int64(dev.die[die_number].transaction)
    for _ in range(dev.die[die_number].pages):
        following = np.int64(dev.transaction[number].next)
        page_ended(dev, die_number, number, command)
        number = following


@inlined
def _pass_time(dev, requests):
    """Go on to the next event or arrival, whichever is first; return OK, STUCK or OUT_OF_TIME."""
    arrival_ns = _next_arrival(dev, requests)
    event_ns = next_event_ns(dev)
    if min(event_ns, arrival_ns) >= latest_ns(dev.params[0]):
        return np.int64(STUCK if event_ns == NEVER and arrival_ns == NEVER else OUT_OF_TIME)
    if event_ns <= arrival_ns:
        _carry_out_event(dev)
    else:
        dev.control[0].now = arrival_ns
    return np.int64(OK)


@inlined
def run_timed(dev, requests, last):
    """Run until input or horizon ends and nothing is outstanding, or until a decision is due outside.

    With `last` false, the end of `requests` stops the device at once: more input is to come.
    """
    control = dev.control[0]
    periodic, oracle = has_periods(dev), has_oracle(dev)
    while True:
        if periodic and control.clock >= control.period_at:
            return np.int64(PERIOD_DUE)
        status = np.int64(OK) if control.resumes else _ending(dev, requests, last)
        control.resumes = 0
        if status != OK:
            return status
        # The pages of a request come together: only then can those of several planes be written together.
        if control.slot >= 0 and _may_admit(dev, requests):
            status = np.int64(admit_page(dev, requests[control.cursor]))
            if status != OK and status != AGAIN:
                return status
            continue
        if control.ready_count > 0:
            if oracle:
                control.next_arrival_ns = _known_arrival(dev, requests)
            status = _dispatch(dev, np.int64(dev.ready[control.ready_head]))
            if status != OK:
                return status
            take_ready(dev)
            continue
        if _offer_write(dev):
            continue
        status = np.int64(AGAIN)
        if _may_admit(dev, requests):
            status = np.int64(start_next(dev, requests))
        if status == AGAIN:
            status = _pass_time(dev, requests)
        if status != OK:
            return status


# -- at the end of either


@operation(optional=True)
def refresh_tables(dev):
    """Bring tables up to date at the horizon, where the device is described as if a decision were due."""
