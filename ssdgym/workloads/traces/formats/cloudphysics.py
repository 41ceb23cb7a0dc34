"""CloudPhysics virtual-disk traces as CSV (Waldspurger et al.: SHARDS, FAST 2015).

A header, then one request a line: version, time in s, SCSI operation code in hexadecimal, size in bytes,
first block of 512 bytes.
"""

from ssdgym.workloads.traces.parsing.lines import SECTOR_BYTES
from ssdgym.workloads.traces.parsing.ops import SCSI_CODES, scsi_op
from ssdgym.workloads.traces.registry import register_format
from ssdgym.workloads.traces.writing.delimited import WritableDelimitedFormat

CLOUDPHYSICS = WritableDelimitedFormat(
    name="cloudphysics",
    columns=("version", "time", "op", "size", "offset"),
    op_of=scsi_op,
    time_unit_ns=1_000_000_000,
    time_decimals=9,
    offset_unit=SECTOR_BYTES,
    size_unit=1,
    op_texts={op: f"{code:x}" for op, code in SCSI_CODES.items()},
    constants={"version": "1"},
    header=b"version,time,op,size,lbn",
)

register_format(CLOUDPHYSICS)
