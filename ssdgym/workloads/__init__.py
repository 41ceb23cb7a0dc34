"""Host requests: generators, trace readers, and the one way to open either."""

from ssdgym.workloads.requests import FLUSH, OP_NAMES, PARTIAL_HEAD, PARTIAL_TAIL, READ, REQUEST, TRIM, WRITE
from ssdgym.workloads.stream import RequestStream, footprint_pages, open_workload
from ssdgym.workloads.traces.summary import TraceSummary, trace_summary

__all__ = [
    "FLUSH",
    "OP_NAMES",
    "PARTIAL_HEAD",
    "PARTIAL_TAIL",
    "READ",
    "REQUEST",
    "TRIM",
    "WRITE",
    "RequestStream",
    "TraceSummary",
    "footprint_pages",
    "open_workload",
    "trace_summary",
]
