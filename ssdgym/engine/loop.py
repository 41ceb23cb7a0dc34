"""The two loops of every FTL family, untimed and event-driven, and default versions of operations they call.

The untimed loop carries out one page after the other, and GC whenever it is due. In the event-driven loop
pages become transactions, idle dies start commands, and time advances to the next event or arrival.
"""

import numpy as np

from ssdgym.engine import operations
from ssdgym.engine.allocation import allocate_plane
from ssdgym.engine.core.bits import remainder
from ssdgym.engine.core.kernel import inlined, operation
from ssdgym.engine.core.records import ADMISSION, DISPATCH, LATE, NOTHING
from ssdgym.engine.core.status import AGAIN, HORIZON, INPUT_ENDED, NO_WORK, OK, OUT_OF_TIME, PERIOD_DUE, STUCK
from ssdgym.engine.decisions import ORACLE, PERIOD
from ssdgym.engine.time import events, transactions
from ssdgym.engine.time.events import NEVER, NO_COMMAND, READ_PAGE, WRITE_PAGE
from ssdgym.requests import FLUSH, READ, WRITE


@inlined
def lpn_of(dev, request):
    """Return the next logical page of a request, modulo the number of pages left if the device may shrink."""
    lpn = np.int64(request.lpn) + dev.control[0].offset
    return remainder(lpn, dev.life[0].capacity) if dev.params[0].shrinks else lpn


@operation(optional=True)
def part_pages(dev, request):
    """Return how many pages of a request the next step carries out or admits."""
    return np.int64(1)


@operation(optional=True)
def trim(dev, request):
    """Unmap the next page of a trim request, and drop the page's versions under way."""
    operations.family_forget_page(dev, lpn_of(dev, request))
    dev.counters[0].host_pages_trimmed += 1


# -- the untimed loop


@operation(optional=True)
def is_at_horizon(dev):
    """Return whether the run ends here: as many host pages as the horizon allows have been admitted."""
    return dev.control[0].admitted_pages >= dev.control[0].horizon


@operation(optional=True)
def do_read(dev, request):
    """Read the next page of a request."""
    lpn = lpn_of(dev, request)
    dev.counters[0].host_reads += 1
    if dev.logical[lpn].ppn >= 0:
        operations.family_host_read(dev, lpn)
    else:
        dev.counters[0].unmapped_reads += 1


@operation(optional=True)
def do_flush(dev):
    """Begin a write of buffered pages, if any; return whether the flush is over, and a status."""
    return True, np.int64(OK)


@operation(optional=True)
def do_next(dev, requests):
    """Carry out the next page of the next request; return OK, AGAIN, a decision that is due, or an error."""
    control = dev.control[0]
    request = requests[control.cursor]
    operations.family_prefetch(dev, requests)
    if request.op == FLUSH:
        over, status = do_flush(dev)
    else:
        pages, status = np.int64(part_pages(dev, request)), np.int64(OK)
        if request.op == WRITE:
            status = np.int64(operations.family_do_write(dev, request))
        elif request.op == READ:
            do_read(dev, request)
        else:
            trim(dev, request)
        if status == OK:
            control.offset += pages
        over = control.offset == request.pages
    if over:
        control.cursor += 1
        control.serial += 1
        control.offset = 0
    return status


@inlined
def run_untimed(dev, requests):
    """Run until input or horizon ends, or a decision is due outside the engine; return the status."""
    control = dev.control[0]
    periodic = dev.decider.hooks & PERIOD != 0
    while True:
        if periodic and control.clock >= control.period_at:
            return np.int64(PERIOD_DUE)
        if is_at_horizon(dev):
            return np.int64(HORIZON)
        status = np.int64(operations.family_do_work(dev))
        if status == NO_WORK:
            if control.cursor >= requests.shape[0]:
                return np.int64(INPUT_ENDED)
            status = np.int64(do_next(dev, requests))
        if status != OK and status != AGAIN:
            return status


# -- the event-driven loop


@operation(optional=True)
def has_window(dev):
    """Return whether enough transactions are free to admit the next page of a request."""
    return dev.control[0].free_transactions > 0


