"""The scheduler: what an idle die does next, a job, a read or a write of the host."""

import numpy as np

from ssdgym.engine.block.bundles import locate, plane_of_page
from ssdgym.engine.block.jobs import goes_on, job_command
from ssdgym.engine.block.plans import ERASED
from ssdgym.engine.block.writes import HAS_TO_WAIT, count_host_page, find_place, host_program, read_page
from ssdgym.engine.core.bits import remainder
from ssdgym.engine.core.kernel import inlined, kernel
from ssdgym.engine.core.status import AGAIN, OK
from ssdgym.engine.flash import write_phases
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
    mark_queued,
    pop_read,
    pop_write,
    push_read,
    push_write,
    transaction_done,
)


@inlined
def _die_of(dev, lpn):
    """Return the die that a logical page goes to, wherever it is written."""
    return remainder(plane_of_page(dev, lpn), dev.params[0].dies)


@inlined
def queue_read(dev, number):
    """Queue a read to the die of its logical page."""
    die_number = _die_of(dev, np.int64(dev.transaction[number].lpn))
    push_read(dev, die_number, number)
    wake(dev, die_number)


@inlined
def queue_write(dev, number):
    """Queue a write to the die of its logical page."""
    die_number = _die_of(dev, np.int64(dev.transaction[number].lpn))
    mark_queued(dev, die_number, number)
    push_write(dev, dev.die[die_number], number)
    wake(dev, die_number)


@inlined
def read_ended(dev, number):
    """Finish a read: complete its request, or queue the write it belongs to (read-modify-write)."""
    if dev.transaction[number].rmw:
        queue_write(dev, number)
    else:
        transaction_done(dev, number)


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
    plane = np.int64(remainder(bundle, np.int64(dev.params[0].planes)))
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
def _working_plane(dev, die_number):
    """Return the lowest plane of a die whose job goes on, or -1."""
    params = dev.params[0]
    for plane in range(die_number, params.planes, params.dies):
        if goes_on(dev, plane):
            return np.int64(plane)
    return np.int64(-1)


@inlined
def dispatch_die(dev, die_number):
    """Start what an idle die does next, if anything."""
    reads = dev.die[die_number].read_head >= 0
    if reads and dev.params[0].reads_first:
        return _start_read(dev, die_number)
    plane = _working_plane(dev, die_number)
    if plane >= 0:
        return np.int64(_go_on_with_job(dev, die_number, plane))
    if reads:
        return _start_read(dev, die_number)
    if dev.die[die_number].write_head >= 0:
        return _start_write(dev, die_number)
    return np.int64(OK)
