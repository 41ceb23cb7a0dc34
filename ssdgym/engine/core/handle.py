"""Numba types of the arguments of rules. A rule is called by its address, with pointers as arguments.

The types contain the family's view, the names of the rule's parameters and the records of its memory. At run
time only pointers are passed, so one compiled engine serves every rule.
"""

import hashlib
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import types
from numba.core import cgutils
from numba.core.typing.templates import AbstractTemplate, AttributeTemplate, infer_global, signature
from numba.extending import (
    infer_getattr,
    intrinsic,
    lower_builtin,
    lower_getattr_generic,
    models,
    register_model,
)
from numba.np.arrayobj import make_array, populate_array
from numba.np.numpy_support import from_dtype

from ssdgym.engine.compiler.checking import checked_array
from ssdgym.engine.core.kernel import compiled_address
from ssdgym.engine.core.pointer import load_field

#: The parameters of a rule, as the engine passes them.
PARAMETERS = types.voidptr
#: Fields of a view that hold a rule's memory as bytes, and the attributes of `Memory` with their dtypes.
MEMORY_FIELDS = {
    "page_memory": "page",
    "block_memory": "block",
    "stream_memory": "stream",
    "memory": "device",
    "table": "table",
}


@dataclass(frozen=True)
class Memory:
    """Records that a rule keeps in the state of every device that it runs on.

    Attributes:
        page: dtype of the record of each logical page. Here and below, `None` means no such records.
        block: dtype of the record of each block.
        stream: dtype of the record of each stream of each plane.
        device: dtype of the one record of the device.
        table: dtype of the items of a table, whose length depends on the device.
    """

    page: np.dtype | None = None
    block: np.dtype | None = None
    stream: np.dtype | None = None
    device: np.dtype | None = None
    table: np.dtype | None = None


class Handle(types.Type):
    """Type of a pointer to a view (a NamedTuple of arrays), with the rule's `memory`; `checked` or not."""

    def __init__(self, view: Any, memory: Memory, checked: bool = False) -> None:
        self.view, self.memory, self.checked = view, memory, checked
        # numba distinguishes types, and files of its cache, by this name.
        records = [str(getattr(memory, part)) for part in MEMORY_FIELDS.values()]
        digest = hashlib.sha256(f"{view}, {', '.join(records)}".encode()).hexdigest()[:16]
        super().__init__(f"{'checked ' if checked else ''}view({digest})")

    def resolve(self, name: str) -> tuple[int, Any]:
        """Return the index of a field in the view, and the field's type for this rule."""
        place = self.view.fields.index(name)
        record = self.record(name)
        array = self.view.types[place] if record is None else types.Array(from_dtype(record), 1, "C")
        return place, checked_array(array, writable=record is not None) if self.checked else array

    def record(self, name: str) -> np.dtype | None:
        """Return the dtype of the rule's own records in a field; `None` if the rule has no records there."""
        return getattr(self.memory, MEMORY_FIELDS[name]) if name in MEMORY_FIELDS else None


class Parameters(types.Type):
    """Type of a pointer to a rule's parameters, float64 values that are read by name or by number."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names
        super().__init__(f"Parameters({', '.join(names)})")


register_model(Handle)(models.OpaqueModel)
register_model(Parameters)(models.OpaqueModel)


@infer_getattr
class _HandleFields(AttributeTemplate):
    key = Handle

    def generic_resolve(self, handle: Handle, name: str) -> Any:
        if name in handle.view.fields:
            return handle.resolve(name)[1]
        return None


@lower_getattr_generic(Handle)
def _load_field(context: Any, builder: Any, handle: Handle, pointer: Any, name: str) -> Any:
    place, wanted = handle.resolve(name)
    stored = handle.view.types[place]
    value = load_field(context, builder, pointer, handle.view, place)
    record = handle.record(name)
    if record is None:
        return value
    # View the bytes of the rule's memory as an array of its records.
    raw = make_array(stored)(context, builder, value)
    size = context.get_constant(types.intp, record.itemsize)
    count = builder.udiv(cgutils.unpack_tuple(builder, raw.shape)[0], size)
    return _array_of(context, builder, wanted, raw.data, count)


def _array_of(context: Any, builder: Any, wanted: Any, pointer: Any, count: Any) -> Any:
    records = make_array(wanted)(context, builder)
    size = context.get_constant(types.intp, context.get_abi_sizeof(context.get_data_type(wanted.dtype)))
    data = builder.bitcast(pointer, context.get_data_type(wanted.dtype).as_pointer())
    populate_array(records, data=data, shape=[count], strides=[size], itemsize=size, meminfo=None)
    return records._getvalue()


def record_behind(items: np.dtype, distance: int) -> Any:
    """Return an intrinsic that takes a rule's parameters and returns an array of one record of dtype `items`.

    The record's address is stored in memory, `distance` bytes behind the start of the parameters.
    """
    kept = types.Array(from_dtype(items), 1, "C")

    @intrinsic
    def record(typing_context, parameters):
        def build(context, builder, signature, arguments):
            begin = builder.gep(arguments[0], [context.get_constant(types.intp, distance)])
            address = builder.load(builder.bitcast(begin, context.get_value_type(types.int64).as_pointer()))
            pointer = builder.inttoptr(address, cgutils.voidptr_t)
            return _array_of(context, builder, kept, pointer, context.get_constant(types.intp, 1))

        return kept(parameters), build

    return record


def scratch_of(items: np.dtype, count: int) -> Any:
    """Return an intrinsic that makes an uninitialised array of `count` items on the caller's stack."""
    kept = types.Array(from_dtype(items), 1, "C")

    @intrinsic
    def scratch(typing_context):
        def build(context, builder, signature, arguments):
            length = context.get_constant(types.intp, count)
            pointer = cgutils.alloca_once(builder, context.get_data_type(kept.dtype), size=length)
            return _array_of(context, builder, kept, pointer, length)

        return kept(), build

    return scratch


