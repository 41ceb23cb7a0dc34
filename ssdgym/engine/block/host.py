"""Host pages: where they are programmed, untimed reads and writes, and commands of event-driven dies."""

import numpy as np

from ssdgym.engine.block import bundles
from ssdgym.engine.block.jobs import HAS_TO_WAIT, demand_job, goes_on, host_pays, job_command
from ssdgym.engine.block.state import DATA, NFTL, UPDATE
from ssdgym.engine.block.steps import ERASED
from ssdgym.engine.cells import is_over
from ssdgym.engine.core.bits import remainder
from ssdgym.engine.core.kernel import inlined, kernel
from ssdgym.engine.core.records import FULL, POOL
from ssdgym.engine.core.status import AGAIN, END_OF_LIFE, NO_WORK, OK
from ssdgym.engine.flash import Phases, check_page, read_phases, write_phases
from ssdgym.engine.loop import lpn_of, read_ended
from ssdgym.engine.time import transactions
from ssdgym.engine.time.events import (
    ERASE_SET,
    MOVE_PAGE,
    READ_PAGE,
    WRITE_PAGE,
    start_command,
    start_gc_command,
)


@inlined
def _add_block(dev, plane, bundle, slot):
    """Put a free block of the plane into a slot of a bundle; return the block, HAS_TO_WAIT or an error."""
    if dev.plane[plane].pool_count <= dev.merging[0].least_free:
        return demand_job(dev, plane, np.int64(-1), POOL)
    block = np.int64(bundles.take_block(dev, plane))
    bundles.set_block(dev, bundle, slot, block)
    bundles.review(dev, bundle)
    return block


@kernel
def find_place(dev, plane, bundle, place, lpn):
    """Return the physical page for a host page, after taking a block if needed; HAS_TO_WAIT or an error."""
    job = dev.job[plane]
    if job.bundle == bundle:
        job.urgent = 1
        return np.int64(HAS_TO_WAIT)
    if dev.merging[0].kind == NFTL:
        size = np.int64(dev.params[0].pages_per_block)
        data, update = bundles.block_at(dev, bundle, DATA), bundles.block_at(dev, bundle, UPDATE)
        if data < 0:
            data = _add_block(dev, plane, bundle, np.int64(DATA))
            return data * size + place if data >= 0 else data
        if dev.logical[lpn].ppn < 0 and bundles.is_erased(dev, data * size + place):
            return data * size + place
        if update < 0:
            update = _add_block(dev, plane, bundle, np.int64(UPDATE))
            return update * size if update >= 0 else update
        if bundles.erased_pages(dev, update) > 0:
            return update * size + dev.block[update].written
        return demand_job(dev, plane, bundle, FULL)
    merging = dev.merging[0]
    block = bundles.first_room(dev, bundle, (np.int64(1) << np.int64(merging.slots)) - 1)
    if block >= 0:
        return np.int64(bundles.first_erased(dev, block))
    if dev.bundle[bundle].held >= merging.physical_blocks:
        return demand_job(dev, plane, bundle, FULL)
    block = _add_block(dev, plane, bundle, bundles.free_slot(dev, bundle))
    return block * np.int64(dev.params[0].pages_per_block) if block >= 0 else block


@inlined
def count_host_page(dev, plane):
    """Count a page of the host that is programmed, or that a newer version has overtaken."""
    control = dev.control[0]
    control.clock += 1
    dev.counters[0].host_pages_written += 1
    control.host_plane = plane


@kernel
def host_program(dev, plane, bundle, ppn, lpn, version):
    """Program a host page to the physical page `ppn`, which `find_place` has returned."""
    logical = dev.logical[lpn]
    old = np.int64(logical.ppn)
    if old >= 0:
        bundles.forget(dev, bundle, old)
    else:
        dev.plane[plane].valid += 1
    bundles.program(dev, ppn, lpn, version)
    logical.version = version
    count_host_page(dev, plane)
    if dev.merging[0].spread:
        host_pays(dev, plane, bundle)


