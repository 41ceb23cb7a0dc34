"""The part of a device that victim policies see."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import typeof, types

from ssdgym.engine.core.family import State
from ssdgym.engine.core.kernel import function_at, inlined
from ssdgym.engine.core.records import (
    BLOCK,
    BUCKET,
    CONTROL,
    ERASE_PAIR,
    LOGICAL,
    MAX_PAIRS,
    PARAMS,
    PHYSICAL,
    PLANE,
    SUB_BLOCK,
)
from ssdgym.engine.speedupgc.records import BEST, HEAP


class PolicyView(NamedTuple):
    """What a policy sees of a device: a part of its fields, since passing all of them costs more than most
    policies do.
    """

    params: Any
    control: Any
    plane: Any
    block: Any
    sub_block: Any
    bucket: Any
    best: Any
    tree: Any
    group_size: Any
    heap: Any
    logical: Any
    physical: Any


@inlined
def policy_view(dev):
    """The part of a device that policies see; nothing is copied."""
    return PolicyView(
        dev.params,
        dev.control,
        dev.plane,
        dev.block,
        dev.sub_block,
        dev.bucket,
        dev.best,
        dev.tree,
        dev.group_size,
        dev.heap,
        dev.logical,
        dev.physical,
    )


def policy_arrays(state: State, i: int) -> PolicyView:
    """What a plain-Python policy sees of device ``i``; records have attributes (``dev.block[b].invalid``)."""
    return PolicyView(*(getattr(state, name)[i].view(np.recarray) for name in PolicyView._fields))


_DTYPES = (
    PARAMS,
    CONTROL,
    PLANE,
    BLOCK,
    SUB_BLOCK,
    BUCKET,
    BEST,
    np.int32,
    np.int32,
    HEAP,
    LOGICAL,
    PHYSICAL,
)
POLICY_VIEW_TYPE = typeof(PolicyView(*(np.zeros(1, dtype) for dtype in _DTYPES)))
PAIRS_TYPE = typeof(np.zeros(MAX_PAIRS, ERASE_PAIR))
PARAMETERS_TYPE = types.float64[::1]
#: A victim policy: (PolicyView, plane, parameters, erase set to fill) -> number of pairs filled, 0 for none.
POLICY_SIGNATURE = types.int64(POLICY_VIEW_TYPE, types.int64, PARAMETERS_TYPE, PAIRS_TYPE)
policy_at = function_at(types.FunctionType(POLICY_SIGNATURE))
