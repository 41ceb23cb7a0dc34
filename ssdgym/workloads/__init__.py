"""Host requests: generators, traces and stand-ins for them, and the one way to open any of them."""

from ssdgym.requests import (
    FLUSH,
    OP_NAMES,
    PARTIAL_HEAD,
    PARTIAL_TAIL,
    READ,
    REQUEST,
    SYNC,
    TRIM,
    WRITE,
)
from ssdgym.workloads.stream import RequestStream, footprint_pages, open_workload

__all__ = [
    "FLUSH",
    "OP_NAMES",
    "PARTIAL_HEAD",
    "PARTIAL_TAIL",
    "READ",
    "REQUEST",
    "SYNC",
    "TRIM",
    "WRITE",
    "RequestStream",
    "footprint_pages",
    "open_workload",
]
