"""The default text output of blkparse (blktrace): events of requests.

The line of an event has the device as `major,minor`, CPU, sequence number, time in s, process, action, RWBS
flags, `sector + sectors` if the event has any, and the name of the process. Only events of one action are
read as requests: issued to the driver (D), queued (Q) or completed (C). A request that is requeued (R) and
issued again counts once. Other events are ignored and counted by their action, operations without data by
their flags.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from string import ascii_letters
from typing import TYPE_CHECKING, Literal, get_args

from ssdgym.workloads.traces.reading.splitting import Splitter
from ssdgym.workloads.traces.reading.text import TextFormat
from ssdgym.workloads.traces.registry import register_format

if TYPE_CHECKING:
    import pyarrow as pa

#: Which events are read as requests.
Events = Literal["issued", "queued", "completed"]
_ACTIONS = {"issued": "D", "queued": "Q", "completed": "C"}
_REQUEUE = "R"

_B = "[ \t]+"
_EVENT = re.compile(
    rf"([0-9]+,[0-9]+){_B}[0-9]+{_B}[0-9]+{_B}([0-9]+\.[0-9]+){_B}[0-9]+{_B}([A-Za-z]+)(?:{_B}(.*))?"
)
_SUMMARY = re.compile(
    rf"(?:CPU[0-9]+|Total){_B}\(.*\):|(?:PC{_B})?(?:Reads?|Writes?){_B}[A-Za-z]+\.?:|(?:IO|Timer){_B}unplugs:"
    rf"|Throughput{_B}\(R/W\):|Events{_B}\(.*\):|Skips:|Input file .* added"
)
_REQUEST = re.compile(rf"([A-Z]+)(?:{_B}([0-9]+){_B}\+{_B}([0-9]+))?((?:[ \t].*)?)")
_COMMAND = re.compile(rf"{_B}[0-9]+{_B}\(")
_REQUEUED = r"[0-9][ \t]+R(?:[ \t]|$)"
#: Pattern of a line with a request of the action %s (the first one), or with an action among the second %s.
_USUAL = (
    rf"^[ \t]*(?P<volume>[0-9]+,[0-9]+){_B}[0-9]+{_B}[0-9]+{_B}(?P<time>[0-9]+\.[0-9]+){_B}[0-9]+{_B}"
    rf"(?:%s{_B}(?P<op>[A-EG-Z][A-Z]*){_B}(?P<offset>[0-9]+){_B}\+{_B}(?P<size>[0-9]+)"
    r"|(?P<passed>[%s]|[A-Za-z]{2,}))(?:[ \t].*)?$"
)


class _Splitter(Splitter):
    columns = 5
    passed = "events {}"

    def __init__(self, events: Events) -> None:
        self._events = events
        action = _ACTIONS[events]
        self.usual = _USUAL % (action, ascii_letters.replace(action, ""))
        #: (Volume, sector) of each request that has been requeued and not issued again yet.
        self._requeued: set[tuple[str, str]] = set()

    def found(self, lines: pa.Array) -> pa.StructArray | None:
        """See `Splitter`; None if requests are requeued, because later lines then depend on earlier lines."""
        import pyarrow.compute as pc

        if self._requeued or pc.any(pc.match_substring_regex(lines, _REQUEUED)).as_py():
            return None
        return super().found(lines)

    def row(self, line: str) -> Sequence[str] | str:
        """See `Splitter`; the columns are volume, time, flags, sector, sectors."""
        if _SUMMARY.match(line):
            return "headings and summary"
        event = _EVENT.fullmatch(line)
        if event is None:
            raise ValueError("is neither an event nor part of the summary")
        volume, time, action, what = event.groups("")
        request = _REQUEST.fullmatch(what)
        flags, sector, sectors, rest = request.groups("") if request else ("", "", "", "")
        if action == _REQUEUE and self._events == "issued":
            self._requeued.add((volume, sector))
        if action != _ACTIONS[self._events]:
            return f"events {action}"
        if (volume, sector) in self._requeued:
            self._requeued.discard((volume, sector))
            return "issued again"
        if not flags:
            raise ValueError(f"is an {self._events} request without its RWBS flags")
        if flags.startswith("F") and not sectors.strip("0"):
            flags = "F"  # an empty flush may carry the flags of a write
        elif not sectors and "N" not in flags:
            if _COMMAND.match(rest):
                return "SCSI commands"
            raise ValueError(f"is an {self._events} request without its sectors")
        # A line without a number of sectors has no sector either.
        return [volume, time, flags, sector or "0", sectors or "0"]


@dataclass(frozen=True, kw_only=True)
class BlkparseFormat(TextFormat):
    """The text format of blkparse; see `TraceFormat`.

    Attributes:
        events: which events are read as requests.
    """

    events: Events = "issued"

    @property
    def unread(self) -> tuple[str, ...]:
        """See `TraceFormat`."""
        return ("CPU", "sequence number", "process", f"events other than {self.events} requests")

    def matches(self, start: bytes) -> int:
        """See `TraceFormat`; lines of all events fit, whatever their action."""
        lines = re.split("\r?\n", start.decode("utf-8", "replace"))
        return sum(_EVENT.fullmatch(line.strip(" \t")) is not None for line in lines)


#: The format for each kind of events.
BLKPARSE = {
    events: BlkparseFormat(
        name="blkparse",
        text="volume time:s op:rwbs offset:sector size:sector",
        meaning="default text of `blkparse`, in s and sectors: requests issued to the driver (action D)",
        events=events,
        splits=partial(_Splitter, events),
    )
    for events in get_args(Events)
}
register_format(BLKPARSE["issued"])
