"""Access to numba: decorators, the compile cache, and functions passed by address.

| decorator | compiles a function ...                | use it for                                            |
|-----------|----------------------------------------|-------------------------------------------------------|
| `kernel`  | by itself, called by other kernels     | whatever is called from several places, and is long   |
| `inlined` | into each of its callers               | what runs once a page, or is short                    |
| `helper`  | as `inlined`; Python can call it, too  | what victim rules are written with                    |
| `merged`  | as a part of its caller's source       | a long function with one caller: the upper loop parts |
| `shared`  | as `kernel`, and leaves it plain       | what host code in Python needs as well                |
| `entry`   | for Python, cached on disk             | what Python calls: a loop, a batch                    |
| `verb`    | a version of it for each FTL family    | what families do in their own ways                    |

Where in doubt between the first two, take `inlined`, and `kernel` where the compile time shows. Two rules,
both measured:

* Kernels are compiled without numba's reference counting (`_nrt=False`): passing a NamedTuple of arrays from
  function to function costs about thirty times the work otherwise.
* Only entries are cached on disk. The cache folder is named after a hash of all engine sources, because numba
  does not notice when an imported kernel has changed.

Rules of policies reach a kernel as the address of their compiled code. Unboxing a function object costs some
40 us per call, an integer nothing, and one compile of the engine serves every policy.
"""

from __future__ import annotations

import functools
import hashlib
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
from llvmlite import ir
from numba.core import cgutils, config, sigutils
from numba.core.cpu import CPUTargetOptions
from numba.core.errors import NumbaError
from numba.extending import intrinsic, overload, register_jitable

from ssdgym.files import cache_folder

ENGINE_FOLDER = Path(__file__).parents[1]
REQUEST_FORMAT = ENGINE_FOLDER.parent / "requests.py"


@functools.cache
def engine_hash() -> str:
    """Return the hash of every engine source and of numba's version: it names the compile cache."""
    digest = hashlib.sha256(numba.__version__.encode())
    # The constants of a request array are compiled into the engine, too.
    digest.update(REQUEST_FORMAT.read_bytes())
    for source in sorted(ENGINE_FOLDER.rglob("*.py")):
        digest.update(source.relative_to(ENGINE_FOLDER).as_posix().encode())
        digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


def compile_cache_folder() -> Path:
    """Return the folder of this engine's machine code; a bounds-checked build has its own."""
    checked = "-boundscheck" if config.BOUNDSCHECK else ""
    return cache_folder() / "numba" / (engine_hash() + checked)


def _compiler_options() -> dict[str, Any]:
    # Looked up beforehand: numba refuses an unknown option only when it compiles, long after it was given.
    if hasattr(CPUTargetOptions, "_nrt"):
        return {"_nrt": False, "error_model": "numpy"}
    warnings.warn(
        f"numba {numba.__version__} no longer knows the option _nrt; the engine will run many times slower",
        RuntimeWarning,
        stacklevel=3,
    )
    return {"error_model": "numpy"}


def kernel(function: Callable) -> Any:
    """Compile `function` as a part of other kernels (not cached by itself)."""
    return numba.njit(**_compiler_options())(function)


def inlined(function: Callable) -> Any:
    """Compile `function` into its callers, as the code that runs once a page needs.

    Passing a device to it would cost more than its work. Python cannot call it: the code to unpack a device
    would be compiled for each such function.
    """
    return numba.njit(
        **_compiler_options(), forceinline=True, no_cpython_wrapper=True, no_cfunc_wrapper=True
    )(function)


def helper(function: Callable) -> Any:
    """Do as `inlined`, for what policies are written with: those in plain Python call the function itself."""
    return numba.njit(**_compiler_options(), forceinline=True)(function)


def merged(function: Callable) -> Any:
    """Write `function` into its one caller before that is compiled.

    For the upper parts of a long loop, each of which would otherwise be optimised with all that is below it.
    """
    return numba.njit(**_compiler_options(), inline="always")(function)


def shared(function: Callable) -> Any:
    """Keep `function` plain Python for Python, and compile it into the kernels that call it."""
    return register_jitable(**_compiler_options())(function)


def verb(stub: Callable) -> Any:
    """Make a kernel of which every FTL family has a version of its own.

    The class of the first argument (a NamedTuple) says at compile time which version is meant, so that the
    code of one family never reaches another. Versions are added by `@stub.of(CLASS)`.

    Args:
        stub: names the verb, its arguments and what it does.

    Returns:
        The verb, to be called from kernels.
    """
    versions: dict[type, Callable] = {}

    @overload(stub, strict=False, jit_options={**_compiler_options(), "forceinline": True})
    def choose(first, *rest):
        return versions.get(getattr(first, "instance_class", None))

    def of(cls: type) -> Callable[[Callable], Callable]:
        def add(version: Callable) -> Callable:
            return versions.setdefault(cls, getattr(version, "py_func", version))

        return add

    stub.of = of  # type: ignore[attr-defined]
    return stub


