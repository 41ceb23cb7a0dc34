"""How the block family carries out pages of requests without time, and what its dies do in time."""

import numpy as np

from ssdgym.engine.block.bundles import locate, plane_of_bundle
from ssdgym.engine.block.jobs import goes_on, job_command
from ssdgym.engine.block.plans import ERASED
from ssdgym.engine.block.writes import HAS_TO_WAIT, count_host_page, find_place, host_program, read_page
from ssdgym.engine.core.bits import remainder
from ssdgym.engine.core.kernel import inlined, kernel
from ssdgym.engine.core.status import AGAIN, NO_WORK, OK
from ssdgym.engine.flash import write_phases
from ssdgym.engine.loop import lpn_of, read_ended
from ssdgym.engine.time.events import (
    ERASE_SET,
    MOVE_PAGE,
    READ_PAGE,
    WRITE_PAGE,
    start_command,
    start_gc_command,
    wake,
)
from ssdgym.engine.time.transactions import (
    is_partial,
    mark_queued,
    pop_read,
    pop_write,
    push_read,
    push_write,
    take_transaction,
    transaction_done,
)

# -- without time


@inlined
def host_read(dev, lpn):
    """Read a mapped page of the host."""
    read_page(dev, lpn)


@inlined
def do_write(dev, request):
    """Write the next page of a request; AGAIN where a job goes first."""
    control = dev.control[0]
    lpn = lpn_of(dev, request)
    bundle, place = locate(dev, lpn)
    plane = plane_of_bundle(dev, bundle)
    ppn = np.int64(find_place(dev, plane, bundle, place, lpn))
    if ppn < 0:
        control.gc_plane = plane
        return np.int64(AGAIN if ppn == HAS_TO_WAIT else ppn)
    if is_partial(request, control.offset) and dev.logical[lpn].ppn >= 0:
        read_page(dev, lpn)
        dev.counters[0].rmw_reads += 1
    control.admitted_pages += 1
    host_program(dev, plane, bundle, ppn, lpn, np.int64(dev.logical[lpn].version) + 1)
    if goes_on(dev, plane):
        control.gc_plane = plane
    return np.int64(OK)


@inlined
def do_work(dev):
    """Carry out the next command of a job."""
    control = dev.control[0]
    plane = np.int64(control.gc_plane)
    if plane < 0:
        return np.int64(NO_WORK)
    status, _, _ = job_command(dev, plane)
    if status == OK and not goes_on(dev, plane):
        control.gc_plane = -1
    return status


# -- in time: the die of a logical page is the same wherever the page is written


@inlined
def _die_of(dev, number):
    """Return the die that the logical page of a transaction goes to."""
    bundle, _ = locate(dev, np.int64(dev.transaction[number].lpn))
    return remainder(plane_of_bundle(dev, bundle), dev.params[0].dies)


@inlined
def queue_read(dev, number):
    """Queue a read to the die of its logical page."""
    die_number = _die_of(dev, number)
    push_read(dev, die_number, number)
    wake(dev, die_number)


@inlined
def queue_write(dev, number):
    """Queue a write to the die of its logical page."""
    die_number = _die_of(dev, number)
    mark_queued(dev, die_number, number)
    push_write(dev, dev.die[die_number], number)
    wake(dev, die_number)


@inlined
def admit_write(dev, request):
    """Admit the next page of a write; one in part of a mapped page is read first."""
    control = dev.control[0]
    lpn = lpn_of(dev, request)
    control.admitted_pages += 1
    mapped = dev.logical[lpn].ppn >= 0 and dev.in_flight[lpn] == 0
    read_first = is_partial(request, control.offset) and mapped
    dev.in_flight[lpn] += 1
    version = dev.logical[lpn].version + dev.in_flight[lpn]
    number = take_transaction(dev, lpn, version, control.slot, read_first)
    if read_first:
        queue_read(dev, number)
    else:
        queue_write(dev, number)
    return np.int64(OK)


@inlined
def _start_read(dev, die_number):
    number = pop_read(dev, die_number)
    lpn = np.int64(dev.transaction[number].lpn)
    rmw = dev.transaction[number].rmw
    if dev.logical[lpn].ppn < 0:  # trimmed while the read was waiting
        dev.counters[0].unmapped_reads += 1 - rmw
        read_ended(dev, number)
        return np.int64(AGAIN)
    dev.counters[0].rmw_reads += rmw
    start_command(dev, die_number, READ_PAGE, number, 1, read_page(dev, lpn))
    return np.int64(OK)


@kernel
def _go_on_with_job(dev, die_number, plane):
    status, done, phases = job_command(dev, plane)
    if status != OK:
        return status
    if done < 0:
        return np.int64(AGAIN)
    start_gc_command(dev, die_number, ERASE_SET if done == ERASED else MOVE_PAGE, 0, phases)
    return np.int64(OK)


@inlined
def _start_write(dev, die_number):
    number = np.int64(dev.die[die_number].write_head)
    lpn, version = np.int64(dev.transaction[number].lpn), np.int64(dev.transaction[number].version)
    bundle, place = locate(dev, lpn)
    plane = plane_of_bundle(dev, bundle)
    behind = version - dev.logical[lpn].version
    if behind <= 0:  # overtaken: nothing is programmed
        pop_write(dev, dev.die[die_number])
        count_host_page(dev, plane)
        transaction_done(dev, number)
        return np.int64(AGAIN)
    ppn = np.int64(find_place(dev, plane, bundle, place, lpn))
    if ppn < 0:
        return np.int64(AGAIN if ppn == HAS_TO_WAIT else ppn)
    pop_write(dev, dev.die[die_number])
    dev.in_flight[lpn] -= behind
    host_program(dev, plane, bundle, ppn, lpn, version)
    start_command(dev, die_number, WRITE_PAGE, number, 1, write_phases(dev.params[0], 1))
    return np.int64(OK)


@inlined
def dispatch_die(dev, die_number):
    """Start what an idle die does next, if anything: a job that goes on, a read, or a write."""
    params = dev.params[0]
    reads = dev.die[die_number].read_head >= 0
    if reads and params.reads_first:
        return _start_read(dev, die_number)
    for plane in range(die_number, params.planes, params.dies):
        if goes_on(dev, plane):
            return np.int64(_go_on_with_job(dev, die_number, np.int64(plane)))
    if reads:
        return _start_read(dev, die_number)
    if dev.die[die_number].write_head >= 0:
        return _start_write(dev, die_number)
    return np.int64(OK)
