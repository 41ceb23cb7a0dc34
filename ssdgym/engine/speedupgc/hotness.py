"""Hotness of pages: several hashes of a page number into a table of small counters that decay.

After Hsieh, Kuo and Chang (ACM Transactions on Storage 2006), as SpeedupGC (section III-B) uses it.
"""

from __future__ import annotations

import numpy as np

from ssdgym.engine.core.kernel import inlined, kernel
from ssdgym.engine.core.rng import GOLDEN, below, mix

#: Counters of 4 bits in a word, and the largest value.
PER_WORD, SATURATED = 16, np.uint64(15)
_LOWER_BITS = np.uint64(0x7777777777777777)
_ONE = np.uint64(1)


@inlined
def _counter(params, row, hashed):
    """Return the number of the counter of a page in a row of the table, from the hash of its number."""
    return row * params.counters + below(mix(hashed + GOLDEN * np.uint64(row + 1)), params.counters)


@inlined
def _value(hotness, counter):
    return (hotness[counter // PER_WORD] >> np.uint64(4 * (counter % PER_WORD))) & SATURATED


@kernel
def _degree(hotness, params, lpn):
    """Return the smallest counter of a page."""
    hashed = mix(GOLDEN * np.uint64(lpn + 1))
    degree = SATURATED
    for row in range(params.hashes):
        degree = min(degree, _value(hotness, _counter(params, row, hashed)))
    return degree


@kernel
def _raise_counters(hotness, params, lpn):
    """Count one more update of a page; return its degree with it."""
    hashed = mix(GOLDEN * np.uint64(lpn + 1))
    degree = SATURATED
    for row in range(params.hashes):
        counter = _counter(params, row, hashed)
        value = _value(hotness, counter)
        if value < SATURATED:
            value += _ONE
            hotness[counter // PER_WORD] += _ONE << np.uint64(4 * (counter % PER_WORD))
        degree = min(degree, value)
    return degree


@kernel
def _decay(hotness):
    for word in range(hotness.shape[0]):
        hotness[word] = (hotness[word] >> _ONE) & _LOWER_BITS


@inlined
def _group_of(params, degree):
    return np.int64((params.group_of_degree >> (np.uint64(4) * degree)) & SATURATED)


@inlined
def count_update(dev, lpn):
    """Raise the counters of a page that the host writes, and halve all when the period is over.

    Returns:
        The hotness group of the page, counted from 1; 0 for a cold page.
    """
    params = dev.params[0]
    control = dev.control[0]
    degree = _raise_counters(dev.hotness, params, lpn)
    control.hotness_updates += 1
    if control.hotness_updates == params.decay_period:
        control.hotness_updates = 0
        _decay(dev.hotness)
        degree = _degree(dev.hotness, params, lpn)
    return _group_of(params, degree)


@inlined
def hotness_group(dev, lpn):
    """Return the hotness group of a page, counted from 1; 0 for a cold one. Nothing is counted."""
    params = dev.params[0]
    return _group_of(params, _degree(dev.hotness, params, lpn))
