"""Pointers to devices: a NamedTuple of arrays is stored once, and compiled code loads the fields it uses.

A device is a NamedTuple of some thirty arrays. Passed by value it would be more than 200 numbers, which takes
longer than a short kernel. To unbox it would take longer than the engine takes to reach the next decision.
"""

import hashlib
import platform
from operator import getitem
from typing import Any

from llvmlite import ir
from numba import typeof, types
from numba.core import cgutils
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    NativeValue,
    infer_getattr,
    intrinsic,
    lower_getattr_generic,
    models,
    register_model,
    unbox,
)

_WORD_BYTES = 8
#: Whether the processor has the instruction `pause`, for loops that wait.
_PAUSES = platform.machine().lower() in ("x86_64", "amd64")


def _word(context, builder, signature, arguments):
    data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
    return builder.gep(data, [arguments[1]])


def _atomic(operation: str) -> Any:
    """Make an atomic intrinsic that changes a word and returns its old value."""

    @intrinsic
    def change(typing_context, words, place, number):
        def build(context, builder, signature, arguments):
            at = _word(context, builder, signature, arguments)
            return builder.atomic_rmw(operation, at, arguments[2], "acq_rel")

        return types.int64(words, types.int64, types.int64), build

    return change


#: Add to a word, or replace it; return the old value. A thread that reads the new value with `read` also sees
#: all that the changing thread wrote before.
add_to, exchange = _atomic("add"), _atomic("xchg")


@intrinsic
def read(typing_context, words, place):
    """Return a word that another thread may have changed; earlier writes of that thread are then visible."""

    def build(context, builder, signature, arguments):
        return builder.load_atomic(_word(context, builder, signature, arguments), "acquire", _WORD_BYTES)

    return types.int64(words, types.int64), build


@intrinsic
def pause(typing_context):
    """Let the processor pause for some cycles in a loop that waits."""

    def build(context, builder, signature, arguments):
        if _PAUSES:
            kind = ir.FunctionType(ir.VoidType(), [])
            builder.call(builder.module.declare_intrinsic("llvm.x86.sse2.pause", (), kind), [])
        return context.get_dummy_value()

    return types.void(), build


#: Bytes reserved for a stored tuple: an odd number of cache lines, so that equal fields of many tuples do not
#: compete for one place in the cache.
STORED_BYTES = 65 * 64

#: Offsets, in bytes, of the fields of each type of tuple.
_OFFSETS: dict[Any, list[int]] = {}


class Pointer(types.Type):
    """Type of a pointer to a NamedTuple that does not change while the pointer is in use."""

    def __init__(self, stored: Any) -> None:
        self.stored = stored
        self.instance_class = stored.instance_class
        # numba distinguishes types by this name, which is a part of the name of every kernel.
        digest = hashlib.sha256(str(stored).encode()).hexdigest()[:16]
        super().__init__(f"Pointer({stored.instance_class.__name__} {digest})")


register_model(Pointer)(models.OpaqueModel)


@infer_getattr
class _Fields(AttributeTemplate):
    key = Pointer

    def generic_resolve(self, pointer: Pointer, name: str) -> Any:
        fields = pointer.stored.fields
        return pointer.stored.types[fields.index(name)] if name in fields else None


@lower_getattr_generic(Pointer)
def _load_pointed(context: Any, builder: Any, pointer: Pointer, value: Any, name: str) -> Any:
    return load_field(context, builder, value, pointer.stored, pointer.stored.fields.index(name))


def load_field(context: Any, builder: Any, pointer: Any, stored: Any, place: int) -> Any:
    """Load field number `place` of a stored tuple; LLVM may assume that the field never changes."""
    field = stored.types[place]
    # Address the field by its offset in bytes, since LLVM would have to parse the tuple's long type as text.
    offset = ir.Constant(ir.IntType(32), _offset(context, stored, place))
    begin = builder.gep(pointer, [offset], inbounds=True)
    at = builder.bitcast(begin, context.get_value_type(field).as_pointer())
    if isinstance(field, types.Array) and field.ndim == 1 and field.layout == "C":
        return _load_row(context, builder, field, at)
    return _load(builder, at)


