"""CloudPhysics virtual-disk traces as CSV (Waldspurger et al.: SHARDS, FAST 2015).

A header, then one request a line: version, time in s, SCSI operation code in hex, size in bytes,
first logical block of 512 bytes. The operation codes are those of SCSI Block Commands (SBC-3).
"""

from ssdgym.workloads.requests import READ, WRITE
from ssdgym.workloads.traces.csv_format import CsvFormat

_READS = ("08", "28", "a8", "88")  # READ (6), (10), (12), (16)
_WRITES = ("0a", "2a", "aa", "8a")  # WRITE (6), (10), (12), (16)
_WRITES_AND_VERIFIES = ("2e", "ae", "8e")  # WRITE AND VERIFY (10), (12), (16)

_CODES = dict.fromkeys(_READS, READ) | dict.fromkeys(_WRITES + _WRITES_AND_VERIFIES, WRITE)

CLOUDPHYSICS = CsvFormat(
    name="cloudphysics",
    columns=("version", "time", "op", "size", "offset"),
    # Codes below 10 are also written without their leading zero, and all of them with 0x.
    ops=_CODES
    | {code.lstrip("0"): op for code, op in _CODES.items()}
    | {f"0x{c}": op for c, op in _CODES.items()},
    time_unit_ns=1_000_000_000,
    time_is_integer=False,
    offset_unit_bytes=512,
    header=b"version,time,op,size,lbn",
)
