"""Find the cache folder, write files in one step, and check that folders are writable."""

from __future__ import annotations

import functools
import hashlib
import os
import stat
import tempfile
import warnings
import zipfile
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO

from ssdgym.errors import SsdgymError

#: Exceptions that Python may raise for a zip file that is damaged or of a kind that Python cannot read.
DAMAGED_ZIP = (zipfile.BadZipFile, zlib.error, RuntimeError, EOFError, ValueError, KeyError, OSError)


def cache_folder() -> Path:
    """Return the cache folder: `SSDGYM_CACHE_DIR`, or `ssdgym` in `XDG_CACHE_HOME` or in `~/.cache`.

    For a user without a home folder, return `ssdgym-UID` in the folder of temporary files, with a warning.

    Raises:
        SsdgymError: the user has no home folder, and somebody else can write to `ssdgym-UID`.
    """
    if chosen := os.environ.get("SSDGYM_CACHE_DIR"):
        return Path(chosen)
    if desktop := os.environ.get("XDG_CACHE_HOME"):
        return Path(desktop) / "ssdgym"
    try:
        return Path.home() / ".cache" / "ssdgym"
    except RuntimeError:  # neither HOME nor an entry in the list of users
        return _homeless_cache()


@functools.cache
def _homeless_cache() -> Path:
    """Return a temporary cache folder that only this user can write to, since code in it is executed."""
    folder = Path(tempfile.gettempdir()) / f"ssdgym-{os.getuid()}"
    with suppress(OSError):
        folder.mkdir(mode=0o700, exist_ok=True)
        status = folder.lstat()
        if stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid() and not status.st_mode & 0o022:
            warnings.warn(
                f"there is no home folder: compiled code and parsed traces are kept in {folder}; set "
                "SSDGYM_CACHE_DIR to a folder that lasts",
                RuntimeWarning,
                stacklevel=3,
            )
            return folder
    raise SsdgymError(
        f"there is no home folder, and {folder} is not this user's alone: set SSDGYM_CACHE_DIR to a folder "
        "that can be written"
    )


def cache_is_writable(folder: Path) -> bool:
    """Make a folder of the cache; return whether files can be written into it. If not, warn once."""
    is_writable = _was_writable(folder)
    if is_writable:
        folder.mkdir(parents=True, exist_ok=True)  # it may have been removed since the check
    return is_writable


@functools.cache
def _was_writable(folder: Path) -> bool:
    try:
        _try_to_write(folder)
    except OSError as error:
        warnings.warn(
            f"{folder}: cannot be written to ({error.strerror or error}); compiled code and parsed traces "
            "are made anew in every process, which takes a minute or two; set SSDGYM_CACHE_DIR to a folder "
            "that can be written",
            RuntimeWarning,
            stacklevel=3,
        )
        return False
    return True


def write_atomically(path: Path, content: bytes | Callable[[IO[bytes]], object]) -> None:
    """Write `content` (bytes, or a function that writes them) to a new file, then rename the file to `path`.

    If writing is interrupted, an existing file at `path` stays as it was.

    Raises:
        SsdgymError: the file cannot be written.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        with temporary.open("wb") as file:
            file.write(content) if isinstance(content, bytes) else content(file)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        raise SsdgymError(
            f"{path}: cannot be written ({error.strerror or error}); choose another place or free some space"
        ) from error
    finally:
        with suppress(OSError):  # the error of the writing is the one to report
            temporary.unlink(missing_ok=True)


def refuse_special(path: Path) -> None:
    """Refuse the path of a pipe or a device, because reading may never end.

    Raises:
        SsdgymError: the path exists and is neither a file nor a folder.
    """
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise SsdgymError(f"{path}: this is no file but a pipe or a device; give the path of a file.")


def file_hash(path: Path) -> str:
    """Return the SHA-256 of a file's content, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def writable_folder(folder: Path) -> Path:
    """Make `folder` with its parents, check that a file can be written into it, and return it.

    Raises:
        SsdgymError: the folder cannot be made or written to.
    """
    try:
        _try_to_write(folder)
    except OSError as error:
        raise SsdgymError(
            f"{folder}: cannot be written to ({error.strerror or error}); choose another output folder"
        ) from error
    return folder


def _try_to_write(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=folder):
        pass