def _offset(context: Any, stored: Any, place: int) -> int:
    if stored not in _OFFSETS:
        kind = context.get_value_type(stored)
        _OFFSETS[stored] = [kind.get_element_offset(context.target_data, k) for k in range(len(stored.types))]
    return int(_OFFSETS[stored][place])


def _load_row(context: Any, builder: Any, field: Any, pointer: Any) -> Any:
    """Load an array of one dimension: its address and its length; compute the other parts from these."""
    model = context.data_model_manager[field]
    size = context.get_constant(types.intp, context.get_abi_sizeof(context.get_data_type(field.dtype)))
    place_of = model.get_field_position
    data = _load_word(builder, cgutils.gep_inbounds(builder, pointer, 0, place_of("data")))
    length = _load_word(builder, cgutils.gep_inbounds(builder, pointer, 0, place_of("shape"), 0))
    value = ir.Constant(pointer.type.pointee, None)
    value = builder.insert_value(value, length, place_of("nitems"))
    value = builder.insert_value(value, size, place_of("itemsize"))
    value = builder.insert_value(value, data, place_of("data"))
    value = builder.insert_value(value, length, (place_of("shape"), 0))
    return builder.insert_value(value, size, (place_of("strides"), 0))


def _load(builder: Any, pointer: Any) -> Any:
    kind = pointer.type.pointee
    if isinstance(kind, (ir.LiteralStructType, ir.ArrayType)):
        # Load part by part, so that unused parts are not loaded.
        value = ir.Constant(kind, ir.Undefined)
        for place in range(len(kind)):
            part = _load(builder, cgutils.gep_inbounds(builder, pointer, 0, place))
            value = builder.insert_value(value, part, place)
        return value
    return _load_word(builder, pointer)


def _load_word(builder: Any, pointer: Any) -> Any:
    value = builder.load(pointer)
    value.set_metadata("invariant.load", builder.module.add_metadata([]))
    return value


def pointer_type(sample: Any) -> Pointer:
    """Return the type of a pointer to a NamedTuple of the same type as `sample`."""
    return Pointer(typeof(sample))


@unbox(Pointer)
def _address_from_python(kind: Any, number: Any, c: Any) -> Any:
    return NativeValue(c.pyapi.long_as_voidptr(number))


@intrinsic
def store_at(typing_context, value, address):
    """Store a NamedTuple at an address with room for `STORED_BYTES` bytes; return the address.

    Use pointers to it only in later calls of compiled code: the present call may still read the old contents.
    """

    def build(context, builder, sig, args):
        kind = args[0].type
        if context.get_abi_sizeof(kind) > STORED_BYTES:
            raise ValueError(f"{sig.args[0].instance_class.__name__} has more than {STORED_BYTES} bytes")
        builder.store(args[0], builder.inttoptr(args[1], kind.as_pointer()))
        return args[1]

    return types.int64(value, types.int64), build


def rows_of(device: Any) -> Any:
    """Return an intrinsic (state, i, decider) that makes a `device` from row `i` of each array of `state`."""

    @intrinsic
    def rows(typing_context, state, i, decider):
        found = [typing_context.resolve_function_type(getitem, (array, i), {}) for array in state.types]
        made = types.NamedTuple([*(access.return_type for access in found), decider], device)

        def build(context, builder, sig, args):
            arrays = zip(found, cgutils.unpack_tuple(builder, args[0]), strict=True)
            values = [
                context.get_function(getitem, access)(builder, (array, args[1])) for access, array in arrays
            ]
            return context.make_tuple(builder, made, [*values, args[2]])

        return made(state, i, decider), build

    return rows


@intrinsic
def number_at(typing_context, address):
    """Load an int64 from an address."""

    def build(context, builder, sig, args):
        return builder.load(builder.inttoptr(args[0], args[0].type.as_pointer()))

    return types.int64(types.int64), build


@intrinsic
def move_bytes(typing_context, target, source, count):
    """Copy bytes from one address to another; the ranges must not overlap."""

    def build(context, builder, sig, args):
        target, source = (builder.inttoptr(one, cgutils.voidptr_t) for one in args[:2])
        cgutils.raw_memcpy(builder, target, source, args[2], 1)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), build