@operation(optional=True)
def start_next(dev, requests):
    """Start the next request, if it has arrived and may start; return OK if the state has changed.

    Otherwise returns AGAIN, a decision that is due, or an error.
    """
    control = dev.control[0]
    if not transactions.arrived(dev.params[0], control, requests[control.cursor]):
        return np.int64(AGAIN)
    operations.family_prefetch(dev, requests)
    transactions.start_request(dev, requests[control.cursor])
    return np.int64(OK)


@operation(optional=True)
def admit_write(dev, request):
    """Admit the next page of a write; return OK, AGAIN, a decision that is due, or an error.

    A partial write reads the page first if it is mapped and no newer version waits to be programmed.
    """
    control, lpn = dev.control[0], lpn_of(dev, request)
    control.admitted_pages += 1
    mapped = dev.logical[lpn].ppn >= 0 and dev.in_flight[lpn] == 0
    read_first = transactions.is_partial(request, control.offset) and mapped
    dev.in_flight[lpn] += 1
    version = dev.logical[lpn].version + dev.in_flight[lpn]
    number = transactions.take_transaction(dev, lpn, version, control.slot, read_first)
    if read_first:
        operations.family_queue_read(dev, number)
    else:
        operations.family_queue_write(dev, number)
    return np.int64(OK)


@operation(optional=True)
def admit_read(dev, request):
    """Admit the next page of a read."""
    lpn, slot = lpn_of(dev, request), np.int64(dev.control[0].slot)
    dev.counters[0].host_reads += 1
    if dev.in_flight[lpn] > 0:
        dev.counters[0].queue_hits += 1
        transactions.pages_done(dev, slot, 1)
    elif dev.logical[lpn].ppn < 0:
        dev.counters[0].unmapped_reads += 1
        transactions.pages_done(dev, slot, 1)
    else:
        operations.family_queue_read(dev, transactions.take_transaction(dev, lpn, 0, slot, 0))


@operation(optional=True)
def admit_page(dev, request):
    """Admit the next page of the started request; return OK, AGAIN, a decision that is due, or an error."""
    control = dev.control[0]
    pages = np.int64(part_pages(dev, request))
    if request.op == WRITE:
        status = np.int64(admit_write(dev, request))
        if status != OK:
            return status
    elif request.op == READ:
        admit_read(dev, request)
    else:
        trim(dev, request)
        transactions.pages_done(dev, np.int64(control.slot), pages)
    control.offset += pages
    if control.offset == request.pages:
        transactions.next_request(control)
    return np.int64(OK)


@inlined
def read_ended(dev, number):
    """Finish a read: mark its page of the request as done or, in a read-modify-write, queue the write."""
    if dev.transaction[number].rmw:
        operations.family_queue_write(dev, number)
    else:
        transactions.transaction_done(dev, number)


@operation(optional=True)
def page_ended(dev, die_number, number, command):
    """Finish a transaction whose command, READ_PAGE or WRITE_PAGE, has ended."""
    transactions.note_parts(dev, die_number, number, np.int64(dev.transaction[number].slot))
    if command == READ_PAGE:
        read_ended(dev, number)
    else:
        transactions.transaction_done(dev, number)


@inlined
def _has_input(dev, requests):
    """Return whether a page is left to admit: there is input, and the horizon is not reached."""
    control = dev.control[0]
    return control.cursor < requests.shape[0] and control.admitted_pages < control.horizon


@inlined
def _offer_write(dev):
    """Make an idle die with room ready for a write of the device's queue (late), if any; return whether."""
    params, control = dev.params[0], dev.control[0]
    if params.allocation != LATE or control.write_head < 0:
        return False
    for k in range(params.dies):
        die_number = remainder(control.die_cursor + k, params.dies)
        die = dev.die[die_number]
        if die.command == NO_COMMAND and allocate_plane(dev, die_number) >= 0:
            control.die_cursor = remainder(die_number + 1, params.dies)
            events.make_ready(dev, die_number)
            return True
    return False


