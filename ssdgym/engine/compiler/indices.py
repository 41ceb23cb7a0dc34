"""Indices that are never negative: in ssdgym's own functions -1 is no index, and not the last item's.

numba compares every index that has a sign with 0 and adds the length to one below it: a test and an addition
per access. Here indices of arrays are taken for numbers without a sign, of which numba corrects none. A build
with bounds checks refuses those that are negative. Functions of other packages keep numba's meaning.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import types
from numba.core import ir
from numba.core.compiler_machinery import FunctionPass, register_pass


def is_own(function: Callable) -> bool:
    """Return whether a function is of ssdgym, and not of a user or another package."""
    return str(function.__module__).partition(".")[0] == __name__.partition(".")[0]


@register_pass(mutates_CFG=False, analysis_only=False)
class PlainIndices(FunctionPass):
    """Take the indices of arrays in a function of ssdgym for numbers without a sign."""

    _name = "plain_indices"

    def __init__(self) -> None:
        FunctionPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        """Change the signatures of what reads and writes items; return whether any may have changed."""
        if not is_own(state.func_id.func):
            return False
        for step in filter(_is_access, list(state.calltypes)):
            signature = state.calltypes.pop(step)  # what is there already is not written to again
            if signature is not None and isinstance(signature.args[0], types.Buffer):
                array, index, *value = signature.args
                signature = signature.replace(args=(array, _plain(index), *value))
            state.calltypes[step] = signature
        return True


def _is_access(step: Any) -> bool:
    """Return whether a step of a function reads or writes an item of something."""
    if isinstance(step, ir.Expr):
        return step.op in ("getitem", "static_getitem")
    return isinstance(step, (ir.SetItem, ir.StaticSetItem))


def _plain(index: Any) -> Any:
    """Return the type of an index, or of a tuple of indices, without signs."""
    if isinstance(index, types.Integer):
        return types.uintp
    if isinstance(index, types.BaseTuple):
        return types.Tuple([_plain(part) for part in index.types])
    return index
