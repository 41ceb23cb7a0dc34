"""Checks of rules that are not trusted: faults that would crash the process, or never end, raise errors.

* An index out of range: a rule is compiled with bounds checks. So are the helpers that it calls, since their
  unchecked versions do not accept the record types of a checked view.
* A write to the device: the records of a checked view are read-only except the rule's own memory.
* An endless loop: each loop of a function outside ssdgym counts its iterations.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numba
from numba import types
from numba.core import config, ir, ir_utils
from numba.core.analysis import compute_cfg_from_blocks
from numba.core.compiler import DefaultPassBuilder
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.datamodel import models
from numba.core.datamodel.registry import register_default
from numba.core.errors import TypingError
from numba.core.typed_passes import NopythonTypeInference
from numba.core.untyped_passes import IRProcessing
from numba.extending import lower_builtin, lower_setattr_generic

from ssdgym.engine.compiler.linking import PartCompiler

#: Lines of numba's error messages without information.
_EMPTY_LINE = re.compile(r"\s*(- Resolution failure .*|Failed in \w+ mode pipeline.*|During: .*|)")
#: The name of a record type, which may be pages long.
_RECORDS = re.compile(
    r"(unaligned |readonly |checked |read-only )*(array\()?Record\(.*?;(True|False)\)(, 1d, [CA]\))?"
)
_PLACE = re.compile(r'(?:File "|from |at )([^"\s]+)"?(?:, line | \()(\d+)')
#: Messages of the compiler, and what they mean for a rule.
_MEANINGS = (
    (r"No conversion from (.+) to int64 for .*", r"it returns \1 and must return a whole number"),
    (r"mismatch of return type: none vs int64", r"it never returns"),
    (r"Unknown attribute '(\w+)' of type (?:checked )?view.*", r"the view has no field \1"),
    (r"Unknown attribute '(\w+)' of type Parameters\((.*)\)", r"it declares no parameter \1, but (\2)"),
    (r"(.*?)\.* Raised from \S+ \(\d+\)", r"\1"),
    (r"(.*?)\.* Raised from None", r"\1"),
)


def reason_of(error: Exception, file: str) -> str:
    """Return the cause of a compiler error as text, with its line if it is in the user's `file`."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", str(error))
    reason = f"there is no field {text}" if isinstance(error, KeyError) else _meaning(text)
    name = file.rpartition("/")[2]
    lines = [line for place, line in _PLACE.findall(text) if place.rpartition("/")[2] == name]
    return f"{reason} ({name}, line {lines[-1]})" if lines else reason


def _meaning(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if not _EMPTY_LINE.fullmatch(line)]
    first = _RECORDS.sub("records", lines[0]).rstrip(".") if lines else "the compiler does not say why"
    call = re.search(r">>> (.+)", text)
    if first.startswith("No implementation of function") and call is not None:
        if "Cannot modify readonly" in text:
            return "a rule may not change the device"
        return f"compiled code cannot do {_RECORDS.sub('records', call[1])}"
    for pattern, meaning in _MEANINGS:
        if (match := re.fullmatch(pattern, first)) is not None:
            return match.expand(meaning)
    return first


#: Most iterations of the loops of one function in one call: about a second of work.
MOST_ROUNDS = 200_000_000

#: A field that only checked records have.
_MARK = "_checked"

_active = False


class EndlessLoop(Exception):
    """The loops of a function have more iterations in one call than `MOST_ROUNDS`."""


@contextmanager
def checking() -> Iterator[None]:
    """In this context, compile with bounds checks; count iterations of loops of functions outside ssdgym."""
    global _active
    with global_compiler_lock:
        before = config.BOUNDSCHECK, _active
        config.BOUNDSCHECK, _active = 1, True
        try:
            yield
        finally:
            config.BOUNDSCHECK, _active = before


class CheckedRecord(types.Record):
    """Type of a record that a checked rule may write to: of its own memory, or of the erase set to fill."""

    _title = "checked"

    def __init__(self, record: types.Record) -> None:
        fields = [(name, field._asdict()) for name, field in record.fields.items()]
        # This additional field keeps numba from taking plain records for checked records.
        fields.append((_MARK, {"type": types.uint8, "offset": 0}))
        super().__init__(fields, record.size, record.aligned)
        self.name: str = f"{self._title} {self.name}"

    def typeof(self, key: str) -> Any:
        """Return the type of a field."""
        if key not in self.fields:
            known = ", ".join(name for name in self.fields if name != _MARK)
            raise TypingError(f"there is no field {key}; there are {known}")
        return super().typeof(key)

    def can_convert_to(self, typing_context: Any, other: Any) -> None:
        """Return None: no code that is compiled for other records may be called with this record."""
        return None


