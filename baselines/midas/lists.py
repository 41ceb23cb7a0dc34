"""The lists of closed blocks of the groups of MiDAS, oldest first."""

from ssdgym.baselines.midas.records import STREAMS, TAIL
from ssdgym.policy import kernel


@kernel
def enlist(view, plane, block):
    """Append a closed block to the list of its group, as its newest."""
    memory, record = view.memory[0], view.block_memory[block]
    memory.serial += 1
    record.serial = memory.serial
    _append(view, plane, block)


@kernel
def _append(view, plane, block):
    record = view.block_memory[block]
    group = view.stream_memory[plane * STREAMS + record.group]
    record.listed = 1
    record.next = -1
    record.previous = group.newest
    if group.newest >= 0:
        view.block_memory[group.newest].next = block
    else:
        group.oldest = block
    group.newest = block
    group.sealed += 1


@kernel
def delist(view, plane, block):
    """Take a block out of the list of its group, if it is in it."""
    record = view.block_memory[block]
    if record.listed == 0:
        return
    group = view.stream_memory[plane * STREAMS + record.group]
    if record.previous >= 0:
        view.block_memory[record.previous].next = record.next
    else:
        group.oldest = record.next
    if record.next >= 0:
        view.block_memory[record.next].previous = record.previous
    else:
        group.newest = record.previous
    group.sealed -= 1
    record.listed = 0


@kernel
def find_way(view, plane):
    """Note the stream of the last group's pages: first that of a block left open without a group."""
    top = view.memory[0].top
    way = top
    for stream in range(STREAMS - 1, top, -1):
        if view.stream_memory[plane * STREAMS + stream].open != 0:
            way = stream
    view.stream_memory[plane * STREAMS].way = way


@kernel
def fold(view, first):
    """Make one group of a group and all behind it, with a tail; the first one there can be is G1."""
    memory, params = view.memory[0], view.params[0]
    first = max(first, 1)
    for block in range(params.planes * params.blocks):
        record = view.block_memory[block]
        if record.listed != 0 and record.group > first:
            plane = block // params.blocks
            delist(view, plane, block)
            record.group = first
            _append(view, plane, block)
    memory.last = first
    memory.top = first + TAIL
    for plane in range(params.planes):
        find_way(view, plane)
    if first == 1:
        memory.configured = 0
