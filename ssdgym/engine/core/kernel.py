"""Access to numba: decorators, and functions passed by address.

| decorator | compiles a function ...                     | use it for                                       |
|-----------|---------------------------------------------|--------------------------------------------------|
| `kernel`  | as a part of entries; LLVM may inline it    | long functions, or not called for every page     |
| `inlined` | into each of its callers                    | short functions that are called for every page   |
| `helper`  | as `kernel`; Python can call it, too        | functions that rules call                        |
| `shared`  | as `kernel`; Python calls it uncompiled     | functions that Python code needs as well         |
| `entry`   | for Python, cached on disk                  | functions that Python calls                      |
| `operation` | in a version for each FTL family          | functions that families define for themselves    |

Use `inlined` instead of `kernel` only if that measurably saves time per page. Further rules:

* Kernels are compiled without numba's reference counting (`_nrt=False`): for a short function, counting the
  references to its array arguments would take many times as long as the function's own work.
* Machine code is made for entries only (`compiler/linking.py`), and cached on disk (`compiler/cache.py`).
* A device is passed as a pointer (`pointer.py`), and integers as int64, so that a kernel is compiled once.

A kernel receives a rule as the address of the rule's compiled code, an integer, so one compiled engine serves
every policy. To unbox a function object would take some 40 us per call.
"""

import functools
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numba
from llvmlite import ir
from numba.core import cgutils
from numba.core.types.misc import unliteral
from numba.cpython.unsafe.numbers import leading_zeros as leading_zeros
from numba.cpython.unsafe.numbers import trailing_zeros as trailing_zeros
from numba.extending import intrinsic, overload, register_jitable

from ssdgym.engine.compiler.cache import enable_cache
from ssdgym.engine.compiler.checking import RuleCompiler, checking, reason_of
from ssdgym.engine.compiler.linking import PartCompiler, is_own
from ssdgym.errors import SsdgymError
from ssdgym.garbage import uncollected

if numba.config.DISABLE_JIT:
    raise SsdgymError("NUMBA_DISABLE_JIT is set, and ssdgym's engine runs as machine code only: unset it.")


#: Compile without reference counting, and without checks of divisions.
_OPTIONS = {"_nrt": False, "error_model": "numpy"}


def _part(function: Callable, **options: Any) -> Any:
    """Compile `function` as a part of its callers; integer arguments of any width are passed as int64."""
    compiler = PartCompiler if is_own(function) else RuleCompiler
    dispatcher = numba.njit(**_OPTIONS, pipeline_class=compiler, **options)(function)
    template_of = dispatcher.get_call_template

    def widened_template_of(arguments: Any, named: Any) -> Any:
        return template_of(
            tuple(map(_widened, arguments)), {name: _widened(given) for name, given in named.items()}
        )

    dispatcher.get_call_template = widened_template_of
    return dispatcher


def _widened(argument: Any) -> Any:
    argument = unliteral(argument)
    if isinstance(argument, numba.types.Integer) and argument.bitwidth < 64:
        return numba.types.int64
    return argument


def kernel(function: Callable) -> Any:
    """Compile `function` as a part of other kernels (not cached by itself). Python cannot call it."""
    # Explicit, since a kernel that is compiled while an inlined function is compiled would be inlined, too.
    return _part(function, forceinline=False, no_cpython_wrapper=True, no_cfunc_wrapper=True)


def inlined(function: Callable) -> Any:
    """Compile `function` into each of its callers: for short functions that run once a page."""
    return _part(function, forceinline=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)


def helper(function: Callable) -> Any:
    """Make a kernel that rules may call.

    Rules that run as plain Python may call it, too. That call runs a copy compiled with bounds checks.
    """
    dispatcher = _part(function, forceinline=False)
    compile_for = dispatcher._compile_for_args

    def compile_checked(*arguments: Any, **named: Any) -> Any:
        with checking():
            return compile_for(*arguments, **named)

    dispatcher._compile_for_args = compile_checked
    return dispatcher


def shared(function: Callable) -> Any:
    """Compile `function` into the kernels that call it; Python calls the plain Python function."""
    return register_jitable(**_OPTIONS, pipeline_class=PartCompiler)(function)


