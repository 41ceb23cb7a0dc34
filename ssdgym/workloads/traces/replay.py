"""Play a trace as a workload."""

from __future__ import annotations

from functools import lru_cache

from ssdgym.config.workload import TraceConfig
from ssdgym.errors import SsdgymError
from ssdgym.workloads.addresses import split_at_end
from ssdgym.workloads.chunks import CHUNK, NO_REQUESTS, ChunkedStream
from ssdgym.workloads.requests import Requests
from ssdgym.workloads.traces.loading import Trace, load_trace
from ssdgym.workloads.traces.pages import compact, count_pages, narrow, to_pages


def open_trace(config: TraceConfig, logical_pages: int, page_size: int) -> ChunkedStream:
    """Start a trace on a device; see `ssdgym.workloads.stream.open_workload`."""
    trace = load_trace(config)
    requests, report = _on_device(trace, config.addresses, logical_pages, page_size)
    return ChunkedStream(Loops(requests, config.loops), dict(report))


def trace_footprint_pages(config: TraceConfig, page_size: int) -> int:
    """See `ssdgym.workloads.stream.footprint_pages`."""
    return count_pages(to_pages(load_trace(config).records, page_size))


class Loops:
    """A source that plays requests `loops` times, or for ever.

    Each time starts one mean time between arrivals after the last request of the time before.
    """

    def __init__(self, requests: Requests, loops: int | None) -> None:
        self._requests = requests
        self._left = loops
        self._position = 0
        last_ns = int(requests["arrival_ns"][-1])
        self._period_ns = last_ns + last_ns // max(len(requests) - 1, 1)
        self._start_ns = 0

    def chunk(self) -> Requests:
        """See `ssdgym.workloads.chunks.Source`."""
        if self._left == 0:
            return NO_REQUESTS
        requests = self._requests[self._position : self._position + CHUNK].copy()
        requests["arrival_ns"] += self._start_ns
        self._position += len(requests)
        if self._position == len(self._requests):
            self._position = 0
            self._start_ns += self._period_ns
            if self._left is not None:
                self._left -= 1
        return requests


@lru_cache(maxsize=4)
def _on_device(
    trace: Trace, addresses: str, logical_pages: int, page_size: int
) -> tuple[Requests, dict[str, int]]:
    """Return the requests of one loop, read-only, and the report; kept, since every reset opens anew."""
    requests = to_pages(trace.records, page_size)
    footprint = trace_pages = count_pages(requests)
    if addresses == "fold":
        requests = split_at_end(requests, logical_pages)
        footprint = count_pages(requests)
    elif trace_pages > logical_pages:
        raise SsdgymError(
            f"{trace.path}: the trace touches {trace_pages} pages but the device has {logical_pages} logical "
            "pages; use a larger device, or set addresses to fold."
        )
    else:
        requests = compact(requests)
    report = {
        "requests": len(trace.records),
        "footprint_pages": footprint,
        "trace_pages": trace_pages,
        "skipped_lines": trace.skipped_lines,
        "out_of_order": trace.out_of_order,
    }
    requests = narrow(requests)
    requests.flags.writeable = False
    return requests, report