@intrinsic
def number_of(typing_context, handle):
    """Return a handle's pointer as int64, the form in which rules and features receive it."""

    def build(context, builder, signature, arguments):
        return builder.ptrtoint(arguments[0], context.get_value_type(types.int64))

    return types.int64(handle), build


@infer_getattr
class _ParameterNames(AttributeTemplate):
    key = Parameters

    def generic_resolve(self, parameters: Parameters, name: str) -> Any:
        return types.float64 if name in parameters.names else None


def _load_parameter(context: Any, builder: Any, pointer: Any, place: Any) -> Any:
    values = builder.bitcast(pointer, context.get_value_type(types.float64).as_pointer())
    return builder.load(builder.gep(values, [place]))


@lower_getattr_generic(Parameters)
def _load_parameter_by_name(
    context: Any, builder: Any, parameters: Parameters, pointer: Any, name: str
) -> Any:
    place = context.get_constant(types.intp, parameters.names.index(name))
    return _load_parameter(context, builder, pointer, place)


@infer_global(operator.getitem)
class _ParameterNumbers(AbstractTemplate):
    def generic(self, args: Any, kws: Any) -> Any:
        if isinstance(args[0], Parameters) and isinstance(args[1], types.Integer):
            return signature(types.float64, args[0], types.intp)
        return None


@lower_builtin(operator.getitem, Parameters, types.intp)
def _load_parameter_by_number(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    if context.enable_boundscheck:
        count = context.get_constant(types.intp, len(sig.args[0].names))
        cgutils.do_boundscheck(context, builder, args[1], count)
    return _load_parameter(context, builder, *args)


@intrinsic
def pointer_to(typing_context, array, place):
    """Return a pointer to an item of an array of parameters; the index, `place`, is not checked."""

    def build(context, builder, sig, args):
        data = context.make_array(sig.args[0])(context, builder, args[0]).data
        return builder.bitcast(builder.gep(data, [args[1]]), cgutils.voidptr_t)

    return PARAMETERS(array, types.int64), build


def rule_address(
    function: Callable[..., Any],
    shape: Any,
    view: Any,
    memory: Memory | None = None,
    names: tuple[str, ...] = (),
    checked: bool = False,
) -> tuple[int, Any]:
    """Compile a rule or one of its hooks; return the address of the code, and an object that keeps it alive.

    Args:
        function: the function of the rule or hook.
        shape: the signature with which the engine calls the function. If its first argument is an array, the
            function receives no handle, and its arrays are read-only; otherwise that argument is the handle.
        view: numba's type of the family's view.
        memory: records that the rule keeps; `None`: no records.
        names: names of the rule's parameters.
        checked: compile code that raises an error if it reads out of range, changes the device or never ends.

    Raises:
        ValueError: with numba's reason, if the function cannot be compiled for these types.
    """
    has_view = not isinstance(shape.args[0], types.Array)
    own: dict[int, Any] = {shape.args.index(PARAMETERS): Parameters(names)}
    if has_view:
        own[0] = Handle(view, memory or Memory(), checked)
    arguments = [own.get(place, argument) for place, argument in enumerate(shape.args)]
    if checked:
        arguments = [
            checked_array(argument, writable=has_view) if isinstance(argument, types.Array) else argument
            for argument in arguments
        ]
    return compiled_address(function, shape.return_type(*arguments), checked=checked)
