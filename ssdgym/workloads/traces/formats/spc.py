"""Traces in the format of the Storage Performance Council, revision 1.0.1, such as UMass Financial1.

One request a line: application-specific unit (ASU), first block of 512 bytes, size in bytes, r or w,
time in s; optional fields may follow.
"""

from ssdgym.requests import READ, WRITE
from ssdgym.workloads.traces.parsing.lines import SECTOR_BYTES
from ssdgym.workloads.traces.parsing.ops import R_W, named
from ssdgym.workloads.traces.registry import register_format
from ssdgym.workloads.traces.writing.delimited import WritableDelimitedFormat

SPC = WritableDelimitedFormat(
    name="spc",
    columns=("asu", "offset", "size", "op", "time"),
    op_of=named(R_W),
    time_unit_ns=1_000_000_000,
    time_decimals=9,
    offset_unit=SECTOR_BYTES,
    size_unit=1,
    volume_columns=("asu",),
    has_more=True,
    op_texts={READ: "r", WRITE: "w"},
)

register_format(SPC)
