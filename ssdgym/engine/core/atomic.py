"""Numbers that several threads change at once: words of an int64 array."""

from __future__ import annotations

import platform

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

_WORD_BYTES = 8
#: Whether the processor has the instruction `pause`, for loops that wait.
_PAUSES = platform.machine().lower() in ("x86_64", "amd64")


def _word(context, builder, signature, arguments):
    data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
    return builder.gep(data, [arguments[1]])


@intrinsic
def add_to(typing_context, words, place, number):
    """Add to a word, and return what it was before."""

    def build(context, builder, signature, arguments):
        at = _word(context, builder, signature, arguments)
        return builder.atomic_rmw("add", at, arguments[2], "acq_rel")

    return types.int64(words, types.int64, types.int64), build


@intrinsic
def exchange(typing_context, words, place, number):
    """Replace a word, and return what it was before; what was written before is seen by who reads it."""

    def build(context, builder, signature, arguments):
        at = _word(context, builder, signature, arguments)
        return builder.atomic_rmw("xchg", at, arguments[2], "acq_rel")

    return types.int64(words, types.int64, types.int64), build


@intrinsic
def read(typing_context, words, place):
    """Return a word as another thread has left it, and see what that had written before."""

    def build(context, builder, signature, arguments):
        return builder.load_atomic(_word(context, builder, signature, arguments), "acquire", _WORD_BYTES)

    return types.int64(words, types.int64), build


@intrinsic
def pause(typing_context):
    """Let the processor rest for some cycles in a loop that waits."""

    def build(context, builder, signature, arguments):
        if _PAUSES:
            kind = ir.FunctionType(ir.VoidType(), [])
            builder.call(builder.module.declare_intrinsic("llvm.x86.sse2.pause", (), kind), [])
        return context.get_dummy_value()

    return types.void(), build
