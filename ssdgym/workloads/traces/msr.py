"""MSR Cambridge block traces (Narayanan, Donnelly, Rowstron: Write Off-Loading, FAST 2008; SNIA IOTTA).

One request a line: Windows FILETIME (100 ns), host, disk number, Read or Write, offset and size in
bytes, response time (100 ns).
"""

from ssdgym.workloads.requests import READ, WRITE
from ssdgym.workloads.traces.csv_format import CsvFormat

MSR = CsvFormat(
    name="msr",
    columns=("time", "host", "disk", "op", "offset", "size", "response"),
    ops={"read": READ, "write": WRITE},
    time_unit_ns=100,
    time_is_integer=True,
    offset_unit_bytes=1,
)
