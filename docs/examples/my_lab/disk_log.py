"""The logs of a disk: operation, time (us), volume, first sector and sectors, separated by semicolons."""

from ssdgym.requests import READ, WRITE
from ssdgym.workloads.traces.reading.text import TextFormat
from ssdgym.workloads.traces.registry import register_format

register_format(
    TextFormat(
        name="disk_log",
        text="op:rd=read,wr=write time:us volume offset:sector size:sector",
        separator=";",
        op_texts={READ: "RD", WRITE: "WR"},
    )
)
