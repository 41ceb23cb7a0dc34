"""I/O logs of fio, versions 2 and 3 (`write_iolog`).

The first line names the version. Then `file action` or `file action offset length`, in bytes; in
version 3 a time in us goes before. In version 2 time passes by the action wait, whose offset is a time in us;
fio takes no notice of less than 100 us. add, open and close are no requests; sync and datasync are flushes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import IO, ClassVar

import numpy as np

from ssdgym.errors import SsdgymError
from ssdgym.requests import FLUSH, READ, TRIM, WRITE
from ssdgym.types import IntArray
from ssdgym.workloads.traces.fields import Malformed, text_of, whole
from ssdgym.workloads.traces.lines import BLANK, DIGITS, UNKNOWN_OP, LineFormat, Lines, Row
from ssdgym.workloads.traces.record import Records, Volumes
from ssdgym.workloads.traces.registry import register_format
from ssdgym.workloads.traces.writing import Values, texts_of, values, volume_texts

_OPS = {"read": READ, "write": WRITE, "trim": TRIM, "sync": FLUSH, "datasync": FLUSH}
_TEXTS = {READ: "read", WRITE: "write", TRIM: "trim", FLUSH: "sync"}
_FILE_ACTIONS = ("add", "open", "close")
_WAIT = "wait"
_LEAST_WAIT_US = 100
#: Of a file with a plain name; others are parsed one by one.
_ACTION = (
    rf"(?P<volume>[!-~]+){BLANK}(?P<op>read|write|trim){BLANK}(?P<offset>{DIGITS}){BLANK}(?P<size>{DIGITS})"
    r"[ \t]*\r?$"
)


class FioV3(LineFormat):
    """Version 3; see `TraceFormat`."""

    name = "fio_v3"
    header = b"fio version 3 iolog"
    unread = ()
    constants: ClassVar[Mapping[str, str]] = {}
    offset_unit = size_unit = 1
    tick_ns = 1000
    ops = tuple(_TEXTS)
    has_volumes = True
    has_times: ClassVar[bool] = True
    usual = rf"^[ \t]*(?P<time>{DIGITS}){BLANK}{_ACTION}"

    def op(self, text: str) -> int:
        """See `LineFormat`."""
        return _OPS.get(text, UNKNOWN_OP)

    def row(self, line: bytes) -> Row | None:
        """See `LineFormat`."""
        fields = [field for field in line.replace(b"\t", b" ").split(b" ") if field]
        time = 0
        if self.has_times:
            time = whole(fields[0], "time")
            fields = fields[1:]
        if len(fields) not in (2, 4):
            raise Malformed("is no action on a file: file, action, and perhaps offset and length")
        volume, action = text_of(fields[0], "file"), text_of(fields[1], "action")
        numbers = [whole(field, name) for field, name in zip(fields[2:], ("offset", "length"), strict=False)]
        if action in _FILE_ACTIONS and not numbers:
            return None
        if _OPS.get(action) == FLUSH:
            return Row(time, action, 0, 0, volume)
        if numbers and (action in _OPS or (action == _WAIT and not self.has_times)):
            if action == _WAIT and numbers[0] < 0:
                raise Malformed(f"waits for {numbers[0]} us, which is negative")
            return Row(time, action, numbers[0], numbers[1], volume)
        raise Malformed(f"has {action!r:.42} as its action, which does not fit the rest of the line")

    def write(self, file: IO[bytes], blocks: Iterable[Records], volumes: Volumes) -> None:
        """See `WritableFormat`; begins with the actions that fio needs for each file before it is used."""
        names = np.array(volume_texts(volumes, "", numbers=False), object)
        time = "0 " if self.has_times else ""
        actions = [f"{time}{name} {action}" for name in names for action in ("add", "open")]
        file.write("\n".join([self.header.decode(), *actions, ""]).encode())
        now, number = 0, 1
        for block in values(blocks, self):
            # fio needs the numbers of a flush, too.
            ranges = " " + _texts(block.offset) + " " + _texts(block.size)
            lines = names[block.volume] + " " + texts_of(block.op, _TEXTS) + ranges
            file.write(("\n".join(self._timed(lines, block, names, now, number)) + "\n").encode())
            now, number = int(block.ticks[-1]), number + len(lines)

    def _timed(
        self, lines: np.ndarray, block: Values, names: np.ndarray, now: int, number: int
    ) -> np.ndarray:
        """Return the lines of requests from `number` on with their times; `now` is the time before them."""
        return _texts(block.ticks) + " " + lines


class FioV2(FioV3):
    """Version 2, in which time passes by waiting; see `TraceFormat`."""

    name = "fio_v2"
    header = b"fio version 2 iolog"
    #: There is no shorter wait.
    tick_ns = _LEAST_WAIT_US * 1000
    has_times = False
    usual = rf"^[ \t]*{_ACTION}"

    def lines(self, path: Path) -> Iterator[Lines]:
        """See `LineFormat`; waits are left out."""
        clock_us = 0
        for lines in super().lines(path):
            actions, index = lines.op_text
            is_wait = np.array([action == _WAIT for action in actions], bool)[index]
            waits = np.where(is_wait & (lines.offset >= _LEAST_WAIT_US), lines.offset, 0)
            times = clock_us + np.cumsum(waits.astype(object))
            clock_us = int(times[-1]) if len(times) else clock_us
            kept = ~is_wait
            yield replace(
                lines,
                number=lines.number[kept],
                time=times[kept],
                tick_ns=1000,
                op=lines.op[kept],
                op_text=(actions, index[kept]),
                offset=lines.offset[kept],
                size=lines.size[kept],
                volume=(lines.volume[0], lines.volume[1][kept]),
            )

    def _timed(
        self, lines: np.ndarray, block: Values, names: np.ndarray, now: int, number: int
    ) -> np.ndarray:
        waits = np.diff(block.ticks, prepend=now) * _LEAST_WAIT_US
        if (waits < 0).any():
            raise SsdgymError(
                f"request {number + int(np.argmax(waits < 0))} comes earlier than the one before it, "
                "and the format fio_v2 can only wait; choose another format."
            )
        passing = names[block.volume] + " wait " + _texts(waits) + " 0\n"
        return np.where(waits > 0, passing, "") + lines


def _texts(numbers: IntArray) -> np.ndarray:
    return numbers.astype(str).astype(object)


_LOG = "`fio` I/O log in us and bytes: reads, writes, trims, syncs; volumes are files"
register_format(
    FioV2(), meaning=f"{_LOG}; the time stands as `wait`, of which less than {_LEAST_WAIT_US} us do not count"
)
register_format(FioV3(), meaning=_LOG)
