"""Cells that wear out: which programs and erases fail, and when a block and a device are at their end.

Draws are functions of the seed, the sub-block, its erases and the page.
"""

import numpy as np

from ssdgym.engine.core.bits import ERASE_FAILURE_STREAM, PROGRAM_FAILURE_STREAM, draw, has
from ssdgym.engine.core.kernel import inlined, kernel, operation
from ssdgym.engine.flash import NO_PHASE, Phases

_UNIT = 2.0**-53


@inlined
def _age(dev, sub):
    """Return the erases of a sub-block in its life."""
    return np.int64(dev.sub_block[sub].erases) - dev.endurance[sub].first


@inlined
def _fails(dev, stream, sub, age, k, fresh, worn):
    """Return whether a command fails: draw `k` of a sub-block after `age` erases."""
    bits = draw(dev.params[0].seed, stream, sub, k)
    chance = fresh + (worn - fresh) * (np.float64(age) / dev.params[0].mean_endurance)
    return np.float64(bits >> np.uint64(11)) * _UNIT < chance


@kernel
def program_fails(dev, sub, place, places):
    """Return whether a program of a sub-block fails, at this one of so many places in it."""
    params = dev.params[0]
    age = _age(dev, sub)
    k = age * places + place
    return _fails(dev, PROGRAM_FAILURE_STREAM, sub, age, k, params.program_fresh, params.program_worn)


@kernel
def wears_out(dev, block, mask):
    """Return whether the erase of these sub-blocks that has just been done is the last one of the block."""
    params = dev.params[0]
    ends = False
    for s in range(params.sub_blocks):
        if has(mask, s):
            sub = block * np.int64(params.sub_blocks) + s
            age = _age(dev, sub)
            failed = _fails(dev, ERASE_FAILURE_STREAM, sub, age, age, params.erase_fresh, params.erase_worn)
            dev.life[0].erase_failures += failed
            ends |= failed or dev.sub_block[sub].erases >= dev.endurance[sub].last
    return ends


@inlined
def strain(dev, sub):
    """Count an erase beside a sub-block as one of its own; return whether it was the last one."""
    endurance = dev.endurance[sub]
    endurance.first -= 1
    endurance.last -= 1
    return dev.sub_block[sub].erases >= endurance.last


@inlined
def count_program_failure(dev):
    """Count a page that could not be programmed."""
    dev.life[0].program_failures += 1


@inlined
def with_failures(dev, phases, program_ns, failed):
    """Return the phases of a command with the programs that have failed in it, but `failed` before."""
    if not dev.params[0].programs_fail:
        return phases
    again_ns = (dev.life[0].program_failures - failed) * program_ns
    if phases.transfer_ns == NO_PHASE:
        return Phases(phases.array_ns + again_ns, phases.transfer_ns, phases.after_ns)
    return Phases(phases.array_ns, phases.transfer_ns, phases.after_ns + again_ns)


@inlined
def count_retired(dev):
    """Count a block that has been retired."""
    life = dev.life[0]
    if life.retired_blocks == 0:
        life.first_lost_at = dev.control[0].clock
    life.retired_blocks += 1


@inlined
def has_lost(dev):
    """Return whether blocks are retired, or pages could not be programmed."""
    return dev.life[0].retired_blocks > 0 or dev.life[0].program_failures > 0


@inlined
def is_over(dev):
    """Return whether the device is at the end of its life."""
    return dev.params[0].endures != 0 and dev.life[0].over != 0


@inlined
def end_life(dev):
    """Let the device stop for good."""
    dev.life[0].over = 1


@operation
def forget_page(dev, lpn):
    """Forget a logical page that the device gives up, as if the host had trimmed it."""


@kernel
def settle_for(dev, pages):
    """Leave the host at most so many logical pages, the first ones, or end the life of the device."""
    params, life = dev.params[0], dev.life[0]
    before = np.int64(life.capacity)
    if pages >= before:
        return
    if not params.shrinks or pages < params.least_capacity:
        end_life(dev)
        return
    for lpn in range(pages, before):
        forget_page(dev, np.int64(lpn))
    life.capacity = pages
