"""Text formats that `TextFormat` can read by its fields alone."""

from __future__ import annotations

from ssdgym.requests import READ, WRITE
from ssdgym.workloads.traces.reading.columns import SCSI_CODES
from ssdgym.workloads.traces.reading.splitting import BLANKS
from ssdgym.workloads.traces.reading.text import TextFormat
from ssdgym.workloads.traces.registry import register_format

_R_W = {READ: "R", WRITE: "W"}
_SIM_OPS = {READ: "1", WRITE: "0"}

FORMATS = (
    # Narayanan, Donnelly, Rowstron: Write Off-Loading, FAST 2008; SNIA IOTTA. Times are Windows FILETIMEs.
    TextFormat(
        name="msr",
        text="time:100ns host disk op:Read=read,Write=write offset:B size:B response",
        op_texts={READ: "Read", WRITE: "Write"},
        constants={"response": "0"},
        numbered_volumes=False,
        meaning="MSR Cambridge CSV",
    ),
    TextFormat(
        name="msr_no_size",
        text="time:100ns op:Read=read,Write=write offset:B size=4KiB",
        meaning="MSR Cambridge CSV without sizes; **each request counts as 4,096 bytes**",
    ),
    # Zhang et al.: OSCA, USENIX ATC 2020.
    TextFormat(
        name="tencent",
        text="time:s offset:sector size:sector op:0=read,1=write volume",
        op_texts={READ: "0", WRITE: "1"},
        meaning="Tencent block CSV; 0 = read and 1 = write",
    ),
    # Li et al., IISWC 2020.
    TextFormat(
        name="alibaba",
        text="device op:R=read,W=write offset:B size:B time:us",
        op_texts=_R_W,
        meaning="Alibaba block CSV; R or W",
    ),
    # Storage Performance Council, revision 1.0.1; `asu` is the application-specific unit.
    TextFormat(
        name="spc",
        text="asu offset:sector size:B op:R=read,W=write time:s *",
        decimals=9,
        op_texts={READ: "r", WRITE: "w"},
        meaning="SPC and UMass; r or w",
    ),
    # Waldspurger et al.: SHARDS, FAST 2015.
    TextFormat(
        name="cloudphysics",
        text="version time:s op:scsi size:B offset:sector",
        header="version,time,op,size,lbn",
        decimals=9,
        op_texts={op: f"{code:x}" for op, code in SCSI_CODES.items()},
        constants={"version": "1"},
        meaning="CloudPhysics CSV with a header; SCSI operation codes",
    ),
    # Lee et al., SYSTOR 2017; SNIA IOTTA.
    TextFormat(
        name="systor17",
        text="time:s response op:R=read,W=write lun offset:B size:B",
        header="Timestamp,Response,IOType,LUN,Offset,Size",
        decimals=9,
        op_texts=_R_W,
        constants={"response": "0"},
        meaning="SYSTOR '17 CSV with a header",
    ),
    # Hu et al., ICS 2011; MQSim (Tavakkol et al., FAST 2018) has the same columns.
    TextFormat(
        name="ssdsim",
        text="time:ns device offset:sector size:sector op:1=read,0=write",
        separator=BLANKS,
        op_texts=_SIM_OPS,
        meaning="SSDsim and MQSim ASCII; 1 = read and 0 = write",
    ),
    # Only the decimal point of times distinguishes this format from `ssdsim`, whose times are in ns.
    TextFormat(
        name="disksim",
        text="time:ms device offset:sector size:sector op:flags",
        separator=BLANKS,
        sniffed=r"(?m)^[ \t]*[0-9]*\.",
        decimals=6,
        op_texts=_SIM_OPS,
        meaning="DiskSim ASCII; time with a decimal point; bit 0 of the flags: read",
    ),
)

for _known in FORMATS:
    register_format(_known)
