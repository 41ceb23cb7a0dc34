"""Events of an event-driven device, and the flash commands whose phases end by events.

A *resource* is a channel or a die: channels have the numbers from 0 up, dies follow. The *event tree* is a
heap of minima over the next events of all resources.
"""

import numpy as np

from ssdgym.engine.core.bits import queue_kernels, remainder
from ssdgym.engine.core.kernel import inlined, kernel
from ssdgym.engine.core.records import DYNAMIC
from ssdgym.engine.flash import NO_PHASE, duration_of

#: Key of a resource without an event.
NO_EVENT = np.int64(2**63 - 1)
#: A time, ns, that is later than any time of an event.
NEVER = np.int64(2**62)

_push_waiter, _pop_waiter = queue_kernels("waiter_head", "waiter_tail", "next_waiter")


@inlined
def _set_leaf(dev, resource, key):
    """Set the key in a resource's leaf of the event tree, and the minima from the leaf to the root."""
    leaves = np.int64(1) << np.int64(dev.params[0].leaf_bits)
    node = resource + leaves
    dev.event[node] = key
    while node > 1:
        key = min(key, dev.event[node ^ 1])
        node >>= 1
        dev.event[node] = key


@inlined
def latest_ns(params):
    """Return the time limit of a device, ns: a device stops before it, so all times fit event keys."""
    return np.int64(1) << (np.int64(62) - params.leaf_bits)


@inlined
def schedule(dev, time_ns, resource):
    """Set a resource's event. Its key is one number: the time, and in the low bits the resource."""
    _set_leaf(dev, resource, (time_ns << np.int64(dev.params[0].leaf_bits)) | resource)


@inlined
def cancel(dev, resource):
    """Remove a resource's event."""
    _set_leaf(dev, resource, NO_EVENT)


@inlined
def next_event_ns(dev):
    """Return the time of the first event, ns; NEVER if there is no event."""
    key = dev.event[1]
    if key == NO_EVENT:
        return NEVER
    return key >> np.int64(dev.params[0].leaf_bits)


@inlined
def take_event(dev):
    """Remove the first event; return its resource."""
    resource = dev.event[1] & ((np.int64(1) << np.int64(dev.params[0].leaf_bits)) - 1)
    cancel(dev, resource)
    return resource


@inlined
def make_ready(dev, die_number):
    """Append a die to the queue of dies to dispatch, unless it is already in the queue."""
    params, control, die = dev.params[0], dev.control[0], dev.die[die_number]
    if die.ready:
        return
    die.ready = 1
    position = control.ready_head + control.ready_count
    if position >= params.dies:
        position -= params.dies
    dev.ready[position] = die_number
    control.ready_count += 1


@inlined
def take_ready(dev):
    """Remove the die at the head of the queue of dies to dispatch, which is not empty."""
    control = dev.control[0]
    die_number = np.int64(dev.ready[control.ready_head])
    control.ready_head += 1
    if control.ready_head == dev.params[0].dies:
        control.ready_head = 0
    control.ready_count -= 1
    dev.die[die_number].ready = 0


@kernel
def format_queues(dev):
    """Empty the queues of dies and channels, and link all transactions and slots of requests as free."""
    params = dev.params[0]
    for number in range(params.dies):
        dev.die[number].read_head = dev.die[number].write_head = -1
    for number in range(params.channels):
        dev.channel[number].waiter_head = -1
    for number in range(params.window_pages):
        dev.transaction[number].next = number + 1
        dev.slot[number].next = number + 1
    dev.control[0].free_transactions = params.window_pages
    for node in range(2 << params.leaf_bits):
        dev.event[node] = NO_EVENT


@inlined
def format_control(dev):
    """Initialise the control of a device: no horizon, no decision due, no request in admission."""
    control = dev.control[0]
    control.horizon = NEVER
    control.decision_plane = control.answer = control.gc_plane = control.slot = -1
    control.write_head = -1


NO_COMMAND, READ_PAGE, WRITE_PAGE, MOVE_PAGE, ERASE_SET = 0, 1, 2, 3, 4
#: Stages of a command, each of which ends by an event of the die: ARRAY, the phase before the transfer;
#: TRANSFER, the transfer and the phase after it. With `early_writes`, host writes have two stages in place of
#: TRANSFER: ARRIVAL, the transfer, and PROGRAM, the phase after it.
ARRAY, TRANSFER, ARRIVAL, PROGRAM = range(4)


