"""Registry of the trace formats, and recognition of the format of a file.

Formats of installed packages are found by entry points of the group `ssdgym.trace_formats`, which name a
module that calls `register_format`.
"""

from __future__ import annotations

from pathlib import Path

from ssdgym.errors import SsdgymError
from ssdgym.workloads.registry import Registry, caller
from ssdgym.workloads.traces.files import first_bytes, without_mark
from ssdgym.workloads.traces.format import TraceFormat

#: The name under which the format of a file is recognised from its content.
AUTO = "auto"
_SNIFFED_BYTES = 1 << 16

_FORMATS: Registry[TraceFormat] = Registry("trace format", "ssdgym.trace_formats")
#: Other names of formats.
_ALIASES: dict[str, str] = {}


def register_format(known: TraceFormat, *, aliases: tuple[str, ...] = ()) -> None:
    """Make a trace format known by its name.

    Args:
        known: the format. Traces parsed in it are cached until the file that calls this function changes.
        aliases: other names for it.

    Raises:
        SsdgymError: a format registered by another module has the name.
    """
    _FORMATS.register(known.name, known, caller())
    _ALIASES.update(dict.fromkeys(aliases, known.name))


def formats() -> dict[str, TraceFormat]:
    """Return all formats by name."""
    return _FORMATS.by_name()


def format_names() -> list[str]:
    """Return every name that a format may be given by, `auto` first."""
    return [AUTO, *sorted([*formats(), *_ALIASES])]


def format_called(name: str) -> TraceFormat | None:
    """Return the format of that name or alias, if there is one."""
    return formats().get(_ALIASES.get(name, name))


def format_code_hashes(name: str) -> list[str]:
    """Return the hashes of the code outside of ssdgym that registered a format."""
    return _FORMATS.code_hashes(name)


def format_of(path: Path, name: str) -> TraceFormat:
    """Return the format called `name`, or, for `auto`, the one that recognises the file.

    Args:
        path: the file.
        name: one of `format_names`.

    Raises:
        SsdgymError: the file is empty, cannot be read, or is not recognised.
    """
    known = None if name == AUTO else format_called(name)
    return recognise(path) if known is None else known


def recognise(path: Path) -> TraceFormat:
    """Return the format that most of the first lines of a file fit.

    Raises:
        SsdgymError: the file is empty or cannot be read, fits no format, or several equally well.
    """
    start = first_bytes(path, _SNIFFED_BYTES)
    if not start:
        raise SsdgymError(f"{path}: the trace is empty; give a file with requests in it.")
    text = without_mark(start)
    if len(start) == _SNIFFED_BYTES:
        text = text[: text.rfind(b"\n") + 1]
    known = formats()
    fits = {name: one.matches(start if one.is_binary else text) for name, one in known.items()}
    best = [name for name, lines in fits.items() if lines and lines == max(fits.values())]
    if len(best) > 1:
        raise SsdgymError(
            f"{path}: the first lines fit the formats {' and '.join(best)} equally well; name one as format."
        )
    if not best:
        raise SsdgymError(
            f"{path}: line 1 has {_columns(start)} and the file looks like none of the formats "
            f"{', '.join(known)}; convert it to one of them."
        )
    return known[best[0]]


def _columns(start: bytes) -> str:
    line = start.partition(b"\n")[0]
    if b"\0" in line or not line.isascii():
        return "binary data"
    number = line.count(b",") + 1 if b"," in line else len(line.split())
    return f"{number} column{'' if number == 1 else 's'}"
