"""Makers of valid trace files, of every format, and of the damage that is done to them."""

from __future__ import annotations

import bz2
import gzip
import itertools
import lzma
import random
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pyarrow as pa
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st

from tests.reference.traces import HEADERS, SECTOR_BYTES

FORMATS = (
    "alibaba",
    "blkparse",
    "cloudphysics",
    "disksim",
    "fio_v2",
    "fio_v3",
    "msr",
    "msr_no_size",
    "spc",
    "ssdsim",
    "systor17",
    "tencent",
    "vscsi",
)
MOST_REQUESTS = 40
#: Beyond any day of a trace, but within the ten years that a trace may last.
LONGEST_GAP_NS = 10**15
#: What stands between the columns of a line.
SEPARATORS = {
    name: b" " if name in ("blkparse", "disksim", "fio_v2", "fio_v3", "ssdsim") else b"," for name in FORMATS
}


@dataclass(frozen=True)
class Request:
    """What one line says; a time in ns from some start, whole in every clock that is coarser."""

    time_ns: int
    volume: int
    writes: bool
    sector: int
    sectors: int
    random: random.Random

    @property
    def offset(self) -> int:
        return self.sector * SECTOR_BYTES

    @property
    def size(self) -> int:
        return self.sectors * SECTOR_BYTES

    def seconds(self, digits: int) -> str:
        whole, rest = divmod(self.time_ns, 10**9)
        return f"{whole}.{rest:09}"[: -(9 - digits) or None]

    def pick(self, read: str, write: str) -> str:
        return write if self.writes else read


def valid_file(name: str, seed: int, requests: int) -> bytes:
    """Return a file of `requests` requests that every reader of the format takes as it is."""
    draws = random.Random(f"{name} {seed}")
    records = list(_requests(draws, requests))
    if name == "vscsi":
        layout = draws.choice((_vscsi_1, _vscsi_2))
        return b"".join(layout(number, request) for number, request in enumerate(records, 1))
    lines = [HEADERS[name].decode("ascii")] if name in HEADERS else []
    lines += [LINES[name](request) for request in records]
    if name == "blkparse" and draws.random() < 0.5:
        lines += _BLKPARSE_SUMMARY
    return ("\n".join(lines) + "\n").encode("utf-8")


def _requests(draws: random.Random, count: int) -> Iterator[Request]:
    time_ns = draws.randrange(10**18)
    longest_ns = draws.choice((1, 10**4, 10**7, 10**10, LONGEST_GAP_NS))
    largest_sector = draws.choice((8, 10**4, 10**9, 2**53))
    for _ in range(count):
        yield Request(
            time_ns=time_ns,
            volume=draws.randrange(4),
            writes=draws.random() < 0.5,
            sector=draws.randrange(largest_sector),
            sectors=draws.choice((1, 8, draws.randrange(1, 2**22))),
            random=draws,
        )
        time_ns += draws.choice((0, 1, 1, 1, -1)) * draws.randrange(longest_ns)
        time_ns = max(time_ns, 0)


def _msr(r: Request) -> str:
    host = r.random.choice(("hm", "src1", "Rechner-ä", "web 0"))
    response = r.random.randrange(10**6)
    return f"{r.time_ns // 100},{host},{r.volume},{r.pick('Read', 'Write')},{r.offset},{r.size},{response}"


def _msr_no_size(r: Request) -> str:
    time = r.random.choice(("1.28166E+17", "1.28166e17", str(128166 * 10**12 + r.time_ns % 10**15)))
    return f"{time},{r.pick('Read', 'Write')},{r.offset}"


