"""Flash commands in time: a die carries out one at a time and keeps it while waiting for its channel."""

from __future__ import annotations

import numpy as np

from ssdgym.engine.core.bits import remainder
from ssdgym.engine.core.kernel import inlined
from ssdgym.engine.core.records import DYNAMIC
from ssdgym.engine.time.events import channel_is_free, make_ready, schedule, take_waiter, wait_for_channel

IDLE, READ_PAGE, WRITE_PAGE, MOVE_PAGE, ERASE_SET = 0, 1, 2, 3, 4
#: Stages of a command: the array works before its transfer; the transfer and what follows it.
_ARRAY, _TRANSFER = 0, 1


@inlined
def charge(dev, geometry, run, die_number, duration_ns):
    """Dynamic allocation: add a command to the estimate of when the die will be idle."""
    if geometry.allocation == DYNAMIC:
        die = dev.die[die_number]
        die.estimate_ns = max(die.estimate_ns, run.now) + duration_ns


@inlined
def read_duration(geometry):
    """Nominal time of a page read, ns."""
    return geometry.read_ns + geometry.transfer_ns


@inlined
def write_duration(geometry):
    """Nominal time of a page write, ns."""
    return geometry.transfer_ns + geometry.program_ns


@inlined
def move_duration(geometry, pages):
    """Nominal time of a relocation of pages of as many planes, ns; of one page that is t_copy."""
    transfers_ns = 0 if geometry.copyback else 2 * pages * geometry.transfer_ns
    return geometry.read_ns + transfers_ns + geometry.program_ns


@inlined
def _grant_channel(dev, geometry, run, die_number):
    """The die's data moves from now on; its next event is the end of its command."""
    die = dev.die[die_number]
    transfer_ns = geometry.transfer_ns * die.pages
    if die.command == MOVE_PAGE:
        transfer_ns *= 2
    end = run.now + transfer_ns
    dev.channel[remainder(die_number, geometry.channels)].free_at = end
    if die.command != READ_PAGE:
        end += geometry.program_ns
    die.stage = _TRANSFER
    schedule(dev, geometry, end, geometry.channels + die_number)


@inlined
def _ask_for_channel(dev, geometry, run, die_number):
    if channel_is_free(geometry, dev, die_number, run.now):
        _grant_channel(dev, geometry, run, die_number)
    else:
        wait_for_channel(dev, geometry, die_number)


@inlined
def start_command(dev, geometry, run, die_number, command, transaction, pages):
    """Start a command on an idle die, of pages of as many planes; ``transaction`` is -1 for GC."""
    die = dev.die[die_number]
    die.command = command
    die.transaction = transaction
    die.pages = pages
    die.started_ns = run.now
    die.stage = _ARRAY
    if command == WRITE_PAGE:
        _ask_for_channel(dev, geometry, run, die_number)
    elif command == ERASE_SET:
        die.stage = _TRANSFER
        schedule(dev, geometry, run.now + geometry.erase_ns, geometry.channels + die_number)
    elif command == MOVE_PAGE and geometry.copyback:
        die.stage = _TRANSFER
        schedule(dev, geometry, run.now + move_duration(geometry, pages), geometry.channels + die_number)
    else:
        schedule(dev, geometry, run.now + geometry.read_ns, geometry.channels + die_number)


@inlined
def channel_event(dev, geometry, run, number):
    """A channel with waiting dies has become free."""
    _grant_channel(dev, geometry, run, take_waiter(dev, number))
    if dev.channel[number].waiter_head >= 0:
        schedule(dev, geometry, dev.channel[number].free_at, number)


@inlined
def command_ended(dev, geometry, run, die_number):
    """Take a die's event; returns its command if that has ended, IDLE if it goes on to its transfer."""
    die = dev.die[die_number]
    if die.stage == _ARRAY:
        _ask_for_channel(dev, geometry, run, die_number)
        return IDLE
    command = np.int64(die.command)
    if command in (MOVE_PAGE, ERASE_SET):
        run.gc_time_ns += run.now - die.started_ns
    die.command = IDLE
    make_ready(dev, geometry, run, die_number)
    return command
