"""Machine code for entries only: the functions that an entry calls are linked and optimised with it.

numba optimises and translates every function that it compiles, together with the functions that it calls, and
again within each of its callers. Functions of the engine call each other ten levels deep, and Python calls
only the topmost function, so most of this work is wasted. Here a function's code stays unoptimised until a
pointer to the function is needed, as for entries. Then all functions that it calls are linked to it, once.

This module overrides parts of numba that may change with any release. `SSDGYM_PLAIN_NUMBA=1` compiles
everything by plain numba: results are equal, but the compile takes several times as long.
"""

import ctypes
import hashlib
import os
from collections.abc import Iterator, Sequence
from typing import Any

import numba
from llvmlite.binding import Linkage
from numba import types
from numba.core import ir
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, DefaultPassBuilder
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.itanium_mangler import mangle
from numba.core.typed_passes import NopythonTypeInference

from ssdgym.errors import SsdgymError

#: Whether everything is compiled by plain numba.
PLAIN_NUMBA = bool(os.environ.get("SSDGYM_PLAIN_NUMBA"))

#: First and last version of numba with which the overrides below were tested.
TRIED = ((0, 63), (0, 68))

if not PLAIN_NUMBA and not TRIED[0] <= numba.version_info.short <= TRIED[1]:
    first, last = (".".join(map(str, version)) for version in TRIED)
    raise SsdgymError(
        f"ssdgym compiles with numba {first} to {last}, and numba {numba.__version__} is installed: "
        f"pip install numba=={last}.*, or set SSDGYM_PLAIN_NUMBA=1, which compiles more slowly"
    )

# Unsigned indices: in ssdgym's own functions no index is negative, so that -1 does not mean the last item.
#
# numba tests every signed index at each access, and adds the array's length if the index is negative. Here
# indices have unsigned types, which numba uses as they are. Code with bounds checks raises an error for a
# negative index. In functions of other packages, indices have numba's meaning.


def is_own(function: Any) -> bool:
    """Return whether a function or class belongs to ssdgym, not to a user or to another package."""
    return str(function.__module__).partition(".")[0] == __name__.partition(".")[0]


@register_pass(mutates_CFG=False, analysis_only=False)
class PlainIndices(FunctionPass):
    """Give the indices of arrays in a function of ssdgym unsigned types."""

    _name = "plain_indices"

    def __init__(self) -> None:
        FunctionPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        """Change the signatures of accesses to items of arrays; return whether the function is ssdgym's."""
        if not is_own(state.func_id.func):
            return False
        for step in filter(_is_access, list(state.calltypes)):
            signature = state.calltypes.pop(step)  # numba's mapping allows no assignment to an existing key
            if signature is not None and isinstance(signature.args[0], types.Buffer):
                array, index, *value = signature.args
                signature = signature.replace(args=(array, _plain(index), *value))
            state.calltypes[step] = signature
        return True


def _is_access(step: Any) -> bool:
    """Return whether a statement of numba's IR reads or writes an item."""
    if isinstance(step, ir.Expr):
        return step.op in ("getitem", "static_getitem")
    return isinstance(step, (ir.SetItem, ir.StaticSetItem))


def _plain(index: Any) -> Any:
    """Return the unsigned type of an index, or of a tuple of indices."""
    if isinstance(index, types.Integer):
        return types.uintp
    if isinstance(index, types.BaseTuple):
        return types.Tuple([_plain(part) for part in index.types])
    return index


#: Address of code that raises a TypeError, for calls from Python to a function without own machine code.
_REFUSE = int(ctypes.cast(ctypes.pythonapi.PyErr_BadArgument, ctypes.c_void_p).value or 0)