def operation(stub: Callable | None = None, *, optional: bool = False) -> Any:
    """Make a kernel with a version for each FTL family, added by `@stub.of(CLASS)`.

    The class of the first argument (a NamedTuple) selects the version at compile time, so that the code of
    one family is never compiled into another. For a family without a version, an `optional` operation runs
    the body of the stub; any other operation is an error at compile time.
    """
    if stub is None:
        return functools.partial(operation, optional=optional)
    versions: dict[type, Callable] = {}
    default = stub if optional else None

    options = {**_OPTIONS, "pipeline_class": PartCompiler, "forceinline": True}
    options.update(no_cpython_wrapper=True, no_cfunc_wrapper=True)

    @overload(stub, strict=False, jit_options=options)
    def choose(first, *rest):
        return versions.get(getattr(first, "instance_class", None), default)

    def of(cls: type) -> Callable[[Callable], Callable]:
        def add(version: Callable) -> Callable:
            return versions.setdefault(cls, getattr(version, "py_func", version))

        return add

    stub.of = of  # type: ignore[attr-defined]
    return stub


def entry(function: Callable) -> Any:
    """Compile `function` as an entry point for Python: cached on disk, run without Python's global lock."""
    options = {**_OPTIONS, "pipeline_class": PartCompiler, "no_cfunc_wrapper": True, "nogil": True}
    dispatcher = numba.njit(**options)(function)
    enable_cache(dispatcher)
    return dispatcher


def compiled_address(function: Callable, signature: Any, *, checked: bool = False) -> tuple[int, Any]:
    """Compile a function for a signature; return the address of the code, and an object that keeps it alive.

    Only ssdgym's own functions are cached on disk: a user's function may call functions of other files, and
    numba would not notice their changes. Checked code raises an error if an index is out of range or a loop
    does not end.

    Raises:
        ValueError: with numba's reason, if the function cannot be compiled for that signature.
    """
    plain = getattr(function, "py_func", function)
    dispatcher = entry(plain) if is_own(plain) else kernel(plain)
    with checking() if checked else nullcontext():
        return address_of(dispatcher, signature), dispatcher


@uncollected()
def address_of(dispatcher: Any, signature: Any) -> int:
    """Compile a kernel for a signature; return the address of the code, valid while the dispatcher exists.

    Raises:
        ValueError: with numba's reason, if the kernel cannot be compiled for that signature.
    """
    try:
        dispatcher.compile(signature)
        compiled = dispatcher.get_compile_result(signature)
    except Exception as error:  # numba has many ways to refuse code
        raise ValueError(reason_of(error, dispatcher.py_func.__code__.co_filename)) from error
    return int(compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name))


@functools.cache
@uncollected()
def entry_for(function: Any, *arguments: Any) -> Any:
    """Return an entry that is compiled for arguments of these numba types, to be called from Python.

    Calls do not check their arguments: values of other types would be misread. Pass a pointer as an integer.
    """
    function.compile(arguments)
    return function.overloads[arguments].entry_point


def function_at(function_type: Any) -> Any:
    """Return an intrinsic that turns an int64 address into a callable of `function_type`."""

    @intrinsic
    def at_address(typing_context, address):
        def build(context, builder, signature, arguments):
            handle = cgutils.create_struct_proxy(function_type)(context, builder)
            pointer = context.get_value_type(numba.types.voidptr)
            handle.c_addr = context.get_constant_null(numba.types.voidptr)
            handle.py_addr = context.get_constant_null(numba.types.voidptr)
            handle.jit_addr = builder.inttoptr(arguments[0], pointer)
            return handle._getvalue()

        return function_type(numba.types.int64), build

    return at_address


@intrinsic
def count_bits(typing_context, word):
    """Return the number of set bits of a uint64."""

    def build(context, builder, signature, arguments):
        return builder.ctpop(arguments[0])

    return numba.types.uint64(numba.types.uint64), build


@intrinsic
def clear(typing_context, record):
    """Set all fields of a record to zero."""

    def build(context, builder, signature, arguments):
        size = context.get_constant(numba.types.intp, signature.args[0].size)
        cgutils.memset(builder, arguments[0], size, 0)
        return context.get_dummy_value()

    return numba.types.void(record), build


@intrinsic
def prefetch(typing_context, array, place):
    """Prefetch the cache line in which an array's item begins; the index, `place`, is not checked."""

    def build(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        address = builder.bitcast(builder.gep(data, [arguments[1]]), cgutils.voidptr_t)
        word = context.get_value_type(numba.types.int32)
        kind = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, word, word, word])
        function = builder.module.declare_intrinsic("llvm.prefetch", [cgutils.voidptr_t], kind)
        builder.call(function, [address, word(0), word(3), word(1)])  # read, highest locality, data cache
        return context.get_dummy_value()

    return numba.types.void(array, numba.types.int64), build
