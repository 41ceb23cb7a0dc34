"""Reads that have errors: the raw bit error rate by wear, retention and reads, and the retries of a read.

See `docs/aging.md`. What a sub-block holds is as old as its first page.
"""

import numpy as np

from ssdgym.engine.core.bits import has
from ssdgym.engine.core.kernel import inlined, kernel
from ssdgym.engine.flash import Phases, sub_block_of


@inlined
def _now_ns(dev):
    """Return the time by which data ages."""
    return dev.control[0].now + dev.aging[0].passed_ns


@inlined
def _cycles(dev, sub):
    """Return the program and erase cycles of a sub-block."""
    erases = np.int64(dev.sub_block[sub].erases) - dev.age[sub].first
    return np.float64(dev.error_model[0].cycles_before + erases)


@inlined
def unaged_rate(dev, sub):
    """Return the raw bit error rate of what is written to a sub-block now and has not been read."""
    model = dev.error_model[0]
    return model.base + model.wear_factor * _cycles(dev, sub) ** model.wear_cycles


@kernel
def error_rate(dev, sub):
    """Return the raw bit error rate of the pages of a sub-block."""
    model, age, cycles = dev.error_model[0], dev.age[sub], _cycles(dev, sub)
    time = np.float64(_now_ns(dev) - age.begun_ns) / model.unit_ns
    reads = np.float64(age.reads) / model.read_pages
    retention = model.retention_factor * cycles**model.retention_cycles * time**model.retention_time
    disturb = model.disturb_factor * cycles**model.disturb_cycles * reads**model.disturb_reads
    return unaged_rate(dev, sub) + retention + disturb


@kernel
def note_begun(dev, sub):
    """Note that a sub-block is written from now on; one that holds pages stays as old as the first."""
    if dev.params[0].ages and dev.sub_block[sub].written == 0:
        dev.age[sub].begun_ns = _now_ns(dev)


@kernel
def note_erased(dev, block, mask):
    """Note that the sub-blocks of `mask` are erased."""
    params = dev.params[0]
    if params.ages:
        for s in range(params.sub_blocks):
            if has(mask, s):
                dev.age[block * np.int64(params.sub_blocks) + s].reads = 0


@kernel
def note_read(dev, ppn):
    """Count a read of a page from flash, its retries, and whether its errors can be corrected at all."""
    params, model, aging = dev.params[0], dev.error_model[0], dev.aging[0]
    sub = sub_block_of(params, ppn)
    dev.age[sub].reads += 1
    rate, retries = error_rate(dev, sub), np.int64(0)
    while retries < model.retries and rate > model.limits[retries]:
        retries += 1
    aging.read_retries += retries
    aging.uncorrectable_reads += rate > model.limits[model.retries]
    if params.timed:
        aging.slowest = max(aging.slowest, retries)


@kernel
def _with_retries(dev, phases):
    aging = dev.aging[0]
    retries_ns = np.int64(aging.slowest) * dev.params[0].read_ns
    aging.slowest = 0
    return Phases(phases.array_ns + retries_ns, phases.transfer_ns, phases.after_ns)


@inlined
def with_retries(dev, phases):
    """Return the phases of a command that starts with reads, with the most retries of these."""
    return _with_retries(dev, phases) if dev.params[0].ages else phases
