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
def charge(dev, die_number, duration_ns):
    """Dynamic allocation: add a command to the estimate of when the die will be idle."""
    params = dev.params[0]
    control = dev.control[0]
    if params.allocation == DYNAMIC:
        die = dev.die[die_number]
        die.estimate_ns = max(die.estimate_ns, control.now) + duration_ns


@inlined
def read_duration(params):
    """Nominal time of a page read, ns."""
    return params.read_ns + params.transfer_ns


@inlined
def write_duration(params):
    """Nominal time of a page write, ns."""
    return params.transfer_ns + params.program_ns


@inlined
def move_duration(params, pages):
    """Nominal time of a relocation of pages of as many planes, ns; of one page that is t_copy."""
    transfers_ns = 0 if params.copyback else 2 * pages * params.transfer_ns
    return params.read_ns + transfers_ns + params.program_ns


@inlined
def _grant_channel(dev, die_number):
    """The die's data moves from now on; its next event is the end of its command."""
    params = dev.params[0]
    control = dev.control[0]
    die = dev.die[die_number]
    transfer_ns = params.transfer_ns * die.pages
    if die.command == MOVE_PAGE:
        transfer_ns *= 2
    end = control.now + transfer_ns
    dev.channel[remainder(die_number, params.channels)].free_at = end
    if die.command != READ_PAGE:
        end += params.program_ns
    die.stage = _TRANSFER
    schedule(dev, end, params.channels + die_number)


@inlined
def _ask_for_channel(dev, die_number):
    control = dev.control[0]
    if channel_is_free(dev, die_number, control.now):
        _grant_channel(dev, die_number)
    else:
        wait_for_channel(dev, die_number)


@inlined
def start_command(dev, die_number, command, transaction, pages):
    """Start a command on an idle die, of pages of as many planes; ``transaction`` is -1 for GC."""
    params = dev.params[0]
    control = dev.control[0]
    die = dev.die[die_number]
    die.command = command
    die.transaction = transaction
    die.pages = pages
    die.started_ns = control.now
    die.stage = _ARRAY
    if command == WRITE_PAGE:
        _ask_for_channel(dev, die_number)
    elif command == ERASE_SET:
        die.stage = _TRANSFER
        schedule(dev, control.now + params.erase_ns, params.channels + die_number)
    elif command == MOVE_PAGE and params.copyback:
        die.stage = _TRANSFER
        schedule(dev, control.now + move_duration(params, pages), params.channels + die_number)
    else:
        schedule(dev, control.now + params.read_ns, params.channels + die_number)


@inlined
def channel_event(dev, number):
    """A channel with waiting dies has become free."""
    _grant_channel(dev, take_waiter(dev, number))
    if dev.channel[number].waiter_head >= 0:
        schedule(dev, dev.channel[number].free_at, number)


@inlined
def command_ended(dev, die_number):
    """Take a die's event; returns its command if that has ended, IDLE if it goes on to its transfer."""
    control = dev.control[0]
    die = dev.die[die_number]
    if die.stage == _ARRAY:
        _ask_for_channel(dev, die_number)
        return IDLE
    command = np.int64(die.command)
    if command in (MOVE_PAGE, ERASE_SET):
        dev.counters[0].gc_time_ns += control.now - die.started_ns
    die.command = IDLE
    make_ready(dev, die_number)
    return command
