"""Hotness of pages: several hashes of a page number index a table of small counters that decay.

The method is that of Hsieh, Kuo and Chang (ACM Transactions on Storage 2006) as used in SpeedupGC, section
III-B; `hot_cold` defines it (E22 to E25). The hotness table begins at word `first` of `view.table`.
"""

from typing import Any

import numpy as np

from ssdgym.policy import GOLDEN, below, kernel, mix

#: Record of the device: updates since the counters were last halved, and the metric of hot pages written.
MEMORY = [("updates", "i8"), ("hot_pages_written", "i8")]
_PER_WORD = 8
_SATURATED, _LOWER_BITS = 15, 0x77777777


def table_words(device: Any) -> int:
    """Return the words of the hotness table of a device."""
    hotness = device.ftl.hotness
    return -(-hotness.hashes * hotness.counters_of(device.logical_pages) // _PER_WORD)


def table_bytes(device: Any) -> int:
    """Return the bytes of the 4-bit counters of a device."""
    hotness = device.ftl.hotness
    return -(-hotness.hashes * hotness.counters_of(device.logical_pages) // 2)


@kernel
def _counter(params, row, hashed):
    return row * params.counters + below(mix(hashed + GOLDEN * np.uint64(row + 1)), params.counters)


@kernel
def _smallest(view, first, lpn, raised):
    """Return the smallest counter of a page, with `raised` added to each counter."""
    params = view.params[0]
    hashed = mix(GOLDEN * np.uint64(lpn + 1))
    degree = np.int64(_SATURATED)
    for row in range(params.hashes):
        counter = _counter(params, row, hashed)
        word = np.int64(view.table[first + counter // _PER_WORD])
        degree = min(degree, ((word >> (4 * (counter % _PER_WORD))) & _SATURATED) + raised)
    return degree


@kernel
def _group_of(params, degree):
    return np.int64((params.group_of_degree >> np.uint64(4 * degree)) & np.uint64(15))


@kernel
def hotness_group(view, first, lpn):
    """Return the hotness group of a page, counted from 1; 0 for a cold page."""
    return _group_of(view.params[0], _smallest(view, first, lpn, 0))


@kernel
def group_once_counted(view, first, lpn):
    """Return the hotness group that a page will have once its next write is counted."""
    params = view.params[0]
    degree = _smallest(view, first, lpn, 1)
    if view.memory[0].updates + 1 == params.decay_period:
        degree >>= 1
    return _group_of(params, degree)


@kernel
def is_first_write(view, lpn):
    """Return whether the next write of a page will not be counted, because the page is unmapped (E25)."""
    return view.params[0].counts_updates != 0 and view.logical[lpn].ppn < 0


@kernel
def note_write(view, first, lpn, old_page, page, placed_before):
    """Count a host write (E23), and count the page in the metric if it was hot when it was placed.

    If `placed_before`, the page was placed by its counters before this write (E26), otherwise after it.
    """
    params, memory = view.params[0], view.memory[0]
    if view.counters[0].host_pages_written == 1:
        memory.hot_pages_written = 0
    unmapped = old_page < 0 if view.logical[lpn].ppn == page else view.logical[lpn].ppn < 0
    if params.counts_updates != 0 and unmapped:
        return
    hashed, degree = mix(GOLDEN * np.uint64(lpn + 1)), np.int64(_SATURATED)
    for row in range(params.hashes):
        counter = _counter(params, row, hashed)
        word, shift = first + counter // _PER_WORD, 4 * (counter % _PER_WORD)
        held = np.int64(view.table[word])
        count = (held >> shift) & _SATURATED
        degree = min(degree, count)
        view.table[word] = held + (np.int64(count < _SATURATED) << shift)
    before, after = degree, min(degree + 1, _SATURATED)
    memory.updates += 1
    if memory.updates == params.decay_period:
        memory.updates, after = 0, after >> 1
        for word in range(first, first + (params.hashes * params.counters + _PER_WORD - 1) // _PER_WORD):
            view.table[word] = (np.int64(view.table[word]) >> 1) & _LOWER_BITS
    memory.hot_pages_written += _group_of(params, before if placed_before else after) > 0
