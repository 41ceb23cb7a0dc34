"""Formats of comma-separated or blank-separated columns."""

from __future__ import annotations

import re

from ssdgym.requests import READ, WRITE
from ssdgym.workloads.traces.delimited import DelimitedFormat
from ssdgym.workloads.traces.lines import (
    R_W,
    READ_WRITE,
    SCSI_CODES,
    SECTOR_BYTES,
    ZERO_READS,
    ZERO_WRITES,
    flag_op,
    named,
    scsi_op,
)
from ssdgym.workloads.traces.registry import register_format

# MSR Cambridge block traces (Narayanan, Donnelly, Rowstron: Write Off-Loading, FAST 2008; SNIA IOTTA).
#
# One request a line: Windows FILETIME (100 ns), host, disk number, Read or Write, offset and size in bytes,
# response time (100 ns).

MSR = DelimitedFormat(
    name="msr",
    columns=("time", "host", "disk", "op", "offset", "size", "response"),
    op_of=named(READ_WRITE),
    time_unit_ns=100,
    volume_columns=("host", "disk"),
    op_texts={READ: "Read", WRITE: "Write"},
    constants={"response": "0"},
    numbered_volumes=False,
)

#: The same with columns lost on the way: time, often rounded beyond use, Read or Write, offset.
MSR_NO_SIZE = DelimitedFormat(
    name="msr_no_size",
    columns=("time", "op", "offset"),
    op_of=named(READ_WRITE),
    time_unit_ns=100,
    time_decimals=2,
    fixed_size=4096,
)

register_format(MSR, meaning="MSR Cambridge CSV")
register_format(MSR_NO_SIZE, meaning="the same without sizes; **each request counts as 4,096 bytes**")


# Traces of two clouds' block storage.
#
# Tencent (Zhang et al., OSCA, USENIX ATC 2020), one request a line: time in s, first block and number of
# blocks of 512 bytes, 0 for a read and 1 for a write, volume. Alibaba (Li et al., IISWC 2020): device, R or
# W, offset and length in bytes, time in us.

TENCENT = DelimitedFormat(
    name="tencent",
    columns=("time", "offset", "size", "op", "volume"),
    op_of=named(ZERO_READS),
    time_unit_ns=1_000_000_000,
    offset_unit=SECTOR_BYTES,
    size_unit=SECTOR_BYTES,
    volume_columns=("volume",),
    op_texts={READ: "0", WRITE: "1"},
)

ALIBABA = DelimitedFormat(
    name="alibaba",
    columns=("device", "op", "offset", "size", "time"),
    op_of=named(R_W),
    time_unit_ns=1_000,
    volume_columns=("device",),
    op_texts={READ: "R", WRITE: "W"},
)

register_format(TENCENT, meaning="Tencent block CSV; 0 = read and 1 = write")
register_format(ALIBABA, meaning="Alibaba block CSV; R or W")


# Traces in the format of the Storage Performance Council, revision 1.0.1, such as UMass Financial1.
#
# One request a line: application-specific unit (ASU), first block of 512 bytes, size in bytes, r or w, time
# in s; optional fields may follow.

SPC = DelimitedFormat(
    name="spc",
    columns=("asu", "offset", "size", "op", "time"),
    op_of=named(R_W),
    time_unit_ns=1_000_000_000,
    time_decimals=9,
    offset_unit=SECTOR_BYTES,
    volume_columns=("asu",),
    has_more=True,
    op_texts={READ: "r", WRITE: "w"},
)

register_format(SPC, meaning="SPC and UMass; r or w")


# CloudPhysics virtual-disk traces as CSV (Waldspurger et al.: SHARDS, FAST 2015).
#
# A header, then one request a line: version, time in s, SCSI operation code in hexadecimal, size in bytes,
# first block of 512 bytes.

CLOUDPHYSICS = DelimitedFormat(
    name="cloudphysics",
    columns=("version", "time", "op", "size", "offset"),
    op_of=scsi_op,
    time_unit_ns=1_000_000_000,
    time_decimals=9,
    offset_unit=SECTOR_BYTES,
    op_texts={op: f"{code:x}" for op, code in SCSI_CODES.items()},
    constants={"version": "1"},
    header=b"version,time,op,size,lbn",
)

register_format(CLOUDPHYSICS, meaning="CloudPhysics CSV with a header; SCSI operation codes")


# SYSTOR '17 traces of virtual desktops (Lee et al., SYSTOR 2017; SNIA IOTTA).
#
# A header, then one request a line: time and response time in s, R or W, LUN, offset and size in bytes.

SYSTOR17 = DelimitedFormat(
    name="systor17",
    columns=("time", "response", "op", "lun", "offset", "size"),
    op_of=named(R_W),
    time_unit_ns=1_000_000_000,
    time_decimals=9,
    volume_columns=("lun",),
    op_texts={READ: "R", WRITE: "W"},
    constants={"response": "0"},
    header=b"Timestamp,Response,IOType,LUN,Offset,Size",
)

register_format(SYSTOR17, meaning="SYSTOR '17 CSV with a header")


_TEXTS = {READ: "1", WRITE: "0"}
_COLUMNS = ("time", "device", "offset", "size", "op")


# ASCII traces of SSDsim (Hu et al., ICS 2011), of MQSim (Tavakkol et al., FAST 2018), and of DiskSim.
#
# One request a line, columns between blanks: time, device, first block of 512 bytes, number of blocks,
# operation. SSDsim and MQSim have the same columns: whole nanoseconds, 1 for a read and 0 for a write.
# DiskSim has milliseconds with decimals, and flags whose lowest bit is set for reads.


def _has_decimal_time(start: bytes) -> bool:
    return re.search(rb"(?m)^[ \t]*[0-9]*\.", start) is not None


SSDSIM = DelimitedFormat(
    name="ssdsim",
    columns=_COLUMNS,
    op_of=named(ZERO_WRITES),
    time_unit_ns=1,
    offset_unit=SECTOR_BYTES,
    size_unit=SECTOR_BYTES,
    volume_columns=("device",),
    separator=" ",
    op_texts=_TEXTS,
)

DISKSIM = DelimitedFormat(
    name="disksim",
    columns=_COLUMNS,
    op_of=flag_op,
    time_unit_ns=1_000_000,
    time_decimals=6,
    offset_unit=SECTOR_BYTES,
    size_unit=SECTOR_BYTES,
    volume_columns=("device",),
    separator=" ",
    op_texts=_TEXTS,
    # Without a decimal point it would be an SSDsim trace in other units.
    sniffed=_has_decimal_time,
)

register_format(SSDSIM, aliases=("mqsim",), meaning="SSDsim and MQSim ASCII; 1 = read and 0 = write")
register_format(DISKSIM, meaning="DiskSim ASCII; time with a decimal point; bit 0 of the flags: read")
