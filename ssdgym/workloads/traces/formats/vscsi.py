"""CloudPhysics virtual-disk traces as binary records (Waldspurger et al.: SHARDS, FAST 2015).

A file has no header; its records are little endian. The high byte of the field `version` is the number of the
layout: a record of layout 1 has 32 bytes, of layout 2 40 bytes. Sizes are in bytes, offsets in sectors of 512
bytes, times in us.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ssdgym.errors import SsdgymError
from ssdgym.workloads.traces.reading.columns import SCSI, SECTOR_BYTES, UNKNOWN_OP
from ssdgym.workloads.traces.reading.containers import unpacked
from ssdgym.workloads.traces.reading.fields import BadLines, VolumeNumbers
from ssdgym.workloads.traces.reading.lines import Lines, RecordMaker, one_volume
from ssdgym.workloads.traces.record import Records
from ssdgym.workloads.traces.registry import TraceFormat, register_format

#: The layouts by version.
LAYOUTS = {
    1: np.dtype(
        [
            ("serial", "<u4"),
            ("size", "<u4"),
            ("segments", "<u4"),
            ("op", "<u2"),
            ("version", "<u2"),
            ("offset", "<u8"),
            ("time", "<u8"),
        ]
    ),
    2: np.dtype(
        [
            ("op", "<u2"),
            ("version", "<u2"),
            ("serial", "<u4"),
            ("size", "<u4"),
            ("segments", "<u4"),
            ("offset", "<u8"),
            ("time", "<u8"),
            ("response", "<u8"),
        ]
    ),
}
_OPS = np.full(1 << 16, UNKNOWN_OP, np.uint8)
_OPS[list(SCSI)] = list(SCSI.values())


class VscsiFormat(TraceFormat):
    """The binary format of CloudPhysics; see `TraceFormat`."""

    name = "vscsi"
    meaning = "CloudPhysics binary records, versions 1 and 2, in us and sectors"
    is_binary = True
    unread = ("serial", "segments", "version", "response")

    def matches(self, start: bytes) -> int:
        """See `TraceFormat`."""
        version = _version(start)
        if version is None:
            return 0
        records = _whole(start, version)
        fits = (records["version"] >> 8 == version) & (_OPS[records["op"]] != UNKNOWN_OP)
        # By chance, bytes of a text can look like a record.
        return int(fits.sum()) if fits.mean() > 0.5 else 0

    def read(self, path: Path, bad: BadLines, volumes: VolumeNumbers) -> Iterator[Records]:
        """See `TraceFormat`; bad records take the place of bad lines."""
        bad.unit = "record"
        maker = RecordMaker(self.name, SECTOR_BYTES, 1, bad, volumes)
        version, number, rest = None, 1, b""
        for piece in unpacked(path):
            rest += piece
            version = version or _version(rest)
            if version is None:
                if len(rest) < LAYOUTS[2].itemsize:
                    continue
                break
            records = _whole(rest, version)
            rest = rest[records.nbytes :]
            yield from maker.records(_lines(records, version, number))
            number += len(records)
        if version is None and rest:
            raise SsdgymError(
                f"{path}: record 1 has neither version 1 nor 2 of a vscsi trace; name another format."
            )
        if rest:
            bad.add(number, f"has {len(rest)} bytes of {LAYOUTS[version or 1].itemsize} and is cut off")


def _version(start: bytes) -> int | None:
    for version, layout in LAYOUTS.items():
        if len(start) >= layout.itemsize and np.frombuffer(start, layout, 1)["version"][0] >> 8 == version:
            return version
    return None


def _whole(data: bytes, version: int) -> np.ndarray:
    layout = LAYOUTS[version]
    return np.frombuffer(data, layout, len(data) // layout.itemsize)


def _lines(records: np.ndarray, version: int, first: int) -> Lines:
    numbers = first + np.arange(len(records))
    is_other = records["version"] >> 8 != version
    # Times of more than 63 bits are out of range.
    is_late = records["time"] >= 2**63
    malformed = [
        (int(numbers[row]), f"has version {records['version'][row]}, unlike the first record")
        for row in np.flatnonzero(is_other)
    ]
    malformed += [
        (int(numbers[row]), f"has {records['time'][row]} as its time, beyond 63 bits")
        for row in np.flatnonzero(is_late & ~is_other)
    ]
    kept = ~(is_other | is_late)
    records, numbers = records[kept], numbers[kept]
    codes, index = np.unique(records["op"], return_inverse=True)
    return Lines(
        number=numbers,
        time=records["time"].astype(np.int64),
        unit_ns=1000,
        op=_OPS[records["op"]],
        op_text=([f"{code:02x}" for code in codes], index),
        offset=np.minimum(records["offset"], 2**63 - 1).astype(np.int64),
        size=records["size"].astype(np.int64),
        volume=one_volume(len(records)),
        malformed=malformed,
    )


register_format(VscsiFormat())
