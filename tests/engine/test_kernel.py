"""The door to numba: options, and what happens when numba changes."""

from __future__ import annotations

from types import FunctionType
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest
from numba.core import config
from numba.core.cpu import CPUTargetOptions

from ssdgym.engine.core import kernel as door
from ssdgym.engine.core.pointer import STORED_BYTES, pointer_type, store_at
from ssdgym.engine.entries import LOOPS


def three() -> int:
    return 3


def test_kernel__compiled_without_reference_counting() -> None:
    """Passing a device between functions can cost thirty times the work otherwise."""
    assert hasattr(CPUTargetOptions, "_nrt"), f"numba {numba.__version__} has dropped the option _nrt"
    assert all(loop.targetoptions["_nrt"] is False for loop in LOOPS)
    assert door.helper(three)() == 3


def test_kernel__called_from_python__refused() -> None:
    """It has no machine code of its own."""
    with pytest.raises(TypeError):
        door.kernel(three)()


def test_kernel__compiled_once_for_integers_of_all_widths() -> None:
    @door.kernel
    def successor(x):
        return x + 1

    @door.helper
    def sum_of_successors(small, large):
        return successor(small) + successor(large) + successor(3)

    assert sum_of_successors(np.int16(1), np.int64(2)) == 9
    assert successor.signatures == [(numba.types.int64,)]


def test_kernel__compiled_on_the_way_to_an_inlined_one__keeps_its_own_code() -> None:
    """numba hands the options of a caller down to what is compiled for it."""

    @door.kernel
    def callee(x):
        return x + 1

    @door.inlined
    def caller(x):
        return callee(x)

    @door.helper
    def outer(x):
        return caller(x)

    assert outer(1) == 2
    (compiled,) = callee.overloads.values()
    assert not compiled.fndesc.inline


def test_helper__finished_for_python__is_linked_to_others_as_well() -> None:
    @door.kernel
    def scaled(x, factor):
        return x * factor if x > 0 else -x

    @door.helper
    def doubled(x):
        return scaled(x, 2)

    @door.helper
    def tripled(x):
        return scaled(x, 3)

    @door.helper
    def sum_of_both(x):
        return doubled(x) + tripled(x) + scaled(x, 5)

    assert (doubled(4), tripled(4)) == (8, 12)
    assert sum_of_both(4) == 40


def item(numbers, place):
    return numbers[place]


def corner(numbers, place):
    return numbers[place, 0]


def last(numbers, place):
    return numbers[-1] + place


def put(numbers, place):
    numbers[place] = 3


def of_ssdgym(function: Any) -> Any:
    """Return a copy of a function that is taken for one of ssdgym's own."""
    copy = FunctionType(function.__code__, function.__globals__)
    copy.__module__ = "ssdgym.a_test"
    return copy


@pytest.mark.parametrize("function", [item, corner, last, put])
def test_negative_index__refused_in_functions_of_ssdgym__and_what_numba_says_in_others(function: Any) -> None:
    """Called from Python a helper is compiled with bounds checks; without them -1 is outside the array."""
    numbers = np.array([[5, 6], [7, 8]]) if function is corner else np.array([5, 6])
    with pytest.raises(IndexError):
        door.helper(of_ssdgym(function))(numbers, -1)
    theirs = numbers.copy()
    assert door.helper(function)(theirs, -1) == function(numbers, -1)
    assert (theirs == numbers).all()


def test_indices_of_ssdgym__may_be_of_any_width() -> None:
    for width in (np.int8, np.int32, np.uint8, np.uint64):
        assert door.helper(of_ssdgym(item))(np.array([5, 6]), width(1)) == 6


def test_entry__leaves_the_cache_settings_of_others_alone() -> None:
    before = config.CACHE_DIR
    door.entry(three)
    assert before == config.CACHE_DIR


def test_entry__typed_at_a_prompt__works_without_a_cache() -> None:
    namespace: dict[str, object] = {}
    exec("def four():\n    return 4\n", namespace)
    assert door.entry(namespace["four"])() == 4


def twice(x):
    return x + x


def test_shared__plain_python_for_python_and_compiled_for_kernels() -> None:
    helper = door.shared(twice)
    assert helper is twice

    @door.helper
    def fourfold(x):
        return helper(helper(x))

    assert fourfold(3) == 12
    assert helper("ab") == "abab"


class Pair(NamedTuple):
    """A small device."""

    number: Any
    rows: Any


def test_pointed_array__is_as_the_array_itself() -> None:
    """Only its place and its length are loaded."""

    @door.kernel
    def described(dev):
        rows = dev.rows
        return len(rows), rows.size, rows.itemsize, rows.strides[0], rows[-1].wide + rows[0].narrow

    @door.entry
    def store(value, address):
        store_at(value, address)

    @door.entry
    def describe(dev):
        return described(dev)

    rows = np.zeros(3, np.dtype([("narrow", "i2"), ("wide", "i8")], align=True))
    rows["narrow"], rows["wide"] = 5, (1, 2, 3)
    memory, pair = np.zeros(STORED_BYTES, np.uint8), Pair(7, rows)
    store(pair, memory.ctypes.data)
    described_at = door.entry_for(describe, pointer_type(pair))
    assert described_at(memory.ctypes.data) == (3, 3, 16, 16, 8)


def test_symbols__are_short_whatever_the_arguments() -> None:
    """The type of a record lists all of its fields."""

    @door.helper
    def length(rows):
        return len(rows)

    assert length(np.zeros(3, np.dtype([(f"field_{k}", "i8") for k in range(100)]))) == 3
    (compiled,) = length.overloads.values()
    assert len(compiled.fndesc.mangled_name) < 300
