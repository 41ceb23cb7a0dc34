"""The future of a run, for oracle placements: when the data of each host page dies (becomes invalid)."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ssdgym.config.device import DeviceConfig
from ssdgym.errors import SsdgymError
from ssdgym.requests import TRIM, WRITE

#: Data is followed for this many times the logical pages of host writes after a run, if the workload has so
#: many. Data that is still valid after these writes counts as dying then.
BEYOND = 4


class Future(NamedTuple):
    """The clocks (numbers of host pages written so far) at which the data of every page of a run dies.

    Data dies when its page is written again or trimmed. Data that is still valid `BEYOND` times the logical
    pages after the end counts as dying then.

    Attributes:
        start: clock of the first page.
        deaths: int64 (n,); `deaths[k]` is the clock at which the data dies that is written at `start + k`.
        first: int64 (logical pages,), the clock at which the data dies that each logical page has at `start`.
        writes: int64 (logical pages,), how often each logical page is written.
    """

    start: int
    deaths: np.ndarray
    first: np.ndarray
    writes: np.ndarray


def look_ahead(chunks: Iterator[np.ndarray], pages: int | None, logical_pages: int) -> list[np.ndarray]:
    """Return the first chunks of requests, as many as determine the deaths of all data of a run.

    The run writes `pages` host pages. If `pages` is None, all chunks are returned.
    """
    drawn: list[np.ndarray] = []
    left = np.inf if pages is None else pages + BEYOND * logical_pages
    for chunk in chunks:
        drawn.append(chunk)
        left -= int(chunk["pages"][chunk["op"] == WRITE].sum())
        if left <= 0:
            break
    return drawn


def foresee(chunks: list[np.ndarray], logical_pages: int, clock: int) -> Future:
    """Return the future of a device whose clock is `clock`, if it carries out the requests in their order."""
    lpn, is_write = _pages_of(chunks)
    written = lpn[is_write]
    end = clock + len(written) + BEYOND * logical_pages
    pages, now = np.arange(logical_pages), np.full(logical_pages, clock)
    deaths = deaths_after(chunks, clock, written, clock + np.arange(len(written)), True)
    first = deaths_after(chunks, clock, pages, now, False)
    writes = np.bincount(written, minlength=logical_pages)
    return Future(clock, np.minimum(deaths, end), np.minimum(first, end), writes)


def deaths_after(
    chunks: list[np.ndarray], start: int, lpn: np.ndarray, clock: np.ndarray, written: np.ndarray | bool
) -> np.ndarray:
    """Return when the data of n pages dies that are written or relocated while requests are carried out.

    Args:
        chunks: the requests, arrays of REQUEST.
        start: clock of the device before the first request.
        lpn: int64 (n,), the logical pages.
        clock: int64 (n,), when each page is written or relocated.
        written: bool (n,), or one bool for all pages; true: the host writes the page, false: it is relocated.

    Returns:
        int64 (n,): the clock at which each page is next written or trimmed; 2**62 if no request does either.
    """
    pages, is_write = _pages_of(chunks)
    times = start + np.cumsum(is_write) - is_write
    # Page and time in one number, so that sorting orders by page, then by time.
    span = int(times[-1]) + 2 if len(times) else 2
    events = np.sort(pages * span + times)
    found = np.searchsorted(events, lpn * span + np.minimum(clock + written, span - 1))
    event = np.append(events, -1)[found]
    return np.where(event // span == lpn, event % span, 2**62)


def check_order(device: DeviceConfig, who: str) -> None:
    """Raise if the device may write pages in another order than that of the requests."""
    if device.ftl.timing != "none":
        raise SsdgymError(
            f"device {device.name}: {who} uses the future, which is known in untimed runs only; set "
            "ftl.timing to none."
        )


def _pages_of(chunks: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return, for each page that is written or trimmed, in order, its number and whether it is written."""
    lpns, writes = [np.zeros(0, np.int64)], [np.zeros(0, bool)]
    for chunk in chunks:
        requests = chunk[(chunk["op"] == WRITE) | (chunk["op"] == TRIM)]
        pages = requests["pages"].astype(np.int64)
        within = np.arange(pages.sum()) - np.repeat(np.cumsum(pages) - pages, pages)
        lpns.append(np.repeat(requests["lpn"].astype(np.int64), pages) + within)
        writes.append(np.repeat(requests["op"] == WRITE, pages))
    return np.concatenate(lpns), np.concatenate(writes)
