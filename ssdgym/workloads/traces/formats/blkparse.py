"""The default text of blkparse (blktrace): what the kernel issued to the driver (action D).

An event line: major,minor device numbers, CPU, sequence number, time in s, process, action, RWBS flags, then
`sector + sectors` where there are any, and the process's name. Other events and the summary at the end are
no requests.
"""

from __future__ import annotations

import re

from ssdgym.requests import FLUSH, READ, TRIM, WRITE
from ssdgym.workloads.traces.fields import Malformed, decimal_time_ns, whole
from ssdgym.workloads.traces.lines import BLANK, DIGITS, SECTOR_BYTES, UNKNOWN_OP, LineFormat, Row
from ssdgym.workloads.traces.registry import register_format

_EVENT = rf"^[ \t]*(?P<volume>[0-9]+,[0-9]+){BLANK}[0-9]+{BLANK}[0-9]+{BLANK}"
_USUAL = (
    rf"{_EVENT}(?P<time>[0-9]{{1,9}})\.(?P<fraction>[0-9]{{9}}){BLANK}[0-9]+{BLANK}D{BLANK}"
    rf"(?P<op>[A-Z]*[RWD][A-Z]*){BLANK}(?P<offset>{DIGITS}) \+ (?P<size>[1-9][0-9]{{0,17}})(?:[ \t]|\r?$)"
)
_OTHER_EVENT = (
    rf"^[ \t]*[0-9]+,[0-9]+{BLANK}[0-9]+{BLANK}[0-9]+{BLANK}[0-9]+\.[0-9]+{BLANK}[0-9]+{BLANK}"
    r"(?:[A-CE-Za-z]|[A-Za-z]{2,})(?:[ \t]|\r?$)"
)
_SUMMARY = (
    rf"[ \t]*(?:(?:CPU[0-9]+|Total){BLANK}\(.*\):|(?:PC{BLANK})?(?:Reads?|Writes?){BLANK}[A-Za-z]+\.?:"
    rf"|(?:IO|Timer){BLANK}unplugs:|Throughput{BLANK}\(R/W\):|Events{BLANK}\(.*\):|Skips:)"
)
_LINE = re.compile(
    rb"[ \t]*([0-9]+,[0-9]+)[ \t]+[0-9]+[ \t]+[0-9]+[ \t]+([0-9]+\.[0-9]+)[ \t]+[0-9]+[ \t]+([A-Za-z]+)"
    rb"(?:[ \t]+(.*))?",
    re.DOTALL,
)
_ISSUED = re.compile(rb"([A-Z]+)(?:[ \t]+([0-9]+)[ \t]+\+[ \t]+([0-9]+)(?=[ \t]|$))?(?=[ \t]|$)")


class BlkparseFormat(LineFormat):
    """The text format; see `TraceFormat`."""

    name = "blkparse"
    unread = ("CPU", "sequence number", "process", "events other than issued requests")
    offset_unit = size_unit = SECTOR_BYTES
    tick_ns = 1
    usual = _USUAL
    passed = rf"{_OTHER_EVENT}|^{_SUMMARY}"

    def op(self, text: str) -> int:
        """See `LineFormat`; the text is the RWBS flags."""
        for letter, op in (("R", READ), ("W", WRITE), ("D", TRIM), ("F", FLUSH)):
            if letter in text:
                return op
        return UNKNOWN_OP

    def row(self, line: bytes) -> Row | None:
        """See `LineFormat`."""
        event = _LINE.fullmatch(line)
        if event is None:
            if re.match(_SUMMARY.encode(), line):
                return None
            raise Malformed("is neither an event nor part of the summary")
        volume, time, action, rest = event.groups()
        if action != b"D":
            return None
        issued = _ISSUED.match(rest or b"")
        if issued is None:
            raise Malformed("is an issued request without its RWBS flags")
        return _issued(volume.decode(), time, *issued.groups())


def _issued(
    volume: str, time: bytes, flags: bytes, sector: bytes | None, sectors: bytes | None
) -> Row | None:
    rwbs = flags.decode()
    time_ns = decimal_time_ns(time, 10**9)
    has_bytes = sectors is not None and sectors.strip(b"0") != b""
    if "F" in rwbs and not has_bytes:
        return Row(time_ns, "F", 0, 0, volume)
    if not set(rwbs) & set("RWD"):
        if "N" in rwbs:
            return None
        raise Malformed(f"has {rwbs!r:.42} as its RWBS flags, which name no operation")
    if sector is None or sectors is None:
        raise Malformed("is an issued request without its sectors")
    return Row(time_ns, rwbs, whole(sector, "offset"), whole(sectors, "size"), volume)


register_format(
    BlkparseFormat(),
    meaning="default text of `blkparse`, in s and sectors: requests issued to the driver (action D)",
)
