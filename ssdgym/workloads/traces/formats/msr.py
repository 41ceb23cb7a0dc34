"""MSR Cambridge block traces (Narayanan, Donnelly, Rowstron: Write Off-Loading, FAST 2008; SNIA IOTTA).

One request a line: Windows FILETIME (100 ns), host, disk number, Read or Write, offset and size in
bytes, response time (100 ns).
"""

from ssdgym.requests import READ, WRITE
from ssdgym.workloads.traces.parsing.delimited import DelimitedFormat
from ssdgym.workloads.traces.parsing.ops import READ_WRITE, named
from ssdgym.workloads.traces.registry import register_format
from ssdgym.workloads.traces.writing.delimited import WritableDelimitedFormat

MSR = WritableDelimitedFormat(
    name="msr",
    columns=("time", "host", "disk", "op", "offset", "size", "response"),
    op_of=named(READ_WRITE),
    time_unit_ns=100,
    time_decimals=0,
    offset_unit=1,
    size_unit=1,
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
    offset_unit=1,
    size_unit=1,
    fixed_size=4096,
)

register_format(MSR)
register_format(MSR_NO_SIZE)
