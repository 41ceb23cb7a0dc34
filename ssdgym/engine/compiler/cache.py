"""Machine code kept on disk: once per machine for one version of the engine, whatever folder it runs from.

numba keys its cache on the path and the time of one source file, and does not notice when an imported kernel
has changed. Here a folder is named after the content of all engine sources, a sub-folder after the function's
module (outside the engine also after the content of its package and of `ssdgym.policy`), and a file after the
types that the function is compiled for. So all checkouts and virtual environments of a machine share one
cache, and processes that compile at the same time cannot mix up their files.
"""

import functools
import hashlib
import inspect
import pickle
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numba
from numba.core import config, sigutils
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps

from ssdgym.engine.compiler.linking import PLAIN_NUMBA, is_own
from ssdgym.errors import SsdgymError
from ssdgym.files import cache_folder, cache_is_writable, write_atomically
from ssdgym.garbage import uncollected

#: A line is printed for a compile that takes at least this number of seconds.
_LONG = 2.0

_started: dict[str, float] = {}


def say(text: str) -> None:
    """Print a sentence to the standard error stream."""
    print(text, file=sys.stderr, flush=True)


def begin(function: str) -> None:
    """Store when the compile of an entry begins; before the first compile of the process, print a line."""
    if not _started:
        say("ssdgym compiles its engine, once per machine and version: a minute or two")
    _started[function] = time.perf_counter()


def end(function: str) -> None:
    """Print how long an entry took to compile, if that was long."""
    seconds = time.perf_counter() - _started[function]
    if seconds >= _LONG:
        say(f"compiled {function.lstrip('_')} in {seconds:.0f} s")


ENGINE_FOLDER = Path(__file__).parents[1]
REQUEST_FORMAT = ENGINE_FOLDER.parent / "requests.py"
_CHECKSUM_BYTES = hashlib.sha256().digest_size


@functools.cache
def engine_hash() -> str:
    """Return the hash of every engine source and of numba's version: it names the compile cache."""
    digest = hashlib.sha256(numba.__version__.encode())
    # The constants of a request array are also compiled into the engine.
    digest.update(REQUEST_FORMAT.read_bytes())
    for source in sorted(ENGINE_FOLDER.rglob("*.py")):
        digest.update(source.relative_to(ENGINE_FOLDER).as_posix().encode())
        digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


def compile_cache_folder() -> Path:
    """Return the folder of this engine's machine code; plain numba and bounds checks have other folders."""
    checked = "-boundscheck" if config.BOUNDSCHECK else ""
    plain = "-plain" if PLAIN_NUMBA else ""
    return cache_folder() / "numba" / (engine_hash() + plain + checked)


def enable_cache(dispatcher: Any) -> None:
    """Cache the machine code of a function in the engine's cache folder, if it is writable.

    A function typed at a prompt has no file, so each process compiles it.
    """
    if Path(inspect.getfile(dispatcher.py_func)).is_file() and cache_is_writable(compile_cache_folder()):
        dispatcher._cache = _Cache(dispatcher.py_func)


class _Cache:
    """Machine code of one function: a file for each list of argument types; a checksum begins each file.

    The methods are those that numba's dispatcher calls. A file that cannot be written causes a warning.
    """

    def __init__(self, function: Any) -> None:
        source, self._function = Path(inspect.getfile(function)), function
        self._is_of_engine = source.is_relative_to(ENGINE_FOLDER)
        outside = "" if self._is_of_engine else f"-{_package_hash(source.parent)}"
        self._folder = compile_cache_folder() / f"{function.__module__}{outside}"
        self.cache_path = str(self._folder)

    def _key(self, signature: Any, codegen: Any) -> tuple:
        """Return the key of the code for a signature.

        The return type is no part of an engine function's key: the code is the same whether the type is
        declared (for calls by address) or inferred.
        """
        if self._is_of_engine:
            signature, _ = sigutils.normalize_signature(signature)
        cells = [_identity(cell.cell_contents) for cell in self._function.__closure__ or ()]
        content = self._function.__code__.co_code + repr(cells).encode()
        return signature, codegen.magic_tuple(), self._function.__qualname__, hashlib.sha256(content).digest()

    def _path(self, key: tuple) -> Path:
        digest = hashlib.sha256(str(key).encode()).hexdigest()[:16]
        return self._folder / f"{self._function.__name__}-{sys.implementation.cache_tag}-{digest}.nbc"

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """Return the cached code for a signature; `None` if there is none, or it is damaged."""
        key = self._key(signature, target_context.codegen())
        try:
            content = self._path(key).read_bytes()
        except FileNotFoundError:
            content = b""
        checksum, data = content[:_CHECKSUM_BYTES], content[_CHECKSUM_BYTES:]
        if checksum == hashlib.sha256(data).digest():
            with uncollected():
                known, compiled = pickle.loads(data)
                if known == key:
                    return CompileResult._rebuild(target_context, *compiled)
        if self._is_of_engine:
            begin(self._function.__name__)
        return None

    def save_overload(self, signature: Any, compiled: Any) -> None:
        """Cache the code for a signature, unless an argument's NamedTuple class is of another package.

        The cache would not notice a change of that class, and could not be read without the class's module.
        """
        if self._is_of_engine:
            end(self._function.__name__)
        arguments, _ = sigutils.normalize_signature(signature)
        classes = [argument.instance_class for argument in arguments if hasattr(argument, "instance_class")]
        if not all(map(is_own, classes)) or compiled.library.has_dynamic_globals:
            return
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            key = self._key(signature, compiled.codegen)
            data = dumps((key, compiled._reduce()))
            write_atomically(self._path(key), hashlib.sha256(data).digest() + data)
        except (OSError, SsdgymError) as error:
            warnings.warn(f"a compiled function cannot be kept: {error}", RuntimeWarning, stacklevel=2)


def _identity(held: Any) -> Any:
    """Return what identifies a value in a closure, equal in every process.

    A kernel is identified by its code, since numba's pickle of a kernel contains a random number.
    """
    plain = getattr(held, "py_func", held)
    if not inspect.isfunction(plain) or not is_own(plain):
        return dumps(held)
    cells = [_identity(cell.cell_contents) for cell in plain.__closure__ or ()]
    code, package = plain.__code__, _package_hash(Path(plain.__code__.co_filename).parent)
    return package, plain.__module__, plain.__qualname__, code.co_firstlineno, code.co_code, cells


@functools.cache
def _package_hash(folder: Path) -> str:
    """Return a hash of the sources of `ssdgym.policy` and of a folder's topmost package below `ssdgym`."""
    package = ENGINE_FOLDER.parent
    while (folder.parent / "__init__.py").is_file() and folder.parent != package:
        folder = folder.parent
    digest = hashlib.sha256()
    for top in (folder, package / "policy"):
        for source in sorted(top.rglob("*.py")):
            digest.update(source.read_bytes())
    return digest.hexdigest()[:8]
