"""The write buffer of the controller: pages of the host on their way to flash only when they leave it.

The page written longest ago leaves first. `hold_page` and `is_held_in_part` need a buffer; without one, the
other functions return at once.
"""

import numpy as np

from ssdgym.engine.core.bits import list_kernels
from ssdgym.engine.core.kernel import inlined, kernel

_append, _remove = list_kernels("head", "tail", "next", "previous")


@inlined
def format_buffer(dev):
    """Make an empty buffer of zeroed arrays."""
    buffer = dev.buffer[0]
    buffer.head = -1
    buffer.tail = -1
    for number in range(dev.params[0].buffer_pages):
        dev.entry[number].next = number + 1
        dev.entry[number].lpn = -1
    if dev.params[0].buffer_pages > 0:
        dev.entry_of[:] = -1


@inlined
def is_held(dev, lpn):
    """Return whether the buffer holds a logical page."""
    return dev.params[0].buffer_pages > 0 and dev.entry_of[lpn] >= 0


@inlined
def oldest_page(dev):
    """Return the logical page that leaves the buffer first; -1 where it holds none."""
    if dev.params[0].buffer_pages == 0 or dev.buffer[0].held == 0:
        return np.int64(-1)
    return np.int64(dev.entry[dev.buffer[0].head].lpn)


@inlined
def page_to_evict(dev, lpn):
    """Return the logical page that has to leave before one that is written can be held; -1 for none."""
    if dev.buffer[0].held < dev.params[0].buffer_pages or is_held(dev, lpn):
        return np.int64(-1)
    return oldest_page(dev)


@inlined
def is_held_in_part(dev, lpn):
    """Return whether only a part of a page that is held was written since it came."""
    return np.int64(dev.entry[dev.entry_of[lpn]].partial)


@kernel
def _drop(dev, lpn):
    buffer = dev.buffer[0]
    number = np.int64(dev.entry_of[lpn])
    _remove(dev.entry, buffer, number)
    dev.entry_of[lpn] = -1
    dev.entry[number].lpn = -1
    dev.entry[number].next = buffer.free
    buffer.free = number
    buffer.held -= 1


@inlined
def drop_page(dev, lpn):
    """Take a logical page out of the buffer, if it is there."""
    if is_held(dev, lpn):
        _drop(dev, lpn)


@kernel
def hold_page(dev, lpn, partial):
    """Hold a page that the host writes, as the one written last, and count it if it was held already.

    The buffer has a place for it.
    """
    buffer = dev.buffer[0]
    number = np.int64(dev.entry_of[lpn])
    if number >= 0:
        buffer.absorbed += 1
        partial = partial and dev.entry[number].partial
        _remove(dev.entry, buffer, number)
    else:
        number = np.int64(buffer.free)
        buffer.free = dev.entry[number].next
        buffer.held += 1
        dev.entry[number].lpn = lpn
        dev.entry_of[lpn] = number
    dev.entry[number].partial = partial
    _append(dev.entry, buffer, number)


@inlined
def serve_read(dev, lpn):
    """Serve a read of a page that is held, and count it; return whether it is."""
    served = is_held(dev, lpn)
    if served:
        dev.buffer[0].reads += 1
    return served
