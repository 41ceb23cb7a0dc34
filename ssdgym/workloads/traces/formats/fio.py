"""I/O logs of fio, versions 2 and 3 (`write_iolog`).

The first line names the version. All other lines are `file action` or `file action offset length`, with
offset and length in bytes; in version 3 a time in us precedes them. In version 2, times follow from the lines
with the action wait: their offset is the time in us since the previous wait, and waits below 100 us count as
0, as in fio. The actions sync and datasync are flushes. The actions add, open and close are ignored, and in
version 3 also wait.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

from ssdgym.requests import FLUSH, READ, TRIM, WRITE
from ssdgym.workloads.traces.reading.fields import shown, whole_number
from ssdgym.workloads.traces.reading.splitting import BLANKS, Splitter
from ssdgym.workloads.traces.reading.text import TextFormat
from ssdgym.workloads.traces.registry import register_format

_OPS = "read=read,write=write,trim=trim,sync=flush,datasync=flush"
_FILE_ACTIONS = ("add", "open", "close")
_FLUSHES = ("sync", "datasync")
_WAIT = "wait"
_LEAST_WAIT_US = 100
_USUAL = "[ \t]+".join(
    ["^[ \t]*(?P<time>[^ \t]+)", "(?P<file>[^ \t]+)", "(?P<op>read|write|trim|sync|datasync)"]
    + ["(?P<offset>[^ \t]+)", "(?P<size>[^ \t]+)[ \t]*$"]
)


class _Splitter(Splitter):
    columns = 5

    def __init__(self, has_times: bool) -> None:
        self._has_times = has_times
        # In version 2 the time of a line depends on earlier lines, so lines are split one by one.
        self.usual = _USUAL if has_times else None
        self._clock_us = 0

    def row(self, line: str) -> Sequence[str] | str:
        """See `Splitter`; the columns are time, file, action, offset, length."""
        if re.match("\r*fio version [23] iolog", line):
            return "heading"
        words = re.split("[ \t]+", line)
        time = words.pop(0) if self._has_times else str(self._clock_us)
        if len(words) not in (2, 4):
            raise ValueError("is no action on a file: file, action, and perhaps offset and length")
        action, numbers = words[1], words[2:]
        if action in _FILE_ACTIONS and not numbers:
            return action
        if action not in _FLUSHES and not (numbers and action in (_WAIT, "read", "write", "trim")):
            raise ValueError(f"has {shown(action)} as its action, which does not fit the rest of the line")
        if action == _WAIT:
            if not self._has_times:
                self._wait(*numbers)
            return _WAIT
        # A flush may have no numbers.
        return [time, words[0], action, *(numbers or ("0", "0"))]

    def _wait(self, offset: str, length: str) -> None:
        wait_us = whole_number(offset, "offset")
        whole_number(length, "length")
        if wait_us < 0:
            raise ValueError(f"waits for {wait_us} us, which is negative")
        self._clock_us += wait_us if wait_us >= _LEAST_WAIT_US else 0


_TEXT = f"time:us file op:{_OPS} offset:B size:B"
_LOG = "`fio` I/O log in us and bytes: reads, writes, trims, syncs; volumes are files"
register_format(
    TextFormat(
        name="fio_v2",
        text=_TEXT,
        meaning=f"{_LOG}; times are in `wait` lines, and waits below {_LEAST_WAIT_US} us do not count",
        header="fio version 2 iolog",
        splits=partial(_Splitter, has_times=False),
    )
)
register_format(
    TextFormat(
        name="fio_v3",
        text=_TEXT,
        meaning=_LOG,
        header="fio version 3 iolog",
        splits=partial(_Splitter, has_times=True),
        separator=BLANKS,
        op_texts={READ: "read", WRITE: "write", TRIM: "trim", FLUSH: "sync"},
        # fio needs these actions for a file before it uses it.
        opening=("0 {} add", "0 {} open"),
        numbered_volumes=False,
    )
)