@inlined
def _known_arrival(dev, requests):
    """Return when the next request arrives, ns, for oracles: -1 in a closed loop, NEVER if there is none."""
    control = dev.control[0]
    if dev.params[0].queue_depth > 0:
        return np.int64(-1)
    if control.slot >= 0:
        return control.now
    if not _has_input(dev, requests):
        return NEVER
    return max(requests[control.cursor].arrival_ns, control.now)


@inlined
def _next_arrival(dev, requests):
    """Return when the next request arrives, ns, if its start waits for nothing else; otherwise NEVER."""
    control = dev.control[0]
    if control.slot >= 0 or dev.params[0].queue_depth > 0:
        return NEVER
    if not _has_input(dev, requests) or not has_window(dev):
        return NEVER
    arrival_ns = requests[control.cursor].arrival_ns
    return arrival_ns if arrival_ns > control.now else NEVER


@inlined
def _carry_out_event(dev):
    """Advance to the first event and carry it out; if a command ends, finish its pages."""
    params = dev.params[0]
    dev.control[0].now = events.next_event_ns(dev)
    resource = np.int64(events.take_event(dev))
    if resource < params.channels:
        events.channel_event(dev, resource)
        return
    die_number = np.int64(resource - params.channels)
    command = np.int64(events.command_ended(dev, die_number))
    if command != READ_PAGE and command != WRITE_PAGE:
        return
    number = np.int64(dev.die[die_number].transaction)
    for _ in range(dev.die[die_number].pages):
        following = np.int64(dev.transaction[number].next)
        page_ended(dev, die_number, number, command)
        number = following


@inlined
def _pass_time(dev, requests, last_ns):
    """Advance to the next event or arrival before `last_ns`, or at it; return OK, STUCK or OUT_OF_TIME."""
    arrival_ns = _next_arrival(dev, requests)
    event_ns = events.next_event_ns(dev)
    if min(event_ns, arrival_ns) > last_ns:
        return np.int64(STUCK if event_ns == NEVER and arrival_ns == NEVER else OUT_OF_TIME)
    if event_ns <= arrival_ns:
        _carry_out_event(dev)
    else:
        dev.control[0].now = arrival_ns
    return np.int64(OK)


@inlined
def run_timed(dev, requests, last):
    """Run until input or horizon ends and nothing is outstanding, or a decision is due outside the engine.

    If `last` is false, more input will follow, and the device stops as soon as `requests` are admitted.
    """
    control = dev.control[0]
    periodic, oracle = dev.decider.hooks & PERIOD != 0, dev.decider.hooks & ORACLE != 0
    last_ns = events.latest_ns(dev.params[0]) - 1
    resumed = np.int64(control.resumes)
    while True:
        if periodic and control.clock >= control.period_at:
            return np.int64(PERIOD_DUE)
        goes_on, resumed = resumed, np.int64(NOTHING)
        has_input = _has_input(dev, requests)
        if goes_on != NOTHING:
            control.resumes = NOTHING
        elif not has_input:
            at_horizon = control.admitted_pages >= control.horizon
            if not last and not at_horizon:
                return np.int64(INPUT_ENDED)
            if control.free_transactions == dev.params[0].window_pages:
                return np.int64(HORIZON if at_horizon else INPUT_ENDED)
        may_admit = has_input and has_window(dev)
        # Admit all pages of a request before dies are dispatched, so that several planes can write together.
        if may_admit and control.slot >= 0 and goes_on != DISPATCH:
            status = np.int64(admit_page(dev, requests[control.cursor]))
            if status != OK and status != AGAIN:
                control.resumes = ADMISSION
                return status
            continue
        if control.ready_count > 0:
            if oracle:
                control.next_arrival_ns = _known_arrival(dev, requests)
            die_number, status = np.int64(dev.ready[control.ready_head]), np.int64(AGAIN)
            while status == AGAIN:
                status = np.int64(operations.family_dispatch(dev, die_number))
            if status != OK:
                return status
            events.take_ready(dev)
            continue
        if _offer_write(dev):
            continue
        status = np.int64(AGAIN)
        if may_admit:
            status = np.int64(start_next(dev, requests))
            if status != OK and status != AGAIN:
                control.resumes = ADMISSION
        if status == AGAIN:
            status = _pass_time(dev, requests, last_ns)
        if status != OK:
            return status
