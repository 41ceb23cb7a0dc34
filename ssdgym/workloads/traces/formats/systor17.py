"""SYSTOR '17 traces of virtual desktops (Lee et al., SYSTOR 2017; SNIA IOTTA).

A header, then one request a line: time and response time in s, R or W, LUN, offset and size in bytes.
"""

from ssdgym.requests import READ, WRITE
from ssdgym.workloads.traces.parsing.ops import R_W, named
from ssdgym.workloads.traces.registry import register_format
from ssdgym.workloads.traces.writing.delimited import WritableDelimitedFormat

SYSTOR17 = WritableDelimitedFormat(
    name="systor17",
    columns=("time", "response", "op", "lun", "offset", "size"),
    op_of=named(R_W),
    time_unit_ns=1_000_000_000,
    time_decimals=9,
    offset_unit=1,
    size_unit=1,
    volume_columns=("lun",),
    op_texts={READ: "R", WRITE: "W"},
    constants={"response": "0"},
    header=b"Timestamp,Response,IOType,LUN,Offset,Size",
)

register_format(SYSTOR17)
