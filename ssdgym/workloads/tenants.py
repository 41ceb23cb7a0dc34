"""Several workloads side by side on one device."""

from __future__ import annotations

from functools import partial
from typing import Protocol

import numpy as np

from ssdgym.config.tenants import SoloConfig, TenantsConfig
from ssdgym.errors import SsdgymError
from ssdgym.requests import FLUSH, Requests
from ssdgym.workloads.chunks import CHUNK, NO_REQUESTS, ChunkedStream

#: Facts about a tenant that add up over all of them.
_ADDED_UP = ("footprint_pages", "out_of_order", "trims_below_a_page", "skipped_lines")


class _Stream(Protocol):
    @property
    def report(self) -> dict[str, int]: ...

    def next(self, max_requests: int) -> Requests: ...


class Opener(Protocol):
    """Opens the workload of a tenant; see `ssdgym.workloads.stream.open_workload`."""

    def __call__(self, config: SoloConfig, *, logical_pages: int, page_size: int, seed: int) -> _Stream: ...


def open_tenants(
    config: TenantsConfig, logical_pages: int, page_size: int, seed: np.random.SeedSequence, opener: Opener
) -> ChunkedStream:
    """Start every tenant on its own part of the logical space, with a seed of its own.

    Raises:
        SsdgymError: a tenant gets no page, or cannot be opened on those it gets.
    """
    streams = []
    bounds = _bounds(config, logical_pages)
    children = seed.spawn(len(config.tenants))
    for number, (tenant, child) in enumerate(zip(config.tenants, children, strict=True)):
        first, pages = bounds[number], bounds[number + 1] - bounds[number]
        name = tenant.name or str(number)
        if pages < 1:
            raise SsdgymError(
                f"tenant {name}: its share of the {logical_pages} logical pages is less than one page; "
                "make its share larger."
            )
        seed_of_its_own = int(child.generate_state(1, np.uint64)[0])
        try:
            stream = opener(tenant.workload, logical_pages=pages, page_size=page_size, seed=seed_of_its_own)
        except SsdgymError as error:
            raise SsdgymError(f"tenant {name}: {error}") from None
        streams.append(_Tenant(stream, first))
    return ChunkedStream(Merged(streams), partial(_report, streams))


def _bounds(config: TenantsConfig, logical_pages: int) -> list[int]:
    """Return where the parts of the tenants start, and where the last one ends."""
    shares = np.cumsum([0.0, *(tenant.share for tenant in config.tenants)])
    return [round(bound * logical_pages) for bound in (shares / shares[-1]).tolist()]


def _report(tenants: list[_Tenant]) -> dict[str, int]:
    reports = [tenant.stream.report for tenant in tenants]
    added_up = {
        key: sum(report.get(key, 0) for report in reports)
        for key in _ADDED_UP
        if any(key in report for report in reports)
    }
    return {"tenants": len(reports), **added_up}


class _Tenant:
    """A stream, moved to where its part of the logical space starts, and what is known of its future."""

    def __init__(self, stream: _Stream, first_page: int) -> None:
        self.stream = stream
        self._first_page = first_page
        self._known = NO_REQUESTS
        self._has_ended = False

    def look_ahead(self) -> bool:
        """Make sure that a request is known; False if none is left."""
        if not len(self._known) and not self._has_ended:
            self._known = self.stream.next(CHUNK).copy()
            self._known["lpn"][self._known["op"] != FLUSH] += self._first_page
            self._has_ended = not len(self._known)
        return not self._has_ended

    @property
    def known_until_ns(self) -> int:
        """Requests that are not known yet arrive no earlier."""
        return int(self._known["arrival_ns"][-1])

    def take(self, until_ns: int, *, inclusive: bool) -> Requests:
        """Return, once, the known requests that arrive before `until_ns`, or then at the latest."""
        count = int(np.searchsorted(self._known["arrival_ns"], until_ns, "right" if inclusive else "left"))
        taken, self._known = self._known[:count], self._known[count:]
        return taken


class Merged:
    """A source of the requests of several tenants, by arrival; of equals, the first tenant's go first."""

    def __init__(self, tenants: list[_Tenant]) -> None:
        self._tenants = tenants

    def chunk(self) -> Requests:
        """See `ssdgym.workloads.chunks.Source`."""
        live = [tenant for tenant in self._tenants if tenant.look_ahead()]
        if not live:
            return NO_REQUESTS
        until_ns, slowest = min((tenant.known_until_ns, number) for number, tenant in enumerate(live))
        # The slowest may have more to come at that very time, which goes before that of later tenants.
        parts = [tenant.take(until_ns, inclusive=number <= slowest) for number, tenant in enumerate(live)]
        requests = np.concatenate(parts)
        return requests[np.argsort(requests["arrival_ns"], kind="stable")]
