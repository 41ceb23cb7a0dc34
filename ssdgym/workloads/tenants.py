"""Tenants: several workloads that share one device."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BeforeValidator, Field, model_validator

from ssdgym.config.loading import Config
from ssdgym.errors import SsdgymError
from ssdgym.requests import FLUSH, Requests
from ssdgym.types import IntArray
from ssdgym.workloads.base import (
    CHUNK,
    NO_REQUESTS,
    Ahead,
    RequestStream,
    StartAt,
    Weight,
    WorkloadConfig,
    next_merged,
    seeds_of,
)
from ssdgym.workloads.registry import OfAnyKind, workload_kind
from ssdgym.workloads.stream import load_workload

#: Entries of a report that are summed over all tenants.
_ADDED_UP = (
    "footprint_pages",
    "out_of_order",
    "trims_below_a_page",
    "skipped_lines",
    "written_pages",
    "rewritten_pages",
)


def _load_named(value: Any) -> Any:
    """Return the workload that a text names; return any other value unchanged."""
    return load_workload(value) if isinstance(value, str) else value


AnySoloWorkload = Annotated[WorkloadConfig, OfAnyKind(but="tenants"), BeforeValidator(_load_named)]


class TenantConfig(Config):
    """One of the workloads that share a device."""

    workload: AnySoloWorkload = Field(
        description="Workload of the tenant, or its name; any kind except tenants."
    )
    share: Weight = Field(1.0, description="Share of the logical space, relative to those of other tenants.")
    name: str | None = Field(None, min_length=1, description="Name of the tenant in error messages.")
    hint: int | None = Field(
        None, ge=0, le=255, description="Hint of all requests of the tenant; null: as the workload sets it."
    )

    @model_validator(mode="after")
    def _has_a_pace(self) -> TenantConfig:
        if not self.workload.has_pace:
            name = f" of tenant {self.name}" if self.name else ""
            raise ValueError(
                f"needs workload.interarrival_ns{name} to be above 0: requests that arrive all at once would"
                " go before those of every other tenant"
            )
        return self


@workload_kind
class TenantsConfig(WorkloadConfig):
    """Several workloads at the same time, each in its own part of the logical space, merged by arrival time.

    The parts of the logical space follow each other in the order of `tenants`.
    """

    kind: Literal["tenants"] = "tenants"
    tenants: tuple[TenantConfig, ...] = Field(min_length=1, description="Tenants, each with its workload.")

    @property
    def is_endless(self) -> bool:
        """See `WorkloadConfig`."""
        return any(part.is_endless for part in self.parts())

    def writes_nothing(self) -> bool:
        """See `WorkloadConfig`; if some tenants never end, only the writes of these tenants count."""
        endless = [part for part in self.parts() if part.is_endless]
        return all(part.writes_nothing() for part in endless or self.parts())

    def parts(self) -> tuple[WorkloadConfig, ...]:
        """See `WorkloadConfig`."""
        return tuple(tenant.workload for tenant in self.tenants)

    def with_start(self, start: StartAt) -> TenantsConfig:
        """See `WorkloadConfig`."""
        tenants = tuple(
            tenant.model_copy(update={"workload": tenant.workload.with_start(start)})
            for tenant in self.tenants
        )
        return self.model_copy(update={"tenants": tenants})

    def open(self, logical_pages: int, page_size: int, seed: int) -> RequestStream:
        """Start every tenant on its own part of the logical space, with its own seed.

        Args:
            logical_pages: number of logical pages of the device.
            page_size: bytes per page.
            seed: seed from which the seeds of the tenants are derived.

        Raises:
            SsdgymError: the share of a tenant is less than a page, or its workload does not fit its pages.
        """
        streams = []
        bounds = self._bounds(logical_pages)
        children = seeds_of(seed).spawn(len(self.tenants))
        for number, (tenant, child) in enumerate(zip(self.tenants, children, strict=True)):
            first, pages = bounds[number], bounds[number + 1] - bounds[number]
            name = tenant.name or str(number)
            if pages < 1:
                raise SsdgymError(
                    f"tenant {name}: its share of the {logical_pages} logical pages is less than one page; "
                    "make its share larger."
                )
            seed_of_its_own = int(child.generate_state(1, np.uint64)[0])
            try:
                stream = tenant.workload.open(pages, page_size, seed_of_its_own)
            except SsdgymError as error:
                raise SsdgymError(f"tenant {name}: {error}") from None
            streams.append(_Tenant(stream, first, tenant.hint))
        return RequestStream(Merged(streams), partial(_report, streams))

    def _bounds(self, logical_pages: int) -> list[int]:
        """Return the first page of each tenant's part, and the end of the last part."""
        shares = np.cumsum([0.0, *(tenant.share for tenant in self.tenants)])
        return [round(bound * logical_pages) for bound in (shares / shares[-1]).tolist()]


def _report(tenants: list[_Tenant]) -> dict[str, int]:
    reports = [tenant.stream.report for tenant in tenants]
    added_up = {
        key: sum(report.get(key, 0) for report in reports)
        for key in _ADDED_UP
        if any(key in report for report in reports)
    }
    return {"tenants": len(reports), **added_up}


class _Tenant(Ahead):
    """The stream of a tenant, with page numbers moved to the tenant's part of the logical space."""

    def __init__(self, stream: RequestStream, first_page: int, hint: int | None) -> None:
        super().__init__()
        self.stream = stream
        self._first_page = first_page
        self._hint = hint

    def read(self) -> tuple[IntArray, Requests]:
        requests = self.stream.next(CHUNK).copy()
        requests["lpn"][requests["op"] != FLUSH] += self._first_page
        if self._hint is not None:
            requests["hint"] = self._hint
        return requests["arrival_ns"], requests


class Merged:
    """A source that merges the requests of tenants by arrival time; for equal times, in order of tenants."""

    def __init__(self, tenants: list[_Tenant]) -> None:
        self._tenants = tenants

    def chunk(self) -> Requests:
        """See `ssdgym.workloads.base.Source`."""
        requests = next_merged(self._tenants)
        return NO_REQUESTS if requests is None else requests
