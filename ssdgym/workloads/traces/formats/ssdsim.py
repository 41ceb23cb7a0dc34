"""ASCII traces of SSDsim (Hu et al., ICS 2011), of MQSim (Tavakkol et al., FAST 2018), and of DiskSim.

One request a line, columns between blanks: time, device, first block of 512 bytes, number of blocks,
operation. SSDsim and MQSim have the same columns: whole nanoseconds, 1 for a read and 0 for a write.
DiskSim has milliseconds with decimals, and flags whose lowest bit is set for reads.
"""

from __future__ import annotations

import re

from ssdgym.requests import READ, WRITE
from ssdgym.workloads.traces.parsing.lines import SECTOR_BYTES
from ssdgym.workloads.traces.parsing.ops import ZERO_WRITES, flag_op, named
from ssdgym.workloads.traces.registry import register_format
from ssdgym.workloads.traces.writing.delimited import WritableDelimitedFormat

_TEXTS = {READ: "1", WRITE: "0"}
_COLUMNS = ("time", "device", "offset", "size", "op")


def _has_decimal_time(start: bytes) -> bool:
    return re.search(rb"(?m)^[ \t]*[0-9]*\.", start) is not None


SSDSIM = WritableDelimitedFormat(
    name="ssdsim",
    columns=_COLUMNS,
    op_of=named(ZERO_WRITES),
    time_unit_ns=1,
    time_decimals=0,
    offset_unit=SECTOR_BYTES,
    size_unit=SECTOR_BYTES,
    volume_columns=("device",),
    separator=" ",
    op_texts=_TEXTS,
)

DISKSIM = WritableDelimitedFormat(
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

register_format(SSDSIM, aliases=("mqsim",))
register_format(DISKSIM)
