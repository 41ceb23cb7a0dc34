"""Flash commands in time: a die carries out one at a time and keeps it while waiting for its channel."""

from __future__ import annotations

import numpy as np

from ssdgym.engine.core.bits import remainder
from ssdgym.engine.core.kernel import inlined
from ssdgym.engine.core.records import DYNAMIC
from ssdgym.engine.flash.times import NO_PHASE, duration_of
from ssdgym.engine.time.events import (
    cancel,
    channel_is_free,
    latest_ns,
    make_ready,
    schedule,
    take_waiter,
    wait_for_channel,
)

IDLE, READ_PAGE, WRITE_PAGE, MOVE_PAGE, ERASE_SET = 0, 1, 2, 3, 4
#: Stages of a command: the array works before its transfer; the transfer and what follows it; or, where a
#: write of the host is done when its data has arrived, the transfer alone, and what follows it.
_ARRAY, _TRANSFER, _ARRIVAL, _PROGRAM = range(4)


@inlined
def charge(dev, die_number, phases):
    """Add a command to the estimate of when the die will be idle, which dynamic allocation goes by."""
    params = dev.params[0]
    control = dev.control[0]
    if params.allocation == DYNAMIC:
        die = dev.die[die_number]
        die.estimate_ns = max(die.estimate_ns, control.now) + duration_of(phases)


@inlined
def _grant_channel(dev, die_number):
    """Let the die's data move from now on; its next event is the end of its command."""
    params = dev.params[0]
    control = dev.control[0]
    die = dev.die[die_number]
    free_at = control.now + die.transfer_ns
    dev.channel[remainder(die_number, params.channels)].free_at = free_at
    if params.early_writes and die.command == WRITE_PAGE:
        die.stage = _ARRIVAL
        schedule(dev, free_at, params.channels + die_number)
        return
    die.stage = _TRANSFER
    schedule(dev, free_at + die.after_ns, params.channels + die_number)


@inlined
def _ask_for_channel(dev, die_number):
    control = dev.control[0]
    if channel_is_free(dev, die_number, control.now):
        _grant_channel(dev, die_number)
    else:
        wait_for_channel(dev, die_number)


@inlined
def start_command(dev, die_number, command, transaction, pages, phases):
    """Start a command on an idle die, of pages of as many planes; `transaction` is -1 for GC."""
    control = dev.control[0]
    die = dev.die[die_number]
    die.command = command
    die.transaction = transaction
    die.pages = pages
    die.transfer_ns = phases.transfer_ns
    die.after_ns = phases.after_ns
    die.started_ns = control.now
    die.stage = _ARRAY
    if phases.array_ns == NO_PHASE:
        _ask_for_channel(dev, die_number)
        return
    if phases.transfer_ns == NO_PHASE:
        die.stage = _TRANSFER
    schedule(dev, control.now + phases.array_ns, dev.params[0].channels + die_number)


@inlined
def start_gc_command(dev, die_number, command, pages, phases):
    """Start a command of GC on an idle die, of pages of as many planes."""
    charge(dev, die_number, phases)
    start_command(dev, die_number, command, -1, pages, phases)


@inlined
def start_timer(dev, die_number, wait_ns):
    """Let an idle die, which has no other event, become ready again after a time that can be counted."""
    params = dev.params[0]
    at = dev.control[0].now + min(max(wait_ns, 1), latest_ns(params))
    if at < latest_ns(params):
        die = dev.die[die_number]
        die.timer = 1
        die.stage = _TRANSFER
        schedule(dev, at, params.channels + die_number)


@inlined
def stop_timer(dev, die_number):
    """Forget the timer of a die, if it has one."""
    die = dev.die[die_number]
    if die.timer:
        die.timer = 0
        cancel(dev, dev.params[0].channels + die_number)


@inlined
def channel_event(dev, number):
    """Give a channel that has become free to the die at the head of its queue."""
    _grant_channel(dev, take_waiter(dev, number))
    if dev.channel[number].waiter_head >= 0:
        schedule(dev, dev.channel[number].free_at, number)


@inlined
def command_ended(dev, die_number):
    """Take a die's event; return its command if its pages are done with it, else IDLE."""
    control = dev.control[0]
    die = dev.die[die_number]
    if die.stage == _ARRAY:
        _ask_for_channel(dev, die_number)
        return IDLE
    if die.stage == _ARRIVAL:
        die.stage = _PROGRAM
        schedule(dev, control.now + die.after_ns, dev.params[0].channels + die_number)
        return WRITE_PAGE
    command = IDLE if die.stage == _PROGRAM else np.int64(die.command)
    if command in (MOVE_PAGE, ERASE_SET):
        dev.counters[0].gc_time_ns += control.now - die.started_ns
        die.gc_ns += control.now - die.started_ns
    die.command = IDLE
    make_ready(dev, die_number)
    return command


@inlined
def wake(dev, die_number):
    """Make a die to which work has been queued ready, if it is idle."""
    if dev.die[die_number].command == IDLE:
        make_ready(dev, die_number)