def _cloudphysics(r: Request) -> str:
    code = r.random.choice(r.pick("28 a8 88 8", "2a AA 8A 2e a").split())
    time = r.random.choice((str(r.time_ns // 10**9), r.seconds(6)))
    if r.random.random() < 0.1:
        return f"1,{time},{r.random.choice(('35', '91'))},0,0"
    return f"1,{time},{code},{r.size},{r.sector}"


def _spc(r: Request) -> str:
    more = r.random.choice(("", "", ",7,x"))
    return f"{r.volume},{r.sector},{r.size},{r.pick(*r.random.choice(('rw', 'RW')))},{r.seconds(6)}{more}"


def _systor17(r: Request) -> str:
    response = r.random.choice(("", "0.000806000"))
    return f"{r.seconds(9)},{response},{r.pick('R', 'W')},{r.volume},{r.offset},{r.size}"


def _ssdsim(r: Request) -> str:
    return f"{r.time_ns} {r.volume} {r.sector} {r.sectors} {r.pick('1', '0')}"


def _disksim(r: Request) -> str:
    time = f"{r.time_ns // 10**6}.{r.time_ns % 10**6:06}"
    return f"{time} {r.volume} {r.sector} {r.sectors} {r.pick('1', '0')}"


def _tencent(r: Request) -> str:
    return f"{r.time_ns // 10**9},{r.sector},{r.sectors},{r.pick('0', '1')},{r.volume}"


def _alibaba(r: Request) -> str:
    return f"{r.volume},{r.pick('R', 'W')},{r.offset},{r.size},{r.time_ns // 1000}"


def _fio_actions(r: Request, passed_over: tuple[str, ...]) -> list[str]:
    """A request, perhaps behind an action that is none."""
    file = f"/dev/sd{'abcd'[r.volume]}"
    requests = (f"{r.pick('read', 'write')} {r.offset} {r.size}", f"trim {r.offset} {r.size}")
    action = r.random.choice((*requests, requests[0], requests[0], "sync 0 0", "datasync 0 0"))
    before = r.random.choice(((), (), (r.random.choice(passed_over),)))
    return [f"{file} {action}" for action in (*before, action)]


def _fio_v2(r: Request) -> str:
    return "\n".join(_fio_actions(r, ("add", "open", "close", f"wait {r.random.randrange(10**6)} 0")))


def _fio_v3(r: Request) -> str:
    actions = _fio_actions(r, ("add", "open", "close"))
    return "\n".join(f"{r.time_ns // 1000} {action}" for action in actions)


def _blkparse(r: Request) -> str:
    issue = f"D {r.pick('R', r.random.choice(('W', 'WS', 'FWFS', 'D')))} {r.sector} + {r.sectors} [fio]"
    request = r.random.choice((issue, issue, issue, "D FN [kworker/0:1]", "D F 0 + 0 [fio]"))
    passed_over = r.random.choice(("C R 8 + 8 [0]", "Q WS 8 + 8 [fio]", "P N [fio]", "D N 0 (00 ..) [fio]"))
    actions = r.random.choice(((request,), (request,), (passed_over, request)))
    at = f"{r.time_ns % 10**13 // 10**9:5d}.{r.time_ns % 10**9:09d}"
    start = f"  8,{r.volume:<4d} {r.random.randrange(64):2d} {r.random.randrange(10**6):8d} {at} 4242  "
    return "\n".join(start + action for action in actions)


_BLKPARSE_SUMMARY = [
    "CPU30 (8,33):",
    " Reads Queued:           0,        0KiB\t Writes Queued:           0,        0KiB",
    " PC Reads Queued:        0,        0KiB\t PC Writes Queued:        0,        0KiB",
    " IO unplugs:             0        \t Timer unplugs:           0",
    "",
    "Total (8,33):",
    " Read depth:           165        \t Write depth:           512",
    "",
    "Throughput (R/W): 0KiB/s / 0KiB/s",
    "Events (8,33): 677 entries",
    "Skips: 0 forward (0 -   0.0%)",
]

LINES: dict[str, Callable[[Request], str]] = {
    "alibaba": _alibaba,
    "blkparse": _blkparse,
    "cloudphysics": _cloudphysics,
    "disksim": _disksim,
    "fio_v2": _fio_v2,
    "fio_v3": _fio_v3,
    "msr": _msr,
    "msr_no_size": _msr_no_size,
    "spc": _spc,
    "ssdsim": _ssdsim,
    "systor17": _systor17,
    "tencent": _tencent,
}


def _scsi_code(r: Request) -> int:
    return r.random.choice((0x2A, 0x8A, 0x0A, 0x42, 0x35) if r.writes else (0x28, 0x88, 0x08, 0xA8))


def _vscsi_1(number: int, r: Request) -> bytes:
    return struct.pack("<IIIHHQQ", number, r.size, 1, _scsi_code(r), 0x0100, r.sector, r.time_ns // 1000)


def _vscsi_2(number: int, r: Request) -> bytes:
    time_us = r.time_ns // 1000
    return struct.pack("<HHIIIQQQ", _scsi_code(r), 0x0200, number, r.size, 1, r.sector, time_us, 7)


# Damage

_NUMBERS = """
    0 -0 -1 +5 00 007 1_000 0x10 1,000 - 1456095145.133076000 1e3 1E+3 1e-3 1e999 1e-999 1e999999999999
    1. .5 . -.5 1.5.2 7;8 99 100 nan NaN inf -inf Infinity true null NULL NA N/A #N/A
    0.1234567891 0.9999999999999
"""
_ODD_NUMBERS = (
    *("", " ", " 7\t", "1 000", "7\t8", "a b", "0" * 50 + "5", "0." + "1" * 60),
    *_NUMBERS.split(),
    *(str(2**power + more) for power in (31, 53, 63, 64) for more in (-1, 0)),
    *map(str, (2**32, 2**62, 10**30, 10**80, -(2**31), -(2**63), -(2**63) - 1, 315_360_000 * 10**9)),
)
_ODD_WORDS = (
    *("٣", "１２", "²", "½", "ä", "\ufeff", "\u200b", "\u2028", "\xa0", "\x85", "😀", "\ufffd"),
    *("\x00", "7\x00", "\x07", "\x0b7", "\x0c", "\x1b", "\x7f", "7\r", "\r7"),
    *('"7"', '"', '""', "'7'", "\\", "#", '"a\nb"'),
    *("Read", "READ", "write", "R", "w", "Erase", "RW", "42", "2a", "0X2A", "35", "91", "2e", "1ff"),
    *("read", "trim", "sync", "datasync", "wait", "add", "open", "close", "D", "FN", "N", "WFS", "+"),
    *("8,0", "8,", "8,0,0", "CPU0 (8,0):", "Total (8,0):"),
)
_NO_UTF8 = (b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xc0\x80")
_ODD_BYTES = (*(text.encode("utf-8") for text in _ODD_NUMBERS + _ODD_WORDS), *_NO_UTF8)
_ODD_CHARACTERS = '0123456789+-.eExX _\t\r"RWrwDF'
_BLANK_LINES = (b"", b" ", b"\t \t", b"\r", b"\x0b", b"\x00", b",", b"\xa0")

Draw = st.DrawFn
Damage = Callable[[Draw, bytes, str], bytes]


def _index(draw: Draw, count: int) -> int:
    return draw(st.integers(0, max(count - 1, 0)))


def _cut(draw: Draw, data: bytes, name: str) -> bytes:
    return data[: _index(draw, len(data))]


def _splice(draw: Draw, data: bytes, name: str) -> bytes:
    """Put odd bytes into the file, or in the place of as many or a few."""
    at = _index(draw, len(data) + 1)
    odd = draw(st.sampled_from(_ODD_BYTES) | st.binary(min_size=1, max_size=4))
    return data[:at] + odd + data[at + draw(st.sampled_from((0, 1, len(odd), 5))) :]


def _column(draw: Draw, data: bytes, name: str) -> bytes:
    """Replace, drop, repeat or add a column of a line, or take that of another line."""
    lines = data.split(b"\n")
    line = _index(draw, len(lines))
    columns = lines[line].split(SEPARATORS[name])
    at = _index(draw, len(columns))
    odd = draw(st.sampled_from(_ODD_BYTES) | st.text(_ODD_CHARACTERS, max_size=6).map(str.encode))
    match draw(st.sampled_from(("replace", "replace", "replace", "drop", "repeat", "add", "copy"))):
        case "replace":
            columns[at] = odd
        case "drop":
            del columns[at]
        case "repeat":
            columns.insert(at, columns[at])
        case "add":
            columns.insert(at, odd)
        case "copy":
            other = lines[_index(draw, len(lines))].split(SEPARATORS[name])
            columns[at] = other[min(at, len(other) - 1)]
    lines[line] = SEPARATORS[name].join(columns)
    return b"\n".join(lines)


def _order(draw: Draw, data: bytes, name: str) -> bytes:
    """Drop, repeat or swap lines; the header is one of them."""
    lines = data.split(b"\n")
    one, other = _index(draw, len(lines)), _index(draw, len(lines))
    match draw(st.sampled_from(("drop", "repeat", "swap", "first away", "first again", "reverse"))):
        case "drop":
            del lines[one]
        case "repeat":
            lines.insert(other, lines[one])
        case "swap":
            lines[one], lines[other] = lines[other], lines[one]
        case "first away":
            del lines[0]
        case "first again":
            lines.insert(one, lines[0])
        case "reverse":
            lines.reverse()
    return b"\n".join(lines)


def _line_ends(draw: Draw, data: bytes, name: str) -> bytes:
    match draw(
        st.sampled_from(("crlf", "one crlf", "cr", "one cr", "none at the end", "blank lines", "cr cr lf"))
    ):
        case "crlf":
            return data.replace(b"\n", b"\r\n")
        case "one crlf":
            at = data.find(b"\n", _index(draw, len(data)))
            return data[:at] + b"\r" + data[at:] if at >= 0 else data
        case "cr":
            return data.replace(b"\n", b"\r")
        case "one cr":
            at = _index(draw, len(data) + 1)
            return data[:at] + b"\r" + data[at:]
        case "none at the end":
            return data.rstrip(b"\n")
        case "cr cr lf":
            return data.replace(b"\n", b"\r\r\n", 1)
    lines = data.split(b"\n")
    lines.insert(_index(draw, len(lines) + 1), draw(st.sampled_from(_BLANK_LINES)))
    return b"\n".join(lines)


def _byte_order_mark(draw: Draw, data: bytes, name: str) -> bytes:
    mark = draw(st.sampled_from((b"\xef\xbb\xbf", b"\xef\xbb\xbf", b"\xff\xfe", b"\xef\xbb\xbf\xef\xbb\xbf")))
    at = draw(st.sampled_from((0, 0, data.find(b"\n") + 1, len(data), len(data) // 2)))
    return data[:at] + mark + data[at:]


def _blanks(draw: Draw, data: bytes, name: str) -> bytes:
    """More blanks, or blanks where there were none, around every column."""
    separator = SEPARATORS[name]
    return data.replace(separator, draw(st.sampled_from((b" ", b"\t", b"  ", b" , ", b", ", b"\t,"))))


def _long_line(draw: Draw, data: bytes, name: str) -> bytes:
    at = _index(draw, len(data) + 1)
    length = draw(st.sampled_from((5_000, 60_000, 70_000, 200_000)))
    return data[:at] + draw(st.sampled_from((b"x", b"0", b" ", b",", b"\x00", b"\xff"))) * length + data[at:]


def _garbage(draw: Draw, data: bytes, name: str) -> bytes:
    garbage = random.Random(draw(st.integers(0, 2**32))).randbytes(draw(st.integers(0, 3000)))
    return draw(st.sampled_from((b"", garbage, data + garbage, garbage + data)))


def _another_format(draw: Draw, data: bytes, name: str) -> bytes:
    other = valid_file(draw(st.sampled_from(FORMATS)), draw(st.integers(0, 2**16)), draw(st.integers(1, 5)))
    return draw(st.sampled_from((other, data + other, other + data)))


_TO_TEXT: tuple[Damage, ...] = (
    *(_column, _column, _column, _column, _splice, _splice, _cut, _order, _line_ends, _byte_order_mark),
    *(_blanks, _long_line, _garbage, _another_format),
)


def _field(draw: Draw, data: bytes, name: str) -> bytes:
    """Overwrite a few bytes that are aligned as the fields of binary records are."""
    at = _index(draw, len(data)) // 2 * 2
    value = draw(
        st.sampled_from((0, 1, 2**31 - 1, 2**31, 2**32 - 1, 2**53, 2**55, 2**63 - 1, 2**63, 2**64 - 1))
    )
    codes = st.sampled_from((0x00, 0x12, 0x41, 0x42, 0x35, 0x91, 0x2E, 0xAE, 0x0100, 0x0101, 0x0200, 0x0300))
    new = draw(st.sampled_from((value.to_bytes(8, "little"), draw(codes).to_bytes(2, "little"))))
    return data[:at] + new + data[at + len(new) :]


_TO_BINARY: tuple[Damage, ...] = (_field, _field, _splice, _splice, _cut, _garbage, _another_format)


def on_files(examples: int) -> settings:
    """Return the settings of a test on so many drawn files, the same ones each time."""
    return settings(
        max_examples=examples,
        derandomize=True,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate, Phase.shrink),
    )


@st.composite
def damaged_files(draw: Draw, name: str) -> bytes:
    """Draw a file of the format with one to three kinds of damage, most often behind its first line."""
    data = valid_file(name, draw(st.integers(0, 2**32)), draw(st.integers(1, MOST_REQUESTS)))
    kinds = _TO_BINARY if name == "vscsi" else _TO_TEXT
    first = 40 if name == "vscsi" else data.index(b"\n") + 1
    start = draw(st.sampled_from((0, first, first)))
    rest = data[start:]
    for damage in draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=3)):
        rest = damage(draw, rest, name)
    return data[:start] + rest


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gz": lambda data: gzip.compress(data, mtime=0),
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": lambda data: pa.Codec("zstd").compress(data, asbytes=True),
}
#: What packed files begin with; damage may make a plain file look like one.
MAGICS = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd", b"\xff\xfe", b"\xfe\xff")


def members(data: bytes, splits: list[int], packing: str) -> list[bytes]:
    """Return `data` as packed members, split after so many thousandths of it."""
    bounds = [0, *(len(data) * split // 1000 for split in splits), len(data)]
    return [PACKERS[packing](data[start:end]) for start, end in itertools.pairwise(bounds)]