class DeviceRecord(CheckedRecord):
    """Type of a record of the device, which a checked rule may only read."""

    _title = "read-only"


register_default(CheckedRecord)(models.RecordModel)
register_default(DeviceRecord)(models.RecordModel)


@lower_setattr_generic(DeviceRecord)
def _refuse_field(context: Any, builder: Any, signature: Any, arguments: Any, name: str) -> None:
    raise TypingError(f"a rule may not change the device, here its field {name}")


@lower_builtin("static_setitem", DeviceRecord, types.StringLiteral, types.Any)
@lower_builtin("static_setitem", DeviceRecord, types.IntegerLiteral, types.Any)
def _refuse_item(context: Any, builder: Any, signature: Any, arguments: Any) -> None:
    raise TypingError("a rule may not change the device")


def checked_array(array: types.Array, *, writable: bool) -> types.Array:
    """Return the array type that a checked rule receives in place of `array`, writable or read-only."""
    dtype = array.dtype
    if isinstance(dtype, types.Record):
        dtype = (CheckedRecord if writable else DeviceRecord)(dtype)
    return array.copy(dtype=dtype, readonly=not writable)


@numba.njit(_nrt=False, forceinline=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)
def _count_round(left):
    if left == 0:
        raise EndlessLoop
    return left - 1


@register_pass(mutates_CFG=False, analysis_only=False)
class _CountRounds(FunctionPass):
    """Count the iterations of all loops of a function in one variable, down from `MOST_ROUNDS`."""

    _name = "count_rounds"

    def __init__(self) -> None:
        FunctionPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        function = state.func_ir
        loops = compute_cfg_from_blocks(function.blocks).loops().values()
        if not _active or function.is_generator or not loops:
            return False
        first = function.blocks[min(function.blocks)]
        scope, place = first.scope, first.loc
        left = ir.Var(scope, "$rounds_left", place)
        begin = ir.Assign(ir.Const(MOST_ROUNDS, place), left, place)
        arguments = [isinstance(step, ir.Assign) and isinstance(step.value, ir.Arg) for step in first.body]
        for header in {loop.header for loop in loops}:
            block = function.blocks[header]
            count = ir.Var(scope, f"$count_round_{header}", place)
            found = ir.Assign(ir.Global("_count_round", _count_round, block.loc), count, block.loc)
            call = ir.Assign(ir.Expr.call(count, (left,), (), block.loc), left, block.loc)
            block.body[:0] = [found, call]
        first.body.insert(arguments.index(False), begin)
        function._definitions = ir_utils.build_definitions(function.blocks)
        return True


@register_pass(mutates_CFG=False, analysis_only=True)
class _WholeResult(FunctionPass):
    """Refuse to return a float where an integer is expected: numba would truncate the float."""

    _name = "whole_result"

    def __init__(self) -> None:
        FunctionPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        returned = [
            state.func_ir.get_definition(block.terminator.value)
            for block in state.func_ir.blocks.values()
            if isinstance(block.terminator, ir.Return)
        ]
        casts = [value for value in returned if isinstance(value, ir.Expr) and value.op == "cast"]
        fractions = [isinstance(state.typemap[value.value.name], types.Float) for value in casts]
        if isinstance(state.return_type, types.Integer) and any(fractions):
            raise TypingError("it returns a number with a fraction and must return a whole one")
        return False


class RuleCompiler(PartCompiler):
    """Compile functions of other packages as numba does, with passes `_CountRounds` and `_WholeResult`."""

    def define_pipelines(self) -> list[Any]:
        """Return numba's pipeline with the passes `_CountRounds` and `_WholeResult`."""
        manager = DefaultPassBuilder.define_nopython_pipeline(self.state)
        manager.add_pass_after(_CountRounds, IRProcessing)
        manager.add_pass_after(_WholeResult, NopythonTypeInference)
        manager.finalize()
        return [manager]