def entry(function: Callable) -> Any:
    """Compile `function` as an entry point for Python, cached on disk."""
    dispatcher = kernel(function)
    _enable_cache(dispatcher)
    return dispatcher


def compiled_address(function: Callable, signature: Any) -> tuple[int, Any]:
    """Compile a function for a signature and return the address of its code.

    Only ssdgym's own functions are cached on disk: numba would not notice a change in what a user's function
    calls in another file.

    Args:
        function: plain or compiled.
        signature: types of its arguments and of what it returns.

    Returns:
        The address, and an object to keep alive as long as it is used.

    Raises:
        ValueError: with numba's reason, if the function cannot be compiled for that signature.
    """
    plain = getattr(function, "py_func", function)
    own = plain.__module__.partition(".")[0] == __name__.partition(".")[0]
    dispatcher = entry(plain) if own else kernel(plain)
    return address_of(dispatcher, signature), dispatcher


def address_of(dispatcher: Any, signature: Any) -> int:
    """Return the address of the code of a kernel, compiled for a signature.

    Args:
        dispatcher: the kernel, to be kept alive as long as the address is used.
        signature: types of its arguments and of what it returns.

    Returns:
        The address.

    Raises:
        ValueError: with numba's reason, if it cannot be compiled for that signature.
    """
    try:
        dispatcher.compile(signature)
    except (NumbaError, TypeError) as error:  # numba's answer to another number of arguments is a TypeError
        reason = str(error).strip().partition("\n\n")[0].splitlines()[-1].strip().rstrip(".")
        raise ValueError(reason) from error
    compiled = dispatcher.get_compile_result(signature)
    return int(compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name))


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
def lowest_bit(typing_context, word):
    """Return the number of the lowest set bit of a uint64 that is not 0."""

    def build(context, builder, signature, arguments):
        is_zero_undefined = context.get_constant(numba.types.boolean, True)
        return builder.cttz(arguments[0], is_zero_undefined)

    return numba.types.uint64(numba.types.uint64), build


@intrinsic
def count_bits(typing_context, word):
    """Return the number of set bits of a uint64."""

    def build(context, builder, signature, arguments):
        return builder.ctpop(arguments[0])

    return numba.types.uint64(numba.types.uint64), build


@intrinsic
def prefetch(typing_context, array, place):
    """Fetch the line of memory where an array's item begins, without waiting for it.

    The place is not checked, and nothing is changed.
    """

    def build(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        address = builder.bitcast(builder.gep(data, [arguments[1]]), cgutils.voidptr_t)
        word = context.get_value_type(numba.types.int32)
        kind = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, word, word, word])
        function = builder.module.declare_intrinsic("llvm.prefetch", [cgutils.voidptr_t], kind)
        builder.call(function, [address, word(0), word(3), word(1)])  # to be read, kept close, data
        return context.get_dummy_value()

    return numba.types.void(array, numba.types.int64), build


def _enable_cache(dispatcher: Any) -> None:
    """Point one dispatcher's cache at our folder, leaving other users of numba alone."""
    if not _cache_is_writable(compile_cache_folder()):
        return
    before = config.CACHE_DIR
    config.CACHE_DIR = str(compile_cache_folder())
    try:
        dispatcher.enable_caching()
    except RuntimeError:
        return  # a function typed at a prompt has no file to key a cache on: it is compiled afresh each time
    finally:
        config.CACHE_DIR = before
    _save_if_possible(dispatcher._cache)


def _save_if_possible(cache: Any) -> None:
    """Let a full disk cost a compile the next time, and not the run; keep nothing of a user's FTL family."""
    save = cache.save_overload

    def save_overload(signature: Any, compiled: Any) -> None:
        if not _is_own(signature):
            return
        try:
            save(signature, compiled)
        except OSError as error:
            warnings.warn(
                f"{compile_cache_folder()}: a compiled function cannot be kept ({error.strerror}); "
                "free some space",
                RuntimeWarning,
                stacklevel=2,
            )

    cache.save_overload = save_overload


def _is_own(signature: Any) -> bool:
    """Return whether all classes in a signature are of ssdgym.

    Code for another class is not cached: a change in what it calls would not be noticed, and the cache could
    not be read where its module is missing.
    """
    arguments, _ = sigutils.normalize_signature(signature)
    classes = [argument.instance_class for argument in arguments if hasattr(argument, "instance_class")]
    package = __name__.partition(".")[0]
    return all(known.__module__.partition(".")[0] == package for known in classes)


@functools.cache
def _cache_is_writable(folder: Path) -> bool:
    """Return whether the folder can be used; if not, warn once.

    Without it numba would fall back to folders without the engine's hash.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError as error:
        warnings.warn(
            f"{folder}: the compiled engine cannot be kept ({error.strerror}) and will be compiled in every "
            "process, which takes a minute; set SSDGYM_CACHE_DIR to a folder that can be written",
            RuntimeWarning,
            stacklevel=2,
        )
        return False
