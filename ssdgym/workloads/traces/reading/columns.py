"""Columns of a text format, written as one line of text: `time:ms disk offset:B size:B op:1=read`.

| word | means |
|---|---|
| `time:UNIT` | arrival; ns (whole numbers), 100ns, us, ms, s, min or h, all with decimals |
| `offset:UNIT`, `size:UNIT` | address and length; B, KiB, MiB, sector (512 B) or a multiple such as 4KiB |
| `op` | operation: R, W, read, write, trim or flush, in upper or lower case |
| `op:TEXT=MEANING,...` | meaning of each text: read, write, trim, flush, skip; `0=read` implies `1=write` |
| `op:scsi` | hexadecimal SCSI operation codes |
| `op:flags` | numbers whose lowest bit is 1 for reads and 0 for writes |
| `op:rwbs` | letters that the Linux kernel prints, such as WS or FWFS |
| `volume`, `host`, `disk`, `device`, `lun`, `asu`, `file` | together they name the volume |
| `op=write`, `size=4KiB`, `time=0` | no column: a value that is the same for every request |
| any other word, `-` | a column that is skipped |
| `*` | any number of further columns, which are skipped; it must be the last word |
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from ssdgym.requests import FLUSH, OP_NAMES, READ, TRIM, WRITE

#: Op of a line with an operation that the format does not have, and op of a line that is ignored.
UNKNOWN_OP, SKIPPED_OP = 255, 254

SECTOR_BYTES = 512
UNITS_NS = {"ns": 1, "100ns": 100, "us": 10**3, "ms": 10**6, "s": 10**9, "min": 60 * 10**9, "h": 3600 * 10**9}
_UNITS_BYTES = {"B": 1, "sector": SECTOR_BYTES, "KiB": 2**10, "MiB": 2**20}
VOLUME_WORDS = ("volume", "host", "disk", "device", "lun", "asu", "file")
_VALUES = ("time", "offset", "size", "op")

#: SCSI operation codes (SBC-3): READ, WRITE, WRITE AND VERIFY with 6 to 16 bytes, UNMAP, SYNCHRONIZE CACHE.
SCSI = {
    **dict.fromkeys((0x08, 0x28, 0xA8, 0x88), READ),
    **dict.fromkeys((0x0A, 0x2A, 0xAA, 0x8A, 0x2E, 0xAE, 0x8E), WRITE),
    0x42: TRIM,
    **dict.fromkeys((0x35, 0x91), FLUSH),
}
#: The SCSI code of each operation in written files.
SCSI_CODES = {READ: 0x28, WRITE: 0x2A, TRIM: 0x42, FLUSH: 0x35}
_WORDS = {"r": READ, "w": WRITE, "read": READ, "write": WRITE, "trim": TRIM, "flush": FLUSH}
_MEANINGS = {**{name: op for op, name in enumerate(OP_NAMES)}, "skip": SKIPPED_OP}
#: If only one of the digits 0 and 1 is defined, as read or write, the other digit means the other operation.
_OTHER = {READ: WRITE, WRITE: READ}


def _scsi_op(text: str) -> int:
    digits = re.fullmatch("(?:0x)?([0-9a-f]{1,8})", text)
    return UNKNOWN_OP if digits is None else SCSI.get(int(digits[1], 16), UNKNOWN_OP)


def _flags_op(text: str) -> int:
    digits = re.fullmatch("(-?)0*([0-9]{1,19})", text)
    if digits is None or not -(2**63) <= int(digits[1] + digits[2]) < 2**63:
        return UNKNOWN_OP
    return READ if int(digits[2]) % 2 else WRITE


#: Operations by the letters that the kernel prints (blk_fill_rwbs): read, write, discard, secure discard,
#: zone append, flush. Ignored are operations without data, write zeroes, zone reset, open, close and finish.
_RWBS = {
    "r": READ,
    "w": WRITE,
    "d": TRIM,
    "de": TRIM,
    "za": WRITE,
    "f": FLUSH,
    "": FLUSH,
    **dict.fromkeys(("n", "wz", "zr", "zra", "zo", "zc", "zf"), SKIPPED_OP),
}
#: Letters of a flush before the operation, of the operation, and of modifiers (FUA, read-ahead, sync, ...).
_RWBS_TEXT = re.compile("(f?)(zra|z[raocf]|wz|de|[wdrn]?)([fasmbu]*)")


def _rwbs_op(text: str) -> int:
    found = _RWBS_TEXT.fullmatch(text)
    if found is None or not found[1] + found[2]:
        return UNKNOWN_OP
    op = _RWBS[found[2]]
    return FLUSH if op == SKIPPED_OP and found[1] else op


_CODES: dict[str, Callable[[str], int]] = {"scsi": _scsi_op, "flags": _flags_op, "rwbs": _rwbs_op}


@dataclass(frozen=True)
class Columns:
    """The columns of a line of a text format, and their meanings.

    Attributes:
        text: the text that describes the columns.
        names: names of all columns in their order.
        time_unit_ns: nanoseconds per unit of `time`.
        offset_unit, size_unit: bytes per unit of `offset` and of `size`.
        fixed: values of those of `time`, `size` (in bytes) and `op` that have no column.
        op_of: function from a text of the op column, in lower case, to the operation.
        volumes: numbers of the columns that name the volume. If empty, the only volume has the name `0`.
        has_more: whether lines can have further columns, which are skipped.
    """

    text: str
    names: tuple[str, ...]
    time_unit_ns: int
    offset_unit: int
    size_unit: int
    fixed: Mapping[str, int]
    op_of: Callable[[str], int]
    volumes: tuple[int, ...]
    has_more: bool

    @property
    def unread(self) -> tuple[str, ...]:
        """Names of the columns that are skipped, except `-`."""
        read = {*_VALUES, *(self.names[number] for number in self.volumes)}
        more = ("further columns",) if self.has_more else ()
        return (*(name for name in self.names if name not in read and name != "-"), *more)

    def column(self, name: str) -> int:
        """Return the number, from 0, of an existing column."""
        return self.names.index(name)


@lru_cache
def parse_columns(text: str) -> Columns:
    """Return the columns that a text describes in the language of this module, that of `--columns`.

    Raises:
        ValueError: the text does not describe columns. The message is a predicate, such as "lacks op; ...".
    """
    words = re.split(r"[\s;|]+", text.strip())
    has_more = bool(words) and words[-1] == "*"
    names: list[str] = []
    units: dict[str, str] = {}
    fixed_texts: dict[str, str] = {}
    for word in words[: len(words) - has_more]:
        found = re.fullmatch(r"([^:=*]+)(?:(:|=)(.+))?", word)
        if found is None:
            raise ValueError(f"has {word!r:.40}, which is no column: write NAME, NAME:UNIT or NAME=VALUE")
        name, mark, argument = found.groups()
        if mark and name not in _VALUES:
            raise ValueError(f"has {word!r:.40}, and only time, offset, size and op take more than a name")
        if name in _VALUES and (name in names or name in fixed_texts):
            raise ValueError(f"has {name} twice; write - for a column to pass over")
        if mark == "=":
            fixed_texts[name] = argument
            continue
        names.append(name)
        units[name] = argument or ""
    for name, advice in _MISSING.items():
        if name not in names and name not in fixed_texts:
            raise ValueError(f"lacks {name}; {advice}")
    return Columns(
        text,
        tuple(names),
        _unit(units.get("time", "ns"), "time", UNITS_NS.get),
        _unit(units["offset"], "offset", bytes_of),
        _unit(units["size"], "size", bytes_of) if "size" in names else 1,
        {name: _fixed(name, value) for name, value in fixed_texts.items()},
        _op_of(units.get("op", "")),
        tuple(number for number, name in enumerate(names) if name in VOLUME_WORDS),
        has_more,
    )


#: The values that every request needs, each with the advice of the error if it is missing.
_MISSING = {
    "time": "name its column, as in time:s, or write time=0 if the file has no times",
    "offset": "name its column, as in offset:B or offset:sector",
    "size": "name its column, as in size:B, or write size=4KiB if all requests are as long",
    "op": "name its column, as in op:1=read, or write op=write if all requests are writes",
}


def bytes_of(unit: str) -> int | None:
    """Return the bytes of a unit such as B, sector or 4KiB; None for a text that is no unit."""
    found = re.fullmatch(r"([1-9][0-9]{0,9})?(B|sector|KiB|MiB)", unit)
    return None if found is None else int(found[1] or 1) * _UNITS_BYTES[found[2]]


def _unit(text: str, name: str, lookup: Callable[[str], int | None]) -> int:
    unit = lookup(text)
    if unit is None:
        known = ", ".join(UNITS_NS if name == "time" else [*_UNITS_BYTES, "4KiB"])
        said = f"has {text!r:.40} as the unit of {name}" if text else f"lacks the unit of {name}"
        raise ValueError(f"{said}; write one of {known}, as in {name}:{'s' if name == 'time' else 'B'}")
    return unit


def _fixed(name: str, text: str) -> int:
    lookups: dict[str, Callable[[str], int | None]]
    lookups = {"time": {"0": 0}.get, "size": bytes_of, "op": _MEANINGS.get, "offset": lambda text: None}
    value = lookups[name](text)
    if value is None:
        raise ValueError(f"has '{name}={text:.40}'; write time=0, size=4KiB or op=write")
    return value


def _op_of(argument: str) -> Callable[[str], int]:
    if argument in _CODES:
        return _CODES[argument]
    given: dict[str, int] = {}
    for pair in argument.split(",") if argument else ():
        text, equals, meaning = pair.rpartition("=")
        if not equals or not text or meaning not in _MEANINGS:
            raise ValueError(
                f"has {pair!r:.40} in op; write TEXT=MEANING with read, write, trim, flush or skip, as in "
                "op:0=read,1=write"
            )
        given[text.lower()] = _MEANINGS[meaning]
    if len(given) == 1 and (text := next(iter(given))) in ("0", "1") and given[text] in _OTHER:
        given["10"[int(text)]] = _OTHER[given[text]]
    ops = given or _WORDS
    return lambda text: ops.get(text, UNKNOWN_OP)


_LOOKS_LIKE_OP = re.compile("(?i)r|w|rd|wr|ws|read|write|reads|writes")
_HEADINGS = {
    "time": re.compile("(?i)time|timestamp|start_?time|ts|time.*"),
    "op": re.compile("(?i)op|type|iotype|rw|t|op_?type|operation|io_type|command"),
    "offset": re.compile("(?i).*offset|lba|sector|lbn|address|addr|block|.*lba"),
    "size": re.compile("(?i)len.*|bytes|sectors|.*size.*|nbytes"),
}


def example(line: str, following: str = "") -> str:
    """Guess the columns of a file, in the language of this module; users have to correct units.

    Args:
        line: the first line, which may be a heading.
        following: the second line; empty if there is none.
    """
    fields, heading = fields_of(line), []
    if all(map(begins_wordy, fields)) and len(fields_of(following)) == len(fields):
        fields, heading = fields_of(following), fields
    found = {
        name: number
        for name, pattern in _HEADINGS.items()
        for number, field in reversed([*enumerate(heading)])
        if pattern.fullmatch(field)
    }
    if "op" not in found:
        ops = [number for number, field in enumerate(fields) if _LOOKS_LIKE_OP.fullmatch(field)]
        found.update(dict.fromkeys(["op"] if ops else [], ops[-1] if ops else 0))
    numbers = [n for n, field in enumerate(fields) if re.fullmatch(r"[0-9]+(\.[0-9]*)?:?", field)]
    decimals = [n for n in numbers if "." in fields[n] and n not in found.values()]
    if "time" not in found and decimals:
        found["time"] = decimals[0]
    free = [n for n in numbers if n not in found.values()]
    found.update(zip([name for name in ("time", "offset", "size") if name not in found], free, strict=False))
    unused = [n for n in range(len(fields)) if n not in found.values()]
    if unused:
        found.setdefault("offset", unused[0])
    units = {"time": "time:s", "offset": "offset:B", "size": "size:B", "op": "op"}
    words = ["-"] * len(fields)
    for name, number in found.items():
        words[number] = units[name]
    fixed = {"time": "time=0", "size": "size=4KiB", "op": "op=write", "offset": "offset:B"}
    return " ".join([*words, *(text for name, text in fixed.items() if name not in found)])


def written_lines(text: bytes) -> Iterator[str]:
    """Yield the lines of a text that are neither blank nor comments."""
    lines = (line.strip() for line in text.split(b"\n"))
    return (line.decode("utf-8", "replace") for line in lines if line and line[:1] != b"#")


def fields_of(line: str) -> list[str]:
    """Split a line at the separator that makes most fields; return the fields without blanks and quotes."""
    line = re.sub(r"[ \t]*([,;|])[ \t]*", r"\1", line)
    splits = [line.split(mark) for mark in (",", ";", "|", None)]
    return [field.strip(" \t\"'") for field in max(splits, key=len)]


def is_wordy(text: str) -> bool:
    """Return whether a text has letters and no digits."""
    return begins_wordy(text) and re.search("[0-9]", text) is None


def begins_wordy(text: str) -> bool:
    """Return whether a text has a letter, with no digit before it, as names of columns do."""
    return re.match("[^A-Za-z0-9]*[A-Za-z]", text) is not None
