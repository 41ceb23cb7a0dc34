"""I/O logs of fio, versions 2 and 3 (`write_iolog`).

The first line names the version. Then `file action` or `file action offset length`, in bytes; in
version 3 a time in us goes before. In version 2 time passes by the action wait, whose offset is a time in us
since the wait before; fio takes no notice of less than 100 us. add, open and close are no requests, nor is
the wait of version 3, whose lines have times; sync and datasync are flushes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

import numpy as np

from ssdgym.errors import SsdgymError
from ssdgym.requests import FLUSH, READ, TRIM, WRITE
from ssdgym.types import IntArray
from ssdgym.workloads.traces.reading.fields import Problems, mask, shown, texts, whole_numbers
from ssdgym.workloads.traces.reading.pattern import Patterned, kept
from ssdgym.workloads.traces.reading.text import Split, Splitter, TextFormat
from ssdgym.workloads.traces.record import Records, Volumes
from ssdgym.workloads.traces.registry import register_format
from ssdgym.workloads.traces.writing import Values, texts_of, values, volume_texts

if TYPE_CHECKING:
    import pyarrow as pa

_TEXTS = {READ: "read", WRITE: "write", TRIM: "trim", FLUSH: "sync"}
_OPS = "read=read,write=write,trim=trim,sync=flush,datasync=flush"
_FILE_ACTIONS = ("add", "open", "close")
_FLUSHES = ("sync", "datasync")
_WAIT = "wait"
_LEAST_WAIT_US = 100
_BLANK = r"[ \t]+"
_ACTION = rf"([^ \t]+){_BLANK}([^ \t]+)(?:{_BLANK}([^ \t]+){_BLANK}([^ \t]+))?"


class _Splitter(Patterned):
    passed = "fio version [23] iolog"
    misfit = "is no action on a file: file, action, and perhaps offset and length"

    def __init__(self, has_times: bool) -> None:
        self._has_times = has_times
        self._clock_us = 0
        self.pattern = rf"([^ \t]+){_BLANK}{_ACTION}" if has_times else _ACTION

    def split(self, first_line: int, block: bytes) -> Split:
        """See `Patterned`; the columns are time, file, action, offset, length."""
        import pyarrow as pa
        import pyarrow.compute as pc

        split = super().split(first_line, block)
        action, offset, size = split.columns[-3:]
        actions, index = texts(action, "action", {})
        has_numbers = mask(pc.not_equal(offset, ""))

        def among(*names: str) -> np.ndarray:
            return np.array([text in names for text in actions], bool)[index]

        is_flush, is_wait, is_access = among(*_FLUSHES), among(_WAIT), among("read", "write", "trim")
        is_passed = among(*_FILE_ACTIONS) & ~has_numbers
        fits = is_passed | is_flush | ((is_wait | is_access) & has_numbers)
        bad = {
            row: f"has {shown(actions[index[row]])} as its action, which does not fit the rest of the line"
            for row in np.flatnonzero(~fits).tolist()
        }
        # A flush may have no numbers.
        none = pa.array(~has_numbers)
        offset, size = pc.if_else(none, "0", offset), pc.if_else(none, "0", size)
        columns = [*split.columns[:-2], offset, size]
        if not self._has_times:
            columns = [self._times(is_wait & has_numbers, offset, size, bad), *columns]
        passed = Counter({actions[n]: int(c) for n, c in enumerate(np.bincount(index[is_passed | is_wait]))})
        return kept(split._replace(columns=columns), fits & ~is_passed & ~is_wait, bad, +passed)

    def _times(self, is_wait: np.ndarray, offset: pa.Array, size: pa.Array, bad: Problems) -> pa.Array:
        """Return the time of each row in us as texts, by the waits before it."""
        import pyarrow as pa

        rows = np.flatnonzero(is_wait)
        problems: Problems = {}
        waits = whole_numbers(offset.filter(pa.array(is_wait)), "offset", problems).copy()
        whole_numbers(size.filter(pa.array(is_wait)), "length", problems)
        for row in np.flatnonzero(waits < 0).tolist():
            problems.setdefault(row, f"waits for {waits[row]} us, which is negative")
        bad.update({int(rows[row]): reason for row, reason in problems.items()})
        waits[[*problems]] = 0
        passing = np.zeros(len(is_wait), object)
        passing[rows] = np.where(waits >= _LEAST_WAIT_US, waits, 0).astype(object)
        clock = self._clock_us + np.cumsum(passing)
        self._clock_us = int(clock[-1]) if len(clock) else self._clock_us
        return pa.array(clock.astype(str).tolist(), pa.string())


@dataclass(frozen=True, kw_only=True)
class FioFormat(TextFormat):
    """Both versions; see `TraceFormat`."""

    has_times: bool = True
    #: In place of the clock of version 2: there is no shorter wait.
    ticks_ns: int = 1000

    def splitter(self, start: bytes) -> Splitter:
        """See `TextFormat`."""
        return _Splitter(self.has_times)

    @property
    def tick_ns(self) -> int:
        """See `WritableFormat`."""
        return self.ticks_ns

    def write(self, file: IO[bytes], blocks: Iterable[Records], volumes: Volumes) -> None:
        """See `WritableFormat`; begins with the actions that fio needs for each file before it is used."""
        names = np.array(volume_texts(volumes, "", numbers=False), object)
        time = "0 " if self.has_times else ""
        actions = [f"{time}{name} {action}" for name in names for action in ("add", "open")]
        file.write("\n".join([str(self.header), *actions, ""]).encode())
        now, number = 0, 1
        for block in values(blocks, self):
            # fio needs the numbers of a flush, too.
            ranges = " " + _texts(block.offset) + " " + _texts(block.size)
            lines = names[block.volume] + " " + texts_of(block.op, _TEXTS) + ranges
            timed = (
                _texts(block.ticks) + " " + lines
                if self.has_times
                else _waited(lines, block, names, now, number)
            )
            file.write(("\n".join(timed) + "\n").encode())
            now, number = int(block.ticks[-1]), number + len(lines)


def _waited(lines: np.ndarray, block: Values, names: np.ndarray, now: int, number: int) -> np.ndarray:
    """Return lines with waits before them, from request `number` on; `now` is the time before them."""
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
    FioFormat(
        name="fio_v2",
        text=f"time:us file op:{_OPS} offset:B size:B",
        header="fio version 2 iolog",
        op_texts=_TEXTS,
        has_times=False,
        ticks_ns=_LEAST_WAIT_US * 1000,
    ),
    meaning=f"{_LOG}; the time stands as `wait`, of which less than {_LEAST_WAIT_US} us do not count",
)
register_format(
    FioFormat(
        name="fio_v3",
        text=f"time:us file op:{_OPS} offset:B size:B",
        header="fio version 3 iolog",
        op_texts=_TEXTS,
    ),
    meaning=_LOG,
)
