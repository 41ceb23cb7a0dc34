"""The default text of blkparse (blktrace): events of requests.

An event line: major,minor device numbers, CPU, sequence number, time in s, process, action, RWBS flags, then
`sector + sectors` where there are any, and the process's name. Requests are the events of one action: issued
to the driver (D), queued (Q) or completed (C). What is requeued (R) and issued again counts once. All other
lines are passed over and counted: other events by action, operations without data by flags.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from ssdgym.types import BoolArray
from ssdgym.workloads.traces.reading.fields import mask, texts
from ssdgym.workloads.traces.reading.pattern import Patterned, kept
from ssdgym.workloads.traces.reading.text import Split, Splitter, TextFormat
from ssdgym.workloads.traces.registry import register_format

#: Which events are requests.
Events = Literal["issued", "queued", "completed"]
_ACTIONS = {"issued": "D", "queued": "Q", "completed": "C"}
_REQUEUE = "R"

_BLANK = r"[ \t]+"
_SECTORS = rf"{_BLANK}(?P<sector>[0-9]+){_BLANK}\+{_BLANK}(?P<sectors>[0-9]+)"
_ISSUED = rf"^(?P<flags>[A-Z]+)(?:{_SECTORS})?(?P<rest>(?:[ \t].*)?)$"


class _Splitter(Patterned):
    pattern = (
        rf"([0-9]+,[0-9]+){_BLANK}[0-9]+{_BLANK}[0-9]+{_BLANK}([0-9]+\.[0-9]+){_BLANK}[0-9]+{_BLANK}"
        rf"([A-Za-z]+)(?:{_BLANK}(.*))?"
    )
    passed = (
        rf"(?:CPU[0-9]+|Total){_BLANK}\(.*\):|(?:PC{_BLANK})?(?:Reads?|Writes?){_BLANK}[A-Za-z]+\.?:"
        rf"|(?:IO|Timer){_BLANK}unplugs:|Throughput{_BLANK}\(R/W\):|Events{_BLANK}\(.*\):|Skips:"
        r"|Input file .* added"
    )
    passed_as = "headings and summary"
    misfit = "is neither an event nor part of the summary"

    def __init__(self, events: Events) -> None:
        self._events = events
        #: Volume and sector of what waits to be issued again.
        self._requeued: set[tuple[str, str]] = set()

    def split(self, first_line: int, block: bytes) -> Split:
        """See `Patterned`; the columns are volume, time, flags, sector, sectors."""
        import pyarrow as pa
        import pyarrow.compute as pc

        split = super().split(first_line, block)
        actions, action = texts(split.columns[2], "action", {})
        wanted = _ACTIONS[self._events]
        passed = Counter(
            {
                f"events {actions[number]}": count
                for number, count in enumerate(np.bincount(action, minlength=len(actions)).tolist())
                if actions[number] != wanted
            }
        )
        is_action = np.array([text in (wanted, _REQUEUE) for text in actions], bool)[action]
        split = kept(split, is_action, {}, passed)
        is_requeue = mask(pc.equal(split.columns[2], _REQUEUE))
        found = pc.extract_regex(split.columns[3], _ISSUED)
        without_flags = np.flatnonzero(~mask(pc.is_valid(found)) & ~is_requeue).tolist()
        bad = dict.fromkeys(without_flags, f"is an {self._events} request without its RWBS flags")
        flags, sector, sectors, rest = (
            pc.fill_null(found.field(name), "") for name in ("flags", "sector", "sectors", "rest")
        )
        has_data = mask(pc.match_substring_regex(sectors, "[1-9]"))
        # An empty flush may carry the flags of a write.
        is_flush = mask(pc.starts_with(flags, "F")) & ~has_data
        flags = pc.if_else(pa.array(is_flush), "F", flags)
        lacks = mask(pc.equal(sectors, "")) & ~is_flush & ~mask(pc.match_substring(flags, "N")) & ~is_requeue
        is_command = lacks & mask(pc.match_substring_regex(rest, rf"^{_BLANK}[0-9]+{_BLANK}\("))
        for row in np.flatnonzero(lacks & ~is_command).tolist():
            bad.setdefault(row, f"is an {self._events} request without its sectors")
        rows = ~is_requeue & ~is_command
        if self._events == "issued" and (is_requeue.any() or self._requeued):
            rows[self._again(split.columns[0].to_pylist(), sector.to_pylist(), is_requeue)] = False
        zero = pa.array(mask(pc.equal(sectors, "")))
        columns = [*split.columns[:2], flags, *(pc.if_else(zero, "0", text) for text in (sector, sectors))]
        passed = Counter({"SCSI commands": int(is_command.sum())})
        return kept(split._replace(columns=columns), rows, bad, +passed)

    def _again(self, volumes: list[str], sectors: list[str], is_requeue: BoolArray) -> list[int]:
        """Return the rows that issue again what was requeued."""
        rows = []
        for row, request in enumerate(zip(volumes, sectors, strict=True)):
            if is_requeue[row]:
                self._requeued.add(request)
            elif request in self._requeued:
                self._requeued.discard(request)
                rows.append(row)
        return rows


@dataclass(frozen=True, kw_only=True)
class BlkparseFormat(TextFormat):
    """The text format; see `TraceFormat`.

    Attributes:
        events: which events are requests.
    """

    events: Events = "issued"

    @property
    def unread(self) -> tuple[str, ...]:
        """See `TraceFormat`."""
        return ("CPU", "sequence number", "process", f"events other than {self.events} requests")

    def matches(self, start: bytes) -> int:
        """See `TraceFormat`; events of any action count."""
        block = start if start.endswith(b"\n") else start + b"\n"
        return len(Patterned.split(_Splitter(self.events), 1, block).number)

    def splitter(self, start: bytes) -> Splitter:
        """See `TextFormat`."""
        return _Splitter(self.events)


#: The format by the events that are requests.
BLKPARSE = {
    events: BlkparseFormat(
        name="blkparse", text="volume time:s op:rwbs offset:sector size:sector", events=events
    )
    for events in get_args(Events)
}
register_format(
    BLKPARSE["issued"],
    meaning="default text of `blkparse`, in s and sectors: requests issued to the driver (action D)",
)