class PartCompiler(Compiler):
    """Compile a function into a part: a library whose machine code is made only when it is needed."""

    def __init__(self, typing_context: Any, target_context: Any, library: Any, *rest: Any) -> None:
        if PLAIN_NUMBA:
            super().__init__(typing_context, target_context, library, *rest)
            return
        if library is None:
            library = _Part(target_context.codegen(), "ssdgym")
            library.enable_object_caching()
        super().__init__(typing_context, target_context.subtarget(mangler=_short_name), library, *rest)

    def define_pipelines(self) -> list[Any]:
        """Return numba's pipeline with the pass `PlainIndices`."""
        manager = DefaultPassBuilder.define_nopython_pipeline(self.state)
        if not PLAIN_NUMBA:
            manager.add_pass_after(PlainIndices, NopythonTypeInference)
        manager.finalize()
        return [manager]


def _short_name(
    name: str, arguments: tuple[Any, ...], *, abi_tags: Sequence[str] = (), uid: int | None = None
) -> str:
    """Return the symbol of a function, with a digest of its arguments' types in place of their names.

    numba's name of a batch's type lists all fields of records: LLVM would read 10,000 characters per call.
    """
    digest = hashlib.sha256(str(arguments).encode()).hexdigest()[:16]
    return str(mangle(name, (), abi_tags=(*abi_tags, digest), uid=uid))


class _NoEnvironment:
    """Stand in for the code generator of an unfinished part, which has no environment that could be set."""

    @staticmethod
    def set_env(name: str, environment: Any) -> None:
        """Do nothing: compiled code uses its environment only to raise exceptions with values."""


class _Part(JITCodeLibrary):
    """The code of one function, and the libraries of the functions it calls."""

    @property
    def codegen(self) -> Any:
        return self._codegen if self._finalized else _NoEnvironment

    def get_pointer_to_function(self, name: str) -> int:
        if not self._finalized and name not in _defined(self._final_module):
            return _REFUSE
        return super().get_pointer_to_function(name) or _REFUSE

    def add_linking_library(self, library: Any) -> None:
        if not isinstance(library, _Part):
            library._ensure_finalized()
        self._linking_libraries.append(library)

    def _optimize_functions(self, module: Any) -> None:
        # numba would set up optimisation passes even for functions that are only declared.
        module.data_layout = self._codegen._data_layout
        passes, builder = self._codegen._function_pass_manager()
        for function in module.functions:
            if not function.is_declaration:
                passes.run(function, builder)

    def finalize(self) -> None:
        self._raise_if_finalized()
        own = _defined(self._final_module)
        for library in self._below():
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(_linkable(library))
        for name in _defined(self._final_module) - own:
            function = self._final_module.get_function(name)
            function.linkage = "internal"
            # LLVM may change the calling convention of internal functions, which it finds by name.
            function.name = f"part.{name}"
        self._optimize_final_module()
        self._final_module.verify()
        self._finalize_final_module()

    def _optimize_final_module(self) -> None:
        # Run once: numba's additional cheap run removes reference counts, which the engine does not have. The
        # engine's loops follow links between records, or are short, so vectorisation gains nothing.
        passes, builder = self._codegen._module_pass_manager(loop_vectorize=False, slp_vectorize=False)
        passes.run(self._final_module, builder)

    def _below(self) -> Iterator[Any]:
        """Yield the libraries of all functions that the function calls, directly or through others."""
        open_libraries = list(self._linking_libraries)
        seen = set()
        while open_libraries:
            library = open_libraries.pop()
            if library in seen:
                continue
            seen.add(library)
            yield library
            if isinstance(library, _Part) and not library._finalized:
                open_libraries += library._linking_libraries


def _defined(module: Any) -> set[str]:
    return {function.name for function in module.functions if not function.is_declaration}


def _linkable(library: Any) -> Any:
    """Return a copy of a library's code that may be linked several times, and is kept even if not called."""
    module = (library._get_module_for_linking() if library._finalized else library._final_module).clone()
    for name in _defined(module):
        function = module.get_function(name)
        if function.linkage != Linkage.internal:  # LLVM may have changed an internal one's calling convention
            function.linkage = "weak_odr"
    return module
