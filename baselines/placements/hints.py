"""Hints of the host: each placement handle has a stream, and all relocated pages share one."""

from ssdgym.policy import placement_policy

_HANDLES = 8


@placement_policy(
    "hints",
    source="NVMe TP4146 (Flexible Data Placement), reclaim unit handles of the type initially isolated",
    streams=_HANDLES + 1,
    relocation_streams=1,
)
def hints(view, plane, lpn, source, parameters):
    """Put a page of the host into the stream of its request's hint, and relocated pages into stream 8.

    Hints from 8 on go round: hint 8 is as 0.
    """
    return _HANDLES if source >= 0 else view.control[0].request_hint % _HANDLES