@inlined
def charge(dev, die_number, phases):
    """Add the time of a command to the estimated time when a die's work ends (dynamic allocation only)."""
    if dev.params[0].allocation == DYNAMIC:
        die = dev.die[die_number]
        die.estimate_ns = max(die.estimate_ns, dev.control[0].now) + duration_of(phases)


@inlined
def _grant_channel(dev, die_number):
    """Start the transfer of a die's command, and schedule the die's next event."""
    params, die = dev.params[0], dev.die[die_number]
    free_at = dev.control[0].now + die.transfer_ns
    dev.channel[remainder(die_number, params.channels)].free_at = free_at
    if params.early_writes and die.command == WRITE_PAGE:
        die.stage = ARRIVAL
        schedule(dev, free_at, params.channels + die_number)
        return
    die.stage = TRANSFER
    schedule(dev, free_at + die.after_ns, params.channels + die_number)


@inlined
def _request_channel(dev, die_number):
    """Start the transfer of a die's command if the channel is free; otherwise queue the die there."""
    number = remainder(die_number, dev.params[0].channels)
    channel = dev.channel[number]
    if channel.waiter_head < 0:
        if channel.free_at <= dev.control[0].now:
            _grant_channel(dev, die_number)
            return
        schedule(dev, channel.free_at, number)
    _push_waiter(dev.die, channel, die_number)


@inlined
def start_command(dev, die_number, command, transaction, pages, phases):
    """Start a command on an idle die, on `pages` pages of different planes; GC has `transaction` -1."""
    control, die = dev.control[0], dev.die[die_number]
    die.command = command
    die.transaction = transaction
    die.pages = pages
    die.transfer_ns = phases.transfer_ns
    die.after_ns = phases.after_ns
    die.started_ns = control.now
    die.stage = ARRAY
    if phases.array_ns == NO_PHASE:
        _request_channel(dev, die_number)
        return
    if phases.transfer_ns == NO_PHASE:
        die.stage = TRANSFER
    schedule(dev, control.now + phases.array_ns, dev.params[0].channels + die_number)


@inlined
def start_gc_command(dev, die_number, command, pages, phases):
    """Start a command of GC on an idle die, on `pages` pages of different planes."""
    charge(dev, die_number, phases)
    start_command(dev, die_number, command, -1, pages, phases)


@inlined
def start_timer(dev, die_number, wait_ns):
    """Schedule an idle die without an event to become ready after `wait_ns`, if event keys fit that time."""
    params = dev.params[0]
    at = dev.control[0].now + min(max(wait_ns, 1), latest_ns(params))
    if at < latest_ns(params):
        die = dev.die[die_number]
        die.timer = 1
        die.stage = TRANSFER
        schedule(dev, at, params.channels + die_number)


@inlined
def stop_timer(dev, die_number):
    """Cancel the timer of a die, if it has one."""
    die = dev.die[die_number]
    if die.timer:
        die.timer = 0
        cancel(dev, dev.params[0].channels + die_number)


@inlined
def channel_event(dev, number):
    """Start the transfer of the die at the head of the queue of a channel that has become free."""
    _grant_channel(dev, np.int64(_pop_waiter(dev.die, dev.channel[number])))
    if dev.channel[number].waiter_head >= 0:
        schedule(dev, dev.channel[number].free_at, number)


@inlined
def command_ended(dev, die_number):
    """Carry out a die's event; return the die's command if its pages are done, otherwise NO_COMMAND."""
    control, die = dev.control[0], dev.die[die_number]
    if die.stage == ARRAY:
        _request_channel(dev, die_number)
        return NO_COMMAND
    if die.stage == ARRIVAL:
        die.stage = PROGRAM
        schedule(dev, control.now + die.after_ns, dev.params[0].channels + die_number)
        return WRITE_PAGE
    command = NO_COMMAND if die.stage == PROGRAM else np.int64(die.command)
    if command in (MOVE_PAGE, ERASE_SET):
        dev.counters[0].gc_time_ns += control.now - die.started_ns
        die.gc_ns += control.now - die.started_ns
    die.command = NO_COMMAND
    make_ready(dev, die_number)
    return command


@inlined
def wake(dev, die_number):
    """After work has been queued to a die, make the die ready if it has no command."""
    if dev.die[die_number].command == NO_COMMAND:
        make_ready(dev, die_number)
