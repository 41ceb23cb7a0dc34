"""Pages of the host: where they go, and reads of them."""

import numpy as np

from ssdgym.engine.block.bundles import (
    block_at,
    erased_pages,
    first_erased,
    first_room,
    forget,
    free_slot,
    is_erased,
    locate,
    plane_of_bundle,
    program,
    review,
    set_block,
    take_block,
)
from ssdgym.engine.block.jobs import demand_job, host_pays
from ssdgym.engine.block.state import DATA, NFTL, UPDATE
from ssdgym.engine.core.kernel import inlined, kernel
from ssdgym.engine.core.records import FULL, POOL
from ssdgym.engine.core.status import OK
from ssdgym.engine.flash import Phases, check_page
from ssdgym.engine.loop import lpn_of

#: There is no page for a page of the host before a job has ended; it goes on now.
HAS_TO_WAIT = -100


@inlined
def _wait_for(dev, plane, bundle, cause):
    status = np.int64(demand_job(dev, plane, bundle, cause))
    return np.int64(HAS_TO_WAIT) if status == OK else status


@inlined
def _add_block(dev, plane, bundle, slot):
    """Give a bundle a free block of its plane; return its number, HAS_TO_WAIT or an error."""
    merging = dev.merging[0]
    if dev.plane[plane].pool_count <= (1 if merging.spread else merging.kept_free):
        return _wait_for(dev, plane, np.int64(-1), POOL)
    block = np.int64(take_block(dev, plane))
    set_block(dev, bundle, slot, block)
    review(dev, bundle)
    return block


@inlined
def _place_in_pair(dev, plane, bundle, place, lpn):
    """Return the page of the data or the update block that a page goes to (NFTL)."""
    size = np.int64(dev.params[0].pages_per_block)
    data, update = block_at(dev, bundle, DATA), block_at(dev, bundle, UPDATE)
    if data < 0:
        data = _add_block(dev, plane, bundle, np.int64(DATA))
        return data * size + place if data >= 0 else data
    if dev.logical[lpn].ppn < 0 and is_erased(dev, data * size + place):
        return data * size + place
    if update < 0:
        update = _add_block(dev, plane, bundle, np.int64(UPDATE))
        return update * size if update >= 0 else update
    if erased_pages(dev, update) > 0:
        return update * size + dev.block[update].written
    return _wait_for(dev, plane, bundle, FULL)


@inlined
def _place_in_superblock(dev, plane, bundle):
    """Return the first erased page of a superblock, of a new block if there is none."""
    merging = dev.merging[0]
    block = first_room(dev, bundle, (np.int64(1) << np.int64(merging.slots)) - 1)
    if block >= 0:
        return np.int64(first_erased(dev, block))
    if dev.bundle[bundle].held == merging.physical_blocks:
        return _wait_for(dev, plane, bundle, FULL)
    block = _add_block(dev, plane, bundle, free_slot(dev, bundle))
    return block * np.int64(dev.params[0].pages_per_block) if block >= 0 else block


@kernel
def find_place(dev, plane, bundle, place, lpn):
    """Return the page that a page of the host goes to, taking a block if needed; HAS_TO_WAIT, or an error."""
    job = dev.job[plane]
    if job.bundle == bundle:
        job.urgent = 1
        return np.int64(HAS_TO_WAIT)
    if dev.merging[0].kind == NFTL:
        return _place_in_pair(dev, plane, bundle, place, lpn)
    return _place_in_superblock(dev, plane, bundle)


@inlined
def count_host_page(dev, plane):
    """Count a page of the host that is written, or that a newer one has overtaken."""
    control = dev.control[0]
    control.clock += 1
    dev.counters[0].host_pages_written += 1
    control.host_plane = plane


@kernel
def host_program(dev, plane, bundle, ppn, lpn, version):
    """Program a page of the host to the place that has been found for it."""
    logical = dev.logical[lpn]
    old = np.int64(logical.ppn)
    if old >= 0:
        forget(dev, bundle, old)
    else:
        dev.plane[plane].valid += 1
    program(dev, ppn, lpn, version)
    logical.version = version
    count_host_page(dev, plane)
    if dev.merging[0].spread:
        host_pays(dev, plane, bundle)


@kernel
def trim(dev, request):
    """Forget the next page of a request, and whatever versions of it are on their way."""
    lpn = lpn_of(dev, request)
    logical = dev.logical[lpn]
    if logical.ppn >= 0:
        bundle, _ = locate(dev, lpn)
        forget(dev, bundle, np.int64(logical.ppn))
        dev.plane[plane_of_bundle(dev, bundle)].valid -= 1
        logical.ppn = -1
    logical.version += dev.in_flight[lpn] + 1
    dev.in_flight[lpn] = 0
    dev.counters[0].host_pages_trimmed += 1


@kernel
def _programmed_above(dev, ppn):
    """Count the programmed pages of a block above one, where jobs have erased some between."""
    size = np.int64(dev.params[0].pages_per_block)
    count = np.int64(0)
    for above in range(ppn + 1, (ppn // size + 1) * size):
        count += not is_erased(dev, np.int64(above))
    return count


@inlined
def _searched_pages(dev, lpn, ppn):
    """Return how many pages of the update block are looked at before a page is found (NFTL)."""
    merging = dev.merging[0]
    if merging.kind != NFTL or not merging.search_timed:
        return np.int64(0)
    bundle, _ = locate(dev, lpn)
    update = block_at(dev, bundle, UPDATE)
    if update < 0:
        return np.int64(0)
    first = update * np.int64(dev.params[0].pages_per_block)
    if not first <= ppn < first + dev.params[0].pages_per_block:
        return np.int64(dev.block[update].written)
    if dev.job[plane_of_bundle(dev, bundle)].bundle == bundle:
        return _programmed_above(dev, ppn)
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
