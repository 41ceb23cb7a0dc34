"""The trace formats, and which of them a file is in."""

from __future__ import annotations

from pathlib import Path

from ssdgym.errors import SsdgymError
from ssdgym.workloads.traces.files import first_bytes, without_mark
from ssdgym.workloads.traces.formats.base import TraceFormat
from ssdgym.workloads.traces.formats.blkparse import BLKPARSE
from ssdgym.workloads.traces.formats.cloudphysics import CLOUDPHYSICS
from ssdgym.workloads.traces.formats.clouds import ALIBABA, TENCENT
from ssdgym.workloads.traces.formats.fio import FIO_V2, FIO_V3
from ssdgym.workloads.traces.formats.msr import MSR, MSR_NO_SIZE
from ssdgym.workloads.traces.formats.spc import SPC
from ssdgym.workloads.traces.formats.ssdsim import DISKSIM, SSDSIM
from ssdgym.workloads.traces.formats.systor17 import SYSTOR17
from ssdgym.workloads.traces.formats.vscsi import VSCSI

_SNIFFED_BYTES = 1 << 16

_FORMATS: tuple[TraceFormat, ...] = (
    ALIBABA,
    BLKPARSE,
    CLOUDPHYSICS,
    DISKSIM,
    FIO_V2,
    FIO_V3,
    MSR,
    MSR_NO_SIZE,
    SPC,
    SSDSIM,
    SYSTOR17,
    TENCENT,
    VSCSI,
)

#: Formats by name.
FORMATS: dict[str, TraceFormat] = {known.name: known for known in _FORMATS}
#: Other names for some of them.
ALIASES = {"mqsim": "ssdsim"}


def format_of(path: Path, name: str) -> TraceFormat:
    """Return the format called `name`, or, for ``auto``, the one that recognises the file.

    Raises:
        SsdgymError: the file is empty, cannot be read, or is not recognised.
    """
    return recognise(path) if name == "auto" else FORMATS[ALIASES.get(name, name)]


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
    fits = {known.name: known.matches(start if known is VSCSI else text) for known in _FORMATS}
    best = [name for name, lines in fits.items() if lines and lines == max(fits.values())]
    if len(best) > 1:
        raise SsdgymError(
            f"{path}: the first lines fit the formats {' and '.join(best)} equally well; name one as format."
        )
    if not best:
        raise SsdgymError(
            f"{path}: line 1 has {_columns(start)} and the file looks like none of the formats "
            f"{', '.join(FORMATS)}; convert it to one of them."
        )
    return FORMATS[best[0]]


def _columns(start: bytes) -> str:
    line = start.partition(b"\n")[0]
    if b"\0" in line or not line.isascii():
        return "binary data"
    number = line.count(b",") + 1 if b"," in line else len(line.split())
    return f"{number} column{'' if number == 1 else 's'}"
