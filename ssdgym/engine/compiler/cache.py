"""Machine code kept on disk: once per machine for one version of the engine, whatever folder it runs from.

numba keys its cache on the path and the time of one source file, and does not notice when an imported kernel
has changed. Here the folder is named after the content of all engine sources, the sub-folder after the
sources beside the function, and the file after the types it is compiled for. So every checkout and virtual
environment of a machine shares one cache, processes that compile at once cannot mix up their files, and a
damaged file is compiled again.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import pickle
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
from numba.core import config, sigutils
from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator, dumps

from ssdgym.engine.compiler.linking import PLAIN_NUMBA
from ssdgym.errors import SsdgymError
from ssdgym.files import cache_folder, cache_is_writable, write_bytes
from ssdgym.garbage import uncollected

#: Seconds from which on a compile is worth a line.
_LONG = 2.0


def _print_note(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


#: Called with each sentence; `None` for silence.
say: Callable[[str], None] | None = _print_note

_started: dict[str, float] = {}


def begin(function: str) -> None:
    """Note that the compile of an entry begins, and say so before the first one of the process."""
    if say is not None and not _started:
        say("ssdgym compiles its engine, once per machine and version: a minute or two")
    _started[function] = time.perf_counter()


def end(function: str) -> None:
    """Say how long the compile of an entry took, if that was long."""
    seconds = time.perf_counter() - _started[function]
    if say is not None and seconds >= _LONG:
        say(f"compiled {function.lstrip('_')} in {seconds:.0f} s")


ENGINE_FOLDER = Path(__file__).parents[1]
REQUEST_FORMAT = ENGINE_FOLDER.parent / "requests.py"
_CHECKSUM_BYTES = hashlib.sha256().digest_size


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
    """Return the folder of this engine's machine code; other ways to compile have folders of their own."""
    checked = "-boundscheck" if config.BOUNDSCHECK else ""
    plain = "-plain" if PLAIN_NUMBA else ""
    return cache_folder() / "numba" / (engine_hash() + plain + checked)


def enable_cache(dispatcher: Any) -> None:
    """Keep what a function is compiled to in the engine's cache folder, if that can be written.

    One typed at a prompt has no file: it is compiled in each process.
    """
    if Path(inspect.getfile(dispatcher.py_func)).is_file() and cache_is_writable(compile_cache_folder()):
        dispatcher._cache = _Cache(dispatcher.py_func)


class _Locator(_CacheLocator):
    """Place a function's code in a folder named after its module and the content of the sources beside it."""

    def __init__(self, function: Any, file: str) -> None:
        folder = Path(file).parent
        self._folder = compile_cache_folder() / f"{function.__module__}-{_folder_hash(folder)}"

    @classmethod
    def from_function(cls, function: Any, file: str) -> _Locator:
        return cls(function, file)

    def get_cache_path(self) -> str:
        return str(self._folder)

    def get_source_stamp(self) -> str:
        return ""

    def get_disambiguator(self) -> str:
        return ""


class _Implementation(CompileResultCacheImpl):
    _locator_classes = [_Locator]


class _Cache(FunctionCache):
    """Let a full disk cost a compile the next time, and not the run; keep nothing of a user's FTL family."""

    _impl_class = _Implementation

    def __init__(self, function: Any) -> None:
        super().__init__(function)
        self._cache_file = _Files(Path(self.cache_path), self._impl.filename_base)
        self._is_of_engine = Path(inspect.getfile(function)).is_relative_to(ENGINE_FOLDER)

    def _index_key(self, signature: Any, codegen: Any) -> Any:
        """Return the key of the code for a signature.

        That of the engine is the same whether what it returns is said, as where it is passed by address, or
        found by numba: a process has one version for both, too.
        """
        if self._is_of_engine:
            signature, _ = sigutils.normalize_signature(signature)
        return super()._index_key(signature, codegen)

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        # Without `target_context.refresh`, half of a warm start: what compiles refreshes by itself.
        with self._guard_against_spurious_io_errors(), uncollected():
            kept = self._load_overload(signature, target_context)
        if kept is None and self._is_of_engine:
            begin(self._py_func.__name__)
        return kept

    def save_overload(self, signature: Any, compiled: Any) -> None:
        if self._is_of_engine:
            end(self._py_func.__name__)
        if not _is_own(signature):
            return
        try:
            super().save_overload(signature, compiled)
        except (OSError, SsdgymError) as error:
            warnings.warn(f"a compiled function cannot be kept: {error}", RuntimeWarning, stacklevel=2)


class _Files:
    """Machine code of one function: a file for each list of argument types, after its own checksum."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self._name = name

    def load(self, key: tuple) -> Any:
        """Return what is kept for the key; `None` where there is nothing, or nothing that is whole."""
        try:
            content = self._path(key).read_bytes()
        except FileNotFoundError:
            return None
        checksum, data = content[:_CHECKSUM_BYTES], content[_CHECKSUM_BYTES:]
        if checksum != hashlib.sha256(data).digest():
            return None
        known, compiled = pickle.loads(data)
        return compiled if known == key else None

    def save(self, key: tuple, compiled: Any) -> None:
        data = dumps((key, compiled))
        write_bytes(self._path(key), hashlib.sha256(data).digest() + data)

    def _path(self, key: tuple) -> Path:
        return self._folder / f"{self._name}{hashlib.sha256(str(key).encode()).hexdigest()[:16]}.nbc"


@functools.cache
def _folder_hash(folder: Path) -> str:
    digest = hashlib.sha256()
    for source in sorted(folder.glob("*.py")):
        digest.update(source.read_bytes())
    return digest.hexdigest()[:8]


def _is_own(signature: Any) -> bool:
    """Return whether all classes in a signature are of ssdgym.

    Code for another class is not cached: a change in what it calls would not be noticed, and the cache could
    not be read where its module is missing.
    """
    arguments, _ = sigutils.normalize_signature(signature)
    classes = [argument.instance_class for argument in arguments if hasattr(argument, "instance_class")]
    package = __name__.partition(".")[0]
    return all(known.__module__.partition(".")[0] == package for known in classes)
