"""Hints of the host: each placement handle has a stream; relocated pages share one or have one per handle."""

from ssdgym.policy import placement_policy

_HANDLES = 8


@placement_policy(
    "hints",
    source="NVMe TP4146 (Flexible Data Placement), reclaim unit handles of the type initially isolated",
    streams=_HANDLES + 1,
    relocation_streams=1,
)
def hints(view, plane, lpn, source, parameters):
    """Put a host page into the stream of its request's hint, and relocated pages into stream 8.

    The stream is the hint modulo 8.
    """
    return _HANDLES if source >= 0 else view.control[0].request_hint % _HANDLES


@placement_policy(
    "hints_isolated",
    source="NVMe TP4146 (Flexible Data Placement), reclaim unit handles of the type persistently isolated",
    streams=2 * _HANDLES,
    relocation_streams=_HANDLES,  # an erase set may have blocks of several streams
)
def hints_isolated(view, plane, lpn, source, parameters):
    """Put a host page into the stream of its request's hint, relocated pages into one of 8 other streams.

    The stream `h` is the hint modulo 8. Pages of stream `h` are relocated to stream `8 + h`, where they stay
    until the host writes them again.
    """
    if source < 0:
        return view.control[0].request_hint % _HANDLES
    return _HANDLES + view.block[source // view.params[0].pages_per_block].stream % _HANDLES
