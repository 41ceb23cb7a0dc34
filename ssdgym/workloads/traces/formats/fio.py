"""I/O logs of fio, versions 2 and 3 (`write_iolog`).

The first line names the version. Then `file action` or `file action offset length`, in bytes; in
version 3 a time in us goes before. In version 2 time passes by the action wait, whose offset is a time in us;
fio takes no notice of less than 100 us. add, open and close are no requests; sync and datasync are flushes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, ClassVar

import numpy as np

from ssdgym.errors import SsdgymError
from ssdgym.requests import FLUSH, READ, TRIM, WRITE
from ssdgym.workloads.traces.delimited import behind_header
from ssdgym.workloads.traces.fields import BadLines, Malformed, VolumeNumbers, content, text_of, whole
from ssdgym.workloads.traces.files import line_blocks
from ssdgym.workloads.traces.lines import BLANK, DIGITS, Lines, RecordMaker, Row, named, read_lines
from ssdgym.workloads.traces.record import Records, Volumes
from ssdgym.workloads.traces.registry import register_format
from ssdgym.workloads.traces.writing import Limits, Values, texts_of, values, volume_texts

_OPS = {"read": READ, "write": WRITE, "trim": TRIM, "sync": FLUSH, "datasync": FLUSH}
_TEXTS = {READ: "read", WRITE: "write", TRIM: "trim", FLUSH: "sync"}
_FILE_ACTIONS = ("add", "open", "close")
_WAIT = "wait"
_LEAST_WAIT_US = 100


@dataclass(frozen=True)
class FioFormat:
    """One version of the log; see `TraceFormat`."""

    version: int
    is_binary: ClassVar[bool] = False
    unread: ClassVar[tuple[str, ...]] = ()
    constants: ClassVar[Mapping[str, str]] = {}

    @property
    def name(self) -> str:
        """See `TraceFormat`."""
        return f"fio_v{self.version}"

    @property
    def header(self) -> bytes:
        """The first line."""
        return b"fio version %d iolog" % self.version

    def matches(self, start: bytes) -> int:
        """See `TraceFormat`."""
        lines = [line for line in start.split(b"\n") if content(line)]
        if not lines or content(lines[0]).lower() != self.header:
            return 0
        return 1 + sum(map(self._fits, lines[1:]))

    def read(self, path: Path, bad: BadLines, volumes: VolumeNumbers) -> Iterator[Records]:
        """See `TraceFormat`."""
        maker = RecordMaker(self.name, 1, 1, bad, volumes)
        timed = rf"(?P<time>{DIGITS}){BLANK}" if self.version == 3 else ""
        # Only plain file names; others are looked at one by one.
        usual = (
            rf"^[ \t]*{timed}(?P<volume>[!-~]+){BLANK}(?P<op>read|write|trim){BLANK}(?P<offset>{DIGITS})"
            rf"{BLANK}(?P<size>{DIGITS})[ \t]*\r?$"
        )
        found, clock_us = False, 0
        for first_line, block in line_blocks(path):
            if not found:
                first_line, block, found = behind_header(path, self.name, self.header, first_line, block)
            lines = read_lines(first_line, block, usual, "^[ \t]*\r?$", self._by_hand, named(_OPS), 1000)
            if self.version == 2:
                lines, clock_us = _with_times(lines, clock_us)
            yield maker.records(lines)

    @property
    def tick_ns(self) -> int:
        """Nanoseconds between two times that can be written; version 2 has no shorter wait."""
        return 1000 if self.version == 3 else _LEAST_WAIT_US * 1000

    def write(self, file: IO[bytes], blocks: Iterable[Records], volumes: Volumes) -> None:
        """See `WritableFormat`."""
        names = np.array(volume_texts(volumes, "", numbers=False), object)
        limits = Limits(self.name, self.tick_ns, 1, 1, frozenset(_TEXTS), has_volumes=True)
        file.write(self._opening(names.tolist()))
        now, number = 0, 1
        for block in values(blocks, limits):
            lines = _written(block, names)
            if self.version == 3:
                lines = block.ticks.astype(str).astype(object) + " " + lines
            else:
                waits = np.diff(block.ticks, prepend=now) * _LEAST_WAIT_US
                if (waits < 0).any():
                    raise SsdgymError(
                        f"request {number + int(np.argmax(waits < 0))} comes earlier than the one before it, "
                        "and the format fio_v2 can only wait; choose another format."
                    )
                now = int(block.ticks[-1])
                passing = names[block.volume] + " wait " + waits.astype(str).astype(object) + " 0\n"
                lines = np.where(waits > 0, passing, "") + lines
            number += len(lines)
            file.write(("\n".join(lines) + "\n").encode())

    def _opening(self, names: list[str]) -> bytes:
        """Return the header, and the actions that fio needs for each file before it is used."""
        time = "0 " if self.version == 3 else ""
        actions = [f"{time}{name} {action}" for name in names for action in ("add", "open")]
        return "\n".join([self.header.decode(), *actions, ""]).encode()

    def _fits(self, line: bytes) -> bool:
        try:
            self._by_hand(line.removesuffix(b"\r"))
        except Malformed:
            return False
        return True

    def _by_hand(self, line: bytes) -> Row | None:
        fields = [field for field in line.replace(b"\t", b" ").split(b" ") if field]
        time = 0
        if self.version == 3:
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
        if numbers and (action in _OPS or (action == _WAIT and self.version == 2)):
            if action == _WAIT and numbers[0] < 0:
                raise Malformed(f"waits for {numbers[0]} us, which is negative")
            return Row(time, action, numbers[0], numbers[1], volume)
        raise Malformed(f"has {action!r:.42} as its action, which does not fit the rest of the line")


def _with_times(lines: Lines, clock_us: int) -> tuple[Lines, int]:
    """Let time pass by the waits, and leave them out."""
    actions, index = lines.op_text
    is_wait = np.array([action == _WAIT for action in actions], bool)[index]
    waits = np.where(is_wait & (lines.offset >= _LEAST_WAIT_US), lines.offset, 0)
    times = clock_us + np.cumsum(waits.astype(object))
    if len(times):
        clock_us = int(times[-1])
    kept = ~is_wait
    requests = replace(
        lines,
        number=lines.number[kept],
        time=times[kept],
        op=lines.op[kept],
        op_text=(actions, index[kept]),
        offset=lines.offset[kept],
        size=lines.size[kept],
        volume=(lines.volume[0], lines.volume[1][kept]),
    )
    return requests, clock_us


def _written(block: Values, names: np.ndarray) -> np.ndarray:
    """Return `file action offset length` of each request; fio needs the numbers of a flush, too."""
    ranges = " " + block.offset.astype(str).astype(object) + " " + block.size.astype(str).astype(object)
    return names[block.volume] + " " + texts_of(block.op, _TEXTS) + ranges


FIO_V2 = FioFormat(2)
FIO_V3 = FioFormat(3)

register_format(FIO_V2)
register_format(FIO_V3)
