"""Which pages are hot: several hashes of a page number into a table of small counters that decay.

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
def _counter(geometry, row, hashed):
    """Number of the counter of a page, given the hash of its number, in a row of the table."""
    return row * geometry.counters + below(mix(hashed + GOLDEN * np.uint64(row + 1)), geometry.counters)


@inlined
def _value(hotness, counter):
    return (hotness[counter // PER_WORD] >> np.uint64(4 * (counter % PER_WORD))) & SATURATED


@kernel
def _degree(hotness, geometry, lpn):
    """The smallest counter of a page."""
    hashed = mix(GOLDEN * np.uint64(lpn + 1))
    degree = SATURATED
    for row in range(geometry.hashes):
        degree = min(degree, _value(hotness, _counter(geometry, row, hashed)))
    return degree


@kernel
def _raise_counters(hotness, geometry, lpn):
    """One more update of a page; returns its degree with it."""
    hashed = mix(GOLDEN * np.uint64(lpn + 1))
    degree = SATURATED
    for row in range(geometry.hashes):
        counter = _counter(geometry, row, hashed)
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
def _group_of(geometry, degree):
    return np.int64((geometry.group_of_degree >> (np.uint64(4) * degree)) & SATURATED)


@inlined
def count_update(dev, geometry, run, lpn):
    """A page of the host is written: its counters rise, and all decay when the period is over.

    Returns its hotness group, counted from 1; 0 for a cold page.
    """
    degree = _raise_counters(dev.hotness, geometry, lpn)
    run.hotness_updates += 1
    if run.hotness_updates == geometry.decay_period:
        run.hotness_updates = 0
        _decay(dev.hotness)
        degree = _degree(dev.hotness, geometry, lpn)
    return _group_of(geometry, degree)


@inlined
def hotness_group(dev, geometry, lpn):
    """The hotness group of a page as it is, counted from 1; 0 for a cold one."""
    return _group_of(geometry, _degree(dev.hotness, geometry, lpn))
