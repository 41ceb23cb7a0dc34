"""The registry of trace formats."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import ClassVar

from ssdgym.errors import SsdgymError
from ssdgym.workloads.registry import Registry
from ssdgym.workloads.traces.files import first_bytes, without_marks
from ssdgym.workloads.traces.reading.columns import example, fields_of, written_lines
from ssdgym.workloads.traces.reading.fields import BadLines, VolumeNumbers
from ssdgym.workloads.traces.record import Records


class TraceFormat(ABC):
    """A file format that can be read.

    Attributes:
        name: name of the format in configurations.
        meaning: description of the files, for tables of formats.
        is_binary: whether the files are binary.
    """

    name: str
    meaning: str = ""
    is_binary: ClassVar[bool] = False

    @property
    @abstractmethod
    def unread(self) -> tuple[str, ...]:
        """Names of the values in the file that are not read."""

    @abstractmethod
    def matches(self, start: bytes) -> int:
        """Return how many lines (or binary records) at the start of a file fit; 0 if the format is another.

        `start` is the unpacked start of the file, of a text whole lines without byte order marks.
        """

    @abstractmethod
    def read(self, path: Path, bad: BadLines, volumes: VolumeNumbers) -> Iterator[Records]:
        """Yield the requests of a file in the order of the file, in blocks.

        Args:
            path: path of the file.
            bad: counter of bad lines, to which the method adds.
            volumes: numbers of the volumes, to which the method adds new volumes.

        Raises:
            SsdgymError: the file cannot be read, or has more bad lines than `bad` allows.
        """


#: The format name with which the format is recognised from the content of the file.
AUTO = "auto"
_SNIFFED_BYTES = 1 << 16

FORMATS: Registry[TraceFormat] = Registry("trace format", "ssdgym.trace_formats")


def register_format(known: TraceFormat) -> None:
    """Register a trace format under its name.

    Args:
        known: the format. If the source file that calls this function changes, traces are parsed again.

    Raises:
        SsdgymError: another module has registered a format of the same name.
    """
    FORMATS.register(known.name, known)


def formats() -> dict[str, TraceFormat]:
    """Return all formats by name."""
    return FORMATS.by_name()


def format_of(path: Path, name: str) -> TraceFormat:
    """Return the format called `name`; for `auto`, the format that `recognise` finds."""
    return recognise(path) if name == AUTO else formats()[name]


def recognise(path: Path) -> TraceFormat:
    """Return the format that most of the first lines of a file fit; raise if none or several do."""
    start = first_bytes(path, _SNIFFED_BYTES)
    if not start:
        raise SsdgymError(f"{path}: the trace is empty; give a file with requests in it.")
    text = without_marks(start)
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
        raise _unknown(path, text or start, known)
    return known[best[0]]


def _unknown(path: Path, text: bytes, known: Mapping[str, TraceFormat]) -> SsdgymError:
    """Return the error for a file of unknown format, with an example of columns."""
    first, *rest = [*islice(written_lines(text), 2)] or [""]
    if "\0" in first or not first.isprintable() or "\ufffd" in first:
        found, advice = "binary data", "convert it to one of them"
    else:
        count = len(fields_of(first))
        found = f"{count} column{'' if count == 1 else 's'}"
        advice = "name one, or the columns of the file"
        if count > 1:
            columns = example(first, *rest)[:300]
            advice += f", for example --columns {columns!r} (in YAML and Python: columns) with its own units"
    names = ", ".join(known)
    return SsdgymError(
        f"{path}: the first line has {found} and the file looks like none of the formats {names}; {advice}."
    )
