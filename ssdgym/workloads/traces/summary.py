"""What is in a trace."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ssdgym.config.workload import TraceConfig
from ssdgym.workloads.requests import READ, WRITE
from ssdgym.workloads.traces.loading import load_trace
from ssdgym.workloads.traces.pages import count_pages, to_pages


@dataclass(frozen=True)
class TraceSummary:
    """Counts over a trace, played once.

    Attributes:
        format: name of the file's format.
        requests, reads, writes: numbers of requests.
        read_bytes, written_bytes: bytes asked for.
        touched_pages, written_pages: different pages of `page_size` bytes touched at all, and written.
        page_size: bytes.
        duration_ns: from the first request to the last.
        skipped_lines: bad lines left out.
        out_of_order: requests recorded with an earlier time than one before them.
    """

    format: str
    requests: int
    reads: int
    writes: int
    read_bytes: int
    written_bytes: int
    touched_pages: int
    written_pages: int
    page_size: int
    duration_ns: int
    skipped_lines: int
    out_of_order: int


def trace_summary(config: TraceConfig, page_size: int = 4096) -> TraceSummary:
    """Count what is in a trace, in pages of `page_size` bytes.

    Raises:
        SsdgymError: the trace cannot be read.
    """
    trace = load_trace(config)
    records = trace.records
    is_read, is_write = records["op"] == READ, records["op"] == WRITE
    pages = to_pages(records, page_size)
    return TraceSummary(
        format=trace.format,
        requests=len(records),
        reads=int(np.count_nonzero(is_read)),
        writes=int(np.count_nonzero(is_write)),
        read_bytes=int(records["size_bytes"][is_read].sum()),
        written_bytes=int(records["size_bytes"][is_write].sum()),
        touched_pages=count_pages(pages),
        written_pages=count_pages(pages[is_write]),
        page_size=page_size,
        duration_ns=int(records["time_ns"][-1]),
        skipped_lines=trace.skipped_lines,
        out_of_order=trace.out_of_order,
    )
