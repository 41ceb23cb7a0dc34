"""Workloads (generated, recorded or synthetic), and functions that load and open them."""

from ssdgym.requests import FLUSH, OP_NAMES, PARTIAL_HEAD, PARTIAL_TAIL, READ, REQUEST, SYNC, TRIM, WRITE

# The imports with `noqa` register kinds of workloads and trace formats.
from ssdgym.workloads import generators, tenants  # noqa: F401
from ssdgym.workloads.base import RequestStream, WorkloadConfig
from ssdgym.workloads.python import page_writes
from ssdgym.workloads.registry import workload_kind
from ssdgym.workloads.stream import load_workload, open_workload
from ssdgym.workloads.traces import formats  # noqa: F401
from ssdgym.workloads.traces.registry import register_format

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
    "WorkloadConfig",
    "load_workload",
    "open_workload",
    "page_writes",
    "register_format",
    "workload_kind",
]
