"""Traces of two clouds' block storage.

Tencent (Zhang et al., OSCA, USENIX ATC 2020), one request a line: time in s, first block and number of
blocks of 512 bytes, 0 for a read and 1 for a write, volume. Alibaba (Li et al., IISWC 2020): device, R or W,
offset and length in bytes, time in us.
"""

from ssdgym.requests import READ, WRITE
from ssdgym.workloads.traces.parsing.lines import SECTOR_BYTES
from ssdgym.workloads.traces.parsing.ops import R_W, ZERO_READS, named
from ssdgym.workloads.traces.registry import register_format
from ssdgym.workloads.traces.writing.delimited import WritableDelimitedFormat

TENCENT = WritableDelimitedFormat(
    name="tencent",
    columns=("time", "offset", "size", "op", "volume"),
    op_of=named(ZERO_READS),
    time_unit_ns=1_000_000_000,
    time_decimals=0,
    offset_unit=SECTOR_BYTES,
    size_unit=SECTOR_BYTES,
    volume_columns=("volume",),
    op_texts={READ: "0", WRITE: "1"},
)

ALIBABA = WritableDelimitedFormat(
    name="alibaba",
    columns=("device", "op", "offset", "size", "time"),
    op_of=named(R_W),
    time_unit_ns=1_000,
    time_decimals=0,
    offset_unit=1,
    size_unit=1,
    volume_columns=("device",),
    op_texts={READ: "R", WRITE: "W"},
)

register_format(TENCENT)
register_format(ALIBABA)
