"""Jobs: when a bundle is merged, how the merge is planned, and when a job comes before host pages."""

import numpy as np

from ssdgym.engine.block import plans
from ssdgym.engine.block.bundles import block_at, erased_pages, review, victim_of
from ssdgym.engine.block.lifetime import is_short
from ssdgym.engine.block.plans import MERGE_BLOCKS
from ssdgym.engine.block.state import DATA, NFTL, SCAN, UNPLANNED, UPDATE
from ssdgym.engine.block.steps import COPIED, SCANNED, next_step
from ssdgym.engine.core.kernel import inlined, kernel
from ssdgym.engine.core.records import FULL, POOL
from ssdgym.engine.core.status import ILLEGAL_ANSWER, OK, OUT_OF_SPACE
from ssdgym.engine.decisions import MERGE, PENDING, is_external, merge_by, request_action, status_of
from ssdgym.engine.flash import NO_PHASE, Phases, duration_of, move_phases

#: Result for a host page that has no place before a job has ended; the job continues now.
HAS_TO_WAIT = -100


@inlined
def has_job(dev, plane):
    """Return whether a plane has a job."""
    return dev.job[plane].bundle >= 0


@inlined
def goes_on(dev, plane):
    """Return whether a plane has a job that must continue before any host page."""
    job = dev.job[plane]
    return job.bundle >= 0 and (job.urgent or job.phase == UNPLANNED or job.owed > 0)


@kernel
def begin_job(dev, plane, bundle, cause, urgent):
    """Begin a job on a bundle, in a plane without a job; the job is planned later."""
    job = dev.job[plane]
    job.bundle = bundle
    job.cause = cause
    job.phase = UNPLANNED
    job.urgent = urgent
    job.owed = 0
    review(dev, bundle)


@kernel
def demand_job(dev, plane, bundle, cause):
    """Make the job of a plane urgent, or begin an urgent job on a bundle (-1: on the plane's victim).

    If lost blocks leave the plane short of blocks, the job is on the victim. Returns HAS_TO_WAIT or
    OUT_OF_SPACE.
    """
    if has_job(dev, plane):
        dev.job[plane].urgent = 1
        return np.int64(HAS_TO_WAIT)
    if is_short(dev, plane):
        bundle, cause = np.int64(-1), POOL
    if bundle < 0:
        bundle = np.int64(victim_of(dev, plane))
        if bundle < 0:
            return np.int64(OUT_OF_SPACE)
    begin_job(dev, plane, bundle, cause, 1)
    return np.int64(HAS_TO_WAIT)


@kernel
def host_pays(dev, plane, bundle):
    """After a host program, make `step` commands of the plane's job due, or begin a job needed soon."""
    job = dev.job[plane]
    if has_job(dev, plane):
        job.owed += job.step
        return
    update = block_at(dev, bundle, UPDATE)
    full = update >= 0 and dev.block[update].written == dev.params[0].pages_per_block
    if full and not is_short(dev, plane):
        begin_job(dev, plane, bundle, FULL, 0)
    elif dev.plane[plane].pool_count <= dev.merging[0].kept_free:
        victim = np.int64(victim_of(dev, plane))
        if victim >= 0:
            begin_job(dev, plane, victim, POOL, 0)


@inlined
def _count_plan(dev, plane, answer):
    """Count a job that has been planned."""
    tally, job = dev.tally[0], dev.job[plane]
    dev.counters[0].gc_invocations += 1
    tally.full_jobs += job.cause == FULL
    tally.pool_jobs += job.cause == POOL
    record = dev.bundle[job.bundle]
    if answer == MERGE_BLOCKS:
        tally.merges += 1
        record.since_merge = 0
    else:
        tally.m_merges += 1
        tally.restored_leaves += dev.figure[answer].restored
        record.since_merge += 1


