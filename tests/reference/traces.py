"""A slow, plain-Python reader of every trace format: what the columnar readers are held against.

It shares no code with them. Lines end in LF, one CR before it belongs to the end; byte order marks may open
lines; lines of blanks (spaces and tabs) are passed over; blanks around a column do not count. Of lines of
columns, those that begin with # are passed over, too, and headings: time, offset and size are words. Their
columns may be quoted, and a separator may end the line. Text must be printable UTF-8 and not empty; a NUL
ends the reading wherever it stands. A whole number is ASCII digits, perhaps after a minus, and fits 64 bits;
a decimal may have a point and an exponent, and is below 2**63 in its unit; digits below a nanosecond are cut
off. Requests of 2 GiB and more become pieces of 1 GiB.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator
from decimal import ROUND_FLOOR, Context, Decimal

READ, WRITE, TRIM, FLUSH = range(4)
#: Time in ns from the first good request, offset in bytes, size in bytes, operation, volume.
Record = tuple[int, int, int, int, str]
#: As `Record`, with the time as the file has it, in ns.
Parsed = tuple[Decimal, int, int, int, str]
#: Returns the request of a line; `None` for a line that is whole but no request.
Parser = Callable[[bytes], "Parsed | None"]

SECTOR_BYTES = 512
PAGE_BYTES = 4096
LONGEST_LINE_BYTES = 64 * 1024
TEN_YEARS_NS = 10 * 365 * 86_400 * 10**9
UNITS_NS = {"s": 10**9, "ms": 10**6, "us": 10**3, "100ns": 100, "ns": 1}
#: Decimals are exact as long as no result needs more digits than this; a line cannot hold more.
_EXACT = Context(prec=LONGEST_LINE_BYTES + 20)
#: Beyond any exponent that makes a difference to a number that fits a line.
_LARGEST_EXPONENT = 200_000

SCSI_OPS = {
    **dict.fromkeys((0x08, 0x28, 0xA8, 0x88), READ),
    **dict.fromkeys((0x0A, 0x2A, 0xAA, 0x8A, 0x2E, 0xAE, 0x8E), WRITE),
    0x42: TRIM,
    **dict.fromkeys((0x35, 0x91), FLUSH),
}
HEADERS = {
    "cloudphysics": b"version,time,op,size,lbn",
    "systor17": b"Timestamp,Response,IOType,LUN,Offset,Size",
    "fio_v2": b"fio version 2 iolog",
    "fio_v3": b"fio version 3 iolog",
}


class BadLine(ValueError):
    """This line (record) is no request and nothing else that the format knows."""


class Heading(ValueError):
    """This line of columns names them."""


class Refused(ValueError):
    """The file as a whole is not of this format; `line` is where that shows, `bad` the bad lines before."""

    def __init__(self, line: int, bad: list[int] | None = None) -> None:
        super().__init__(f"line {line}")
        self.line = line
        self.bad = bad or []


def read(data: bytes, format: str) -> tuple[list[Record], list[int]]:
    """Return the good requests of an unpacked file in order, and the numbers of its bad lines, from 1.

    Raises:
        Refused: the header is missing, or the first binary record has no known version.
    """
    records: list[Record] = []
    bad: list[int] = []
    start_ns: Decimal | None = None
    for number, parse, piece in _pieces(data, format):
        if format != "vscsi" and (b"\0" in piece or len(piece) > LONGEST_LINE_BYTES):
            raise Refused(number, bad)
        try:
            try:
                parsed = parse(piece)
            except Heading:
                continue
            if parsed is None:
                continue
            time_ns, offset, size, op, volume = _in_range(parsed)
            start_ns = time_ns if start_ns is None else start_ns
            from_start_ns = int(_whole_ns(time_ns) - _whole_ns(start_ns))
            if abs(from_start_ns) > TEN_YEARS_NS:
                raise BadLine("more than ten years away")
            pieces = [(offset, size)] if size < 2**31 else _split(offset, size)
            records.extend((from_start_ns, *piece, op, volume) for piece in pieces)
        except BadLine:
            bad.append(number)
    return records, bad


def _split(offset: int, size: int) -> list[tuple[int, int]]:
    return [(offset + at, min(2**30, size - at)) for at in range(0, size, 2**30)]


def _whole_ns(time_ns: Decimal) -> Decimal:
    return time_ns.to_integral_value(ROUND_FLOOR, _EXACT)


def _in_range(parsed: Parsed) -> Parsed:
    _, offset, size, op, _ = parsed
    if op == FLUSH:
        return parsed[0], 0, 0, op, parsed[4]
    if not (0 < size <= 2**40 and offset >= 0 and offset + size <= 2**62):
        raise BadLine("size or offset out of range")
    return parsed


def _pieces(data: bytes, format: str) -> Iterator[tuple[int, Parser, bytes]]:
    if format == "vscsi":
        yield from _binary_records(data)
        return
    header = HEADERS.get(format)
    parse = {"fio_v2": _fio_v2, "blkparse": _blkparse_events}.get(format, lambda: PARSERS[format])()
    is_first = format in BLANK_COLUMNS
    for number, raw in enumerate(data.split(b"\n"), 1):
        line = raw
        while line.startswith(b"\xef\xbb\xbf"):
            line = line.removeprefix(b"\xef\xbb\xbf")
        line = line.removesuffix(b"\r")
        if not line.strip(b" \t") and len(line) <= LONGEST_LINE_BYTES:
            continue
        if header is not None:
            seen = [word.strip(b' \t"').lower() for word in line.lstrip(b"\r").rstrip(b", \t\r").split(b",")]
            if seen != header.lower().split(b",") or len(line) > LONGEST_LINE_BYTES:
                raise Refused(number)
            header = None
            continue
        if format in COLUMNS and b"\0" not in line and line.lstrip(b" \t").startswith(b"#"):
            continue
        if (
            is_first
            and b"\0" not in line
            and len(_fields(line, b" ")) != 5
            and _is_wordy(_unquoted(line, b" "))
        ):
            is_first = False
            continue
        is_first = False
        yield number, parse, line


def _is_wordy(text: bytes) -> bool:
    return _begins_wordy(text) and re.search(rb"[0-9]", text) is None


def _begins_wordy(text: bytes) -> bool:
    return re.match(rb"[^A-Za-z0-9]*[A-Za-z]", text) is not None


# Columns


def _unquoted(line: bytes, separator: bytes) -> bytes:
    return re.sub(rb'"([^"]*)"', lambda found: found[1].replace(separator, b"_"), line)


def _fields(line: bytes, separator: bytes) -> list[bytes]:
    line = _unquoted(line, separator)
    if separator == b" ":
        return re.split(rb"[ \t]+", line.strip(b" \t"))
    return [column.strip(b" \t") for column in line.split(separator)]


def _columns(line: bytes, names: str, separator: bytes = b",", more: bool = False) -> list[bytes]:
    """Return the columns of a line; t, o and s are the time, offset and size."""
    columns = _fields(line, separator)
    if len(columns) == len(names) + 1 and columns[-1] == b"" and separator != b" ":
        columns.pop()
    if len(columns) < len(names) or (len(columns) > len(names) and not more):
        raise BadLine("number of columns")
    if all(_begins_wordy(column) for column, name in zip(columns, names, strict=False) if name in "tos"):
        raise Heading
    return columns


def _text(column: bytes) -> str:
    try:
        text = column.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadLine("not UTF-8") from error
    if not text or not text.isprintable() or "\ufffd" in text:  # which replaces what is not UTF-8
        raise BadLine("empty or not printable")
    return text


def _whole(column: bytes) -> int:
    found = re.fullmatch(rb"(-?)([0-9]+)", column)
    digits = b"" if found is None else found[2].lstrip(b"0") or b"0"
    if found is None or len(digits) > 19 or not -(2**63) <= int(found[1] + digits) < 2**63:
        raise BadLine("no whole number of 64 bits")
    return int(found[1] + digits)


def _ns(column: bytes, unit: str) -> Decimal:
    column = column.rstrip(b":")
    found = re.fullmatch(rb"([+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+))(?:[eE]([+-]?)([0-9]+))?", column)
    if found is None:
        raise BadLine("no decimal number")
    digits, sign, exponent = (group.decode("ascii") if group else "" for group in found.groups())
    # Python refuses to convert thousands of digits; the number is then beyond the largest in any case.
    power = min(int(exponent.lstrip("0")[:9] or "0"), _LARGEST_EXPONENT)
    time = Decimal(f"{digits}e{sign}{power}")
    if not -(2**63) <= time < 2**63:
        raise BadLine("a time beyond 64 bits")
    return _EXACT.multiply(time, Decimal(UNITS_NS[unit]))


def _whole_ns_of(column: bytes, unit: str) -> Decimal:
    return Decimal(_whole(column) * UNITS_NS[unit])


def _choice(column: bytes, ops: dict[bytes, int]) -> int:
    if column not in ops:
        raise BadLine("no known operation")
    return ops[column]


_WORDS = {b"read": READ, b"write": WRITE}
_LETTERS = {b"R": READ, b"W": WRITE, b"r": READ, b"w": WRITE}
_ONE_IS_WRITE = {b"0": READ, b"1": WRITE}
_ONE_IS_READ = {b"1": READ, b"0": WRITE}


# Lines with commas


def _msr(line: bytes) -> Parsed:
    time, host, disk, op, offset, size, _response = _columns(line, "t---os-")
    volume = f"{_text(host)}_{_text(disk)}"
    return _ns(time, "100ns"), _whole(offset), _whole(size), _choice(op.lower(), _WORDS), volume


def _msr_no_size(line: bytes) -> Parsed:
    time, op, offset = _columns(line, "t-o")
    return _ns(time, "100ns"), _whole(offset), PAGE_BYTES, _choice(op.lower(), _WORDS), "0"


def _cloudphysics(line: bytes) -> Parsed:
    _version, time, op, size, lbn = _columns(line, "-t-so")
    if not re.fullmatch(rb"(0[xX])?[0-9a-fA-F]{1,8}", op):
        raise BadLine("no hexadecimal operation code")
    code = int(op, 16)
    if code not in SCSI_OPS:
        raise BadLine("neither read nor written")
    return _ns(time, "s"), _whole(lbn) * SECTOR_BYTES, _whole(size), SCSI_OPS[code], "0"


def _spc(line: bytes) -> Parsed:
    asu, lba, size, op, time, *_ = _columns(line, "-os-t", more=True)
    return _ns(time, "s"), _whole(lba) * SECTOR_BYTES, _whole(size), _choice(op, _LETTERS), _text(asu)


def _systor17(line: bytes) -> Parsed:
    time, _response, op, lun, offset, size = _columns(line, "t---os")
    return _ns(time, "s"), _whole(offset), _whole(size), _choice(op, _LETTERS), _text(lun)


def _tencent(line: bytes) -> Parsed:
    time, offset, size, op, volume = _columns(line, "tos--")
    sectors = _whole(offset), _whole(size)
    return (
        _ns(time, "s"),
        sectors[0] * SECTOR_BYTES,
        sectors[1] * SECTOR_BYTES,
        _choice(op, _ONE_IS_WRITE),
        _text(volume),
    )


def _alibaba(line: bytes) -> Parsed:
    device, op, offset, size, time = _columns(line, "--ost")
    return _ns(time, "us"), _whole(offset), _whole(size), _choice(op, _LETTERS), _text(device)


# Lines with blanks


def _ssdsim(line: bytes) -> Parsed:
    time, device, sector, sectors, op = _columns(line, "t-os-", b" ")
    return (
        _whole_ns_of(time, "ns"),
        _whole(sector) * SECTOR_BYTES,
        _whole(sectors) * SECTOR_BYTES,
        _choice(op, _ONE_IS_READ),
        _text(device),
    )


def _disksim(line: bytes) -> Parsed:
    time, device, block, blocks, flags = _columns(line, "t-os-", b" ")
    op = READ if _whole(flags) & 1 else WRITE
    return _ns(time, "ms"), _whole(block) * SECTOR_BYTES, _whole(blocks) * SECTOR_BYTES, op, _text(device)


_FIO_OPS = {"read": READ, "write": WRITE, "trim": TRIM, "sync": FLUSH, "datasync": FLUSH}
_FIO_NO_REQUESTS = ("add", "open", "close")
#: What the HOWTO of fio says is discarded.
_FIO_SHORTEST_WAIT_US = 100


def _fio_words(line: bytes) -> list[bytes]:
    if re.match(rb"[ \t\r]*fio version [23] iolog", line):
        raise Heading
    return re.split(rb"[ \t]+", line.strip(b" \t"))


def _fio_action(columns: list[bytes]) -> tuple[bytes, str, bytes, bytes]:
    """The file, the action, and its offset and length, 0 where it has none."""
    if len(columns) not in (2, 4):
        raise BadLine("number of columns")
    file, action = columns[0], columns[1].decode("utf-8", "replace")
    offset, length = columns[2:] or (b"0", b"0")
    if len(columns) == 2 and action not in (*_FIO_NO_REQUESTS, "sync", "datasync"):
        raise BadLine("an action without offset and length")
    if len(columns) == 4 and action in _FIO_NO_REQUESTS:
        raise BadLine("a file action with offset and length")
    return file, action, offset, length


def _fio_v2() -> Parser:
    now_us = 0

    def parse(line: bytes) -> Parsed | None:
        nonlocal now_us
        file, action, offset, length = _fio_action(_fio_words(line))
        if action in _FIO_NO_REQUESTS:
            return None
        if action == "wait":
            wait, _ = _whole(offset), _whole(length)
            if wait < 0:
                raise BadLine("a negative wait")
            now_us += wait if wait >= _FIO_SHORTEST_WAIT_US else 0
            return None
        if action not in _FIO_OPS:
            raise BadLine("no known action")
        if now_us >= 2**63:
            raise BadLine("a time beyond 64 bits")
        return Decimal(now_us * UNITS_NS["us"]), _whole(offset), _whole(length), _FIO_OPS[action], _text(file)

    return parse


def _fio_v3(line: bytes) -> Parsed | None:
    time, *columns = _fio_words(line)
    file, action, offset, length = _fio_action(columns)
    if action in (*_FIO_NO_REQUESTS, "wait"):
        return None
    time_ns = _ns(time, "us")
    if action not in _FIO_OPS:
        raise BadLine("no known action")
    return time_ns, _whole(offset), _whole(length), _FIO_OPS[action], _text(file)


_EVENT = re.compile(
    rb"(\d+,\d+)[ \t]+\d+[ \t]+\d+[ \t]+(\d+\.\d+)[ \t]+\d+[ \t]+([A-Za-z]+)(?:[ \t]+(.*))?", re.DOTALL
)
_ISSUED = re.compile(rb"([A-Z]+)(?:[ \t]+(\d+)[ \t]+\+[ \t]+(\d+))?((?:[ \t].*)?)", re.DOTALL)
#: How the lines of the summary begin, as dump_io_stats of blkparse.c and what calls it write them.
_SUMMARY = re.compile(
    rb"((CPU\d+|Total)[ \t]+\(.*\):|(PC[ \t]+)?(Reads?|Writes?)[ \t]+[A-Za-z]+\.?:|(IO|Timer)[ \t]+unplugs:"
    rb"|Throughput[ \t]+\(R/W\):|Events[ \t]+\(.*\):|Skips:|Input file .* added)"
)
#: Operations of the kernel (blk_fill_rwbs), the longest first, each followed by modifiers.
_RWBS = {
    **dict.fromkeys((b"ZRA", b"ZR", b"ZO", b"ZC", b"ZF", b"WZ"), None),
    b"ZA": WRITE,
    b"DE": TRIM,
    b"W": WRITE,
    b"D": TRIM,
    b"R": READ,
    b"N": None,
}


def _blkparse_events() -> Parser:
    requeued: set[tuple[bytes, bytes]] = set()

    def parse(line: bytes) -> Parsed | None:
        event = _EVENT.fullmatch(line.strip(b" \t"))
        if event is None:
            if _SUMMARY.match(line.strip(b" \t")):
                return None
            raise BadLine("neither an event nor a part of the summary")
        volume, time, action, rest = event.groups()
        issued = _ISSUED.fullmatch(rest or b"")
        if action == b"R":
            requeued.add((volume, (issued and issued[2]) or b""))
        if action != b"D":
            return None
        if issued is None:
            raise BadLine("an issue that cannot be parsed")
        rwbs, sector, sectors, more = issued.groups()
        if (volume, sector or b"") in requeued:
            requeued.discard((volume, sector or b""))
            return None
        time_ns = _ns(time, "s")
        if rwbs.startswith(b"F") and not (sectors or b"").strip(b"0"):
            return time_ns, 0, 0, FLUSH, volume.decode("ascii")
        if sectors is None and b"N" not in rwbs:
            if re.match(rb"[ \t]+\d+[ \t]+\(", more):
                return None
            raise BadLine("no sectors")
        numbers = _sectors(sector), _sectors(sectors)
        op = _blkparse_op(rwbs)
        return None if op is None else (time_ns, *numbers, op, volume.decode("ascii"))

    return parse


def _blkparse_op(rwbs: bytes) -> int | None:
    flushes = rwbs.startswith(b"F")
    for name, op in (*_RWBS.items(), (b"", FLUSH)):
        rest = rwbs.removeprefix(b"F") if flushes else rwbs
        if rest.startswith(name) and not set(rest.removeprefix(name)) - set(b"FASMBU") and (name or flushes):
            return FLUSH if op is None and flushes else op
    raise BadLine("no known kind of request")


def _sectors(column: bytes | None) -> int:
    return _whole(column or b"0") * SECTOR_BYTES


PARSERS: dict[str, Parser] = {
    "alibaba": _alibaba,
    "cloudphysics": _cloudphysics,
    "disksim": _disksim,
    "fio_v3": _fio_v3,
    "msr": _msr,
    "msr_no_size": _msr_no_size,
    "spc": _spc,
    "ssdsim": _ssdsim,
    "systor17": _systor17,
    "tencent": _tencent,
}


#: Formats of columns, and those of them with blanks between.
COLUMNS = tuple(name for name in PARSERS if name != "fio_v3")
BLANK_COLUMNS = ("disksim", "ssdsim")


# Binary records

_V1 = struct.Struct("<IIIHHQQ")
_V2 = struct.Struct("<HHIIIQQQ")


def _v1(record: bytes) -> tuple[int, int, int, int, int]:
    """Version, operation code, size in bytes, sector, time in us."""
    _sn, size, _segments, code, version, sector, time_us = _V1.unpack(record)
    return version >> 8, code, size, sector, time_us


def _v2(record: bytes) -> tuple[int, int, int, int, int]:
    code, version, _sn, size, _segments, sector, time_us, _response_us = _V2.unpack(record)
    return version >> 8, code, size, sector, time_us


def _binary_records(data: bytes) -> Iterator[tuple[int, Parser, bytes]]:
    if not data:
        return
    for layout, unpack, version in ((_V1, _v1, 1), (_V2, _v2, 2)):
        if len(data) >= layout.size and unpack(data[: layout.size])[0] == version:
            break
    else:
        raise Refused(1)

    def parse(record: bytes) -> Parsed:
        if len(record) < layout.size:
            raise BadLine("the file ends within the record")
        its_version, code, size, sector, time_us = unpack(record)
        if its_version != version or code not in SCSI_OPS or time_us >= 2**63:
            raise BadLine("another version, neither read nor written, or a time beyond 64 bits")
        return Decimal(time_us * UNITS_NS["us"]), sector * SECTOR_BYTES, size, SCSI_OPS[code], "0"

    for number, at in enumerate(range(0, len(data), layout.size), 1):
        yield number, parse, data[at : at + layout.size]
