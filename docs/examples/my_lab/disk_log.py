"""The logs of a disk: operation, microseconds, volume, sector and sectors, apart by semicolons."""

from ssdgym.requests import READ, WRITE
from ssdgym.workloads.traces.delimited import DelimitedFormat
from ssdgym.workloads.traces.lines import named
from ssdgym.workloads.traces.registry import register_format

register_format(
    DelimitedFormat(
        name="disk_log",
        columns=("op", "time", "volume", "offset", "size"),
        op_of=named({"rd": READ, "wr": WRITE}),
        op_texts={READ: "RD", WRITE: "WR"},
        time_unit_ns=1_000,
        offset_unit=512,
        size_unit=512,
        volume_columns=("volume",),
        separator=";",
    )
)