@kernel
def _plan(dev, plane):
    """Plan a job by the decision MERGE; return OK, a decision that is due, or ILLEGAL_ANSWER."""
    plans.fill_figures(dev, plane)
    if is_external(dev, MERGE):
        answer = np.int64(request_action(dev, MERGE, plane, np.int64(dev.job[plane].bundle)))
        if answer == PENDING:
            return status_of(dev, answer)
    else:
        answer = np.int64(
            merge_by(dev.decider.rules[MERGE], dev.figure[: plans.candidates_of(dev)], dev.case)
        )
    if not is_allowed(dev, answer):
        return np.int64(ILLEGAL_ANSWER)
    job = dev.job[plane]
    job.answer = answer
    job.phase = SCAN
    _count_plan(dev, plane, answer)
    # Spread merges: each host page makes enough commands due that the job ends before the pool is empty.
    copy_ns = max(np.int64(dev.params[0].copy_cost), 1)
    commands = (np.int64(dev.figure[answer].cost_ns) + copy_ns - 1) // copy_ns
    pages = max(np.int64(dev.plane[plane].pool_count) - 1, 1)
    job.step = max((commands + pages - 1) // pages, 1)
    job.owed = job.step
    # Choose which blocks of the bundle are emptied, and in which blocks partial blocks are erased.
    bundle = np.int64(job.bundle)
    held = plans.held_slots(dev, bundle)
    if dev.merging[0].kind == NFTL:
        data = np.int64(1) << DATA
        emptied = held if answer == MERGE_BLOCKS else held & ~data
    elif answer == MERGE_BLOCKS:
        emptied = np.int64(plans.merged_slots(dev, bundle, np.int64(job.cause)))
    else:
        emptied = plans.compacted_slots(dev, bundle)
    job.emptied = emptied
    job.left = held & ~emptied
    # Store the plans for all blocks in which partial blocks are erased.
    for slot in range(dev.merging[0].slots):
        if answer != MERGE_BLOCKS and np.int64(job.left) >> slot & 1:
            block = block_at(dev, bundle, np.int64(slot))
            plans.look_at(dev, bundle, block)
            plans.make_draft(dev, block, answer)
            dev.job_plan[plane, slot, 0] = dev.draft[0].plan[0]
            dev.job_plan[plane, slot, 1] = dev.draft[0].plan[1]
    # Erase a part of the update block first, if pages that leave the data block need the room.
    job.node = 0
    if dev.merging[0].kind == NFTL and answer != MERGE_BLOCKS:
        update = block_at(dev, np.int64(job.bundle), UPDATE)
        if dev.figure[answer].out_copies > erased_pages(dev, update):
            job.node, _ = plans.largest_invalid(dev, update)
    return np.int64(OK)


@inlined
def is_allowed(dev, answer):
    """Return whether a candidate of the last decision can be carried out."""
    return 0 <= answer < plans.candidates_of(dev) and dev.figure[answer].allowed


@inlined
def _phases_of(dev, plane, done):
    """Return the phases of a step, and count its nominal time."""
    params, tally = dev.params[0], dev.tally[0]
    if done == SCANNED:
        pages = np.int64(dev.job[plane].amount)
        spare_ns = np.int64(dev.merging[0].spare_ns)
        phases = Phases(pages * np.int64(params.read_ns), pages * spare_ns, np.int64(0))
        tally.gc_spare_ns += duration_of(phases)
        return phases
    if done == COPIED:
        transfer_ns = np.int64(0 if params.copyback else params.transfer_ns)
        tally.gc_read_ns += params.read_ns + transfer_ns
        tally.gc_write_ns += params.program_ns + transfer_ns
        return move_phases(params, 1)
    erase_ns = np.int64(dev.merging[0].erase_ns[dev.job[plane].amount])
    tally.gc_erase_ns += erase_ns
    return Phases(erase_ns, np.int64(NO_PHASE), np.int64(0))


@kernel
def job_command(dev, plane):
    """Plan a job, or begin its next command; return a status, the kind of the command, and its phases.

    The status is OK, a decision that is due, or an error. The kind is -1 if no command was begun.
    """
    nothing = Phases(np.int64(0), np.int64(NO_PHASE), np.int64(0))
    if dev.job[plane].phase == UNPLANNED:
        return np.int64(_plan(dev, plane)), np.int64(-1), nothing
    done = np.int64(next_step(dev, plane))
    if done < 0:
        return done, np.int64(-1), nothing
    dev.job[plane].owed -= 1
    return np.int64(OK), done, _phases_of(dev, plane, done)