@inlined
def _searched_pages(dev, lpn, ppn):
    """Return how many spare areas of the update block NFTL reads to find `lpn`, which is in page `ppn`."""
    merging = dev.merging[0]
    if merging.kind != NFTL or not merging.search_timed:
        return np.int64(0)
    bundle, _ = bundles.locate(dev, lpn)
    update = bundles.block_at(dev, bundle, UPDATE)
    if update < 0:
        return np.int64(0)
    first = update * np.int64(dev.params[0].pages_per_block)
    if not first <= ppn < first + dev.params[0].pages_per_block:
        return np.int64(dev.block[update].written)
    if dev.job[bundles.plane_of_bundle(dev, bundle)].bundle == bundle:
        # The job has erased some of the later pages: count those that are still programmed.
        size = np.int64(dev.params[0].pages_per_block)
        count = np.int64(0)
        for above in range(ppn + 1, (ppn // size + 1) * size):
            count += not bundles.is_erased(dev, np.int64(above))
        return count
    return first + dev.block[update].written - 1 - ppn


@inlined
def read_page(dev, lpn):
    """Read a mapped page for the host; return the phases of the command."""
    params = dev.params[0]
    ppn = np.int64(dev.logical[lpn].ppn)
    pages = _searched_pages(dev, lpn, ppn)
    dev.tally[0].search_reads += pages
    check_page(dev, lpn, ppn)
    transfer_ns = np.int64(params.transfer_ns + pages * dev.merging[0].spare_ns)
    return Phases((pages + 1) * np.int64(params.read_ns), transfer_ns, np.int64(0))


# -- untimed


@inlined
def host_read(dev, lpn):
    """Read a mapped page of the host."""
    read_page(dev, lpn)


@inlined
def do_write(dev, request):
    """Write the next page of a request; return OK, AGAIN if a job must run first, or an error."""
    control = dev.control[0]
    lpn = lpn_of(dev, request)
    bundle, place = bundles.locate(dev, lpn)
    plane = bundles.plane_of_bundle(dev, bundle)
    ppn = np.int64(find_place(dev, plane, bundle, place, lpn))
    if ppn < 0:
        control.gc_plane = plane
        return np.int64(AGAIN if ppn == HAS_TO_WAIT else ppn)
    if transactions.is_partial(request, control.offset) and dev.logical[lpn].ppn >= 0:
        read_page(dev, lpn)
        dev.counters[0].rmw_reads += 1
    control.admitted_pages += 1
    host_program(dev, plane, bundle, ppn, lpn, np.int64(dev.logical[lpn].version) + 1)
    if goes_on(dev, plane):
        control.gc_plane = plane
    return np.int64(OK)


@inlined
def do_work(dev):
    """Carry out the next command of the job that continues now, if any; return a status."""
    control = dev.control[0]
    plane = np.int64(control.gc_plane)
    if plane < 0:
        return np.int64(NO_WORK)
    status, _, _ = job_command(dev, plane)
    if status == OK and not goes_on(dev, plane):
        control.gc_plane = -1
    return np.int64(END_OF_LIFE) if is_over(dev) else status


# -- event-driven: the die of a logical page never changes


@inlined
def _die_of(dev, number):
    """Return the die that the logical page of a transaction goes to."""
    bundle, _ = bundles.locate(dev, np.int64(dev.transaction[number].lpn))
    return remainder(bundles.plane_of_bundle(dev, bundle), dev.params[0].dies)


@inlined
def queue_read(dev, number):
    """Queue a read to the die of its logical page."""
    die_number = _die_of(dev, number)
    transactions.queue_read(dev, die_number, number, read_phases(dev.params[0]))


@inlined
def queue_write(dev, number):
    """Queue a write to the die of its logical page."""
    die_number = _die_of(dev, number)
    transactions.queue_write(dev, die_number, dev.die[die_number], number, write_phases(dev.params[0], 1))


@inlined
def _start_read(dev, die_number):
    number = transactions.pop_read(dev, die_number)
    lpn = np.int64(dev.transaction[number].lpn)
    rmw = dev.transaction[number].rmw
    if dev.logical[lpn].ppn < 0:  # trimmed while the read was waiting
        dev.counters[0].unmapped_reads += 1 - rmw
        read_ended(dev, number)
        return np.int64(AGAIN)
    dev.counters[0].rmw_reads += rmw
    start_command(dev, die_number, READ_PAGE, number, 1, read_page(dev, lpn))
    return np.int64(OK)


@inlined
def _start_write(dev, die_number):
    number = np.int64(dev.die[die_number].write_head)
    lpn, version = np.int64(dev.transaction[number].lpn), np.int64(dev.transaction[number].version)
    bundle, place = bundles.locate(dev, lpn)
    plane = bundles.plane_of_bundle(dev, bundle)
    behind = version - dev.logical[lpn].version
    if behind <= 0:  # overtaken: nothing is programmed
        transactions.pop_write(dev, dev.die[die_number])
        count_host_page(dev, plane)
        transactions.transaction_done(dev, number)
        return np.int64(AGAIN)
    ppn = np.int64(find_place(dev, plane, bundle, place, lpn))
    if ppn < 0:
        return np.int64(AGAIN if ppn == HAS_TO_WAIT else ppn)
    transactions.pop_write(dev, dev.die[die_number])
    dev.in_flight[lpn] -= behind
    host_program(dev, plane, bundle, ppn, lpn, version)
    start_command(dev, die_number, WRITE_PAGE, number, 1, write_phases(dev.params[0], 1))
    return np.int64(OK)


@inlined
def dispatch_die(dev, die_number):
    """Start the next command of an idle die, if any: of a job, a read, or a write."""
    params = dev.params[0]
    reads = dev.die[die_number].read_head >= 0
    if reads and params.reads_first:
        return _start_read(dev, die_number)
    for plane in range(die_number, params.planes, params.dies):
        if goes_on(dev, plane):
            status, done, phases = job_command(dev, np.int64(plane))
            if status != OK:
                return status
            if done < 0:
                return np.int64(AGAIN)
            if is_over(dev):
                return np.int64(END_OF_LIFE)
            start_gc_command(dev, die_number, ERASE_SET if done == ERASED else MOVE_PAGE, 0, phases)
            return np.int64(OK)
    if reads:
        return _start_read(dev, die_number)
    if dev.die[die_number].write_head >= 0:
        return _start_write(dev, die_number)
    return np.int64(OK)
