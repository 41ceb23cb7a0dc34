"""Jobs of the sub-page family: what a flush or an eviction has to program, and how that is done."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..loop import Request, Transaction
from .config import SUBFTL, SubpageConfig
from .flash import Stored, SubpageFlash

#: A whole group with what is mapped of it; sectors of any groups on one page; one sector as a subpage.
GROUP, LIST, SUBPAGE = "group", "list", "subpage"


@dataclass(eq=False, kw_only=True)
class Job(Transaction):
    kind: str
    dirty: dict[int, int] = field(default_factory=dict)  # sector -> version
    group: int = -1
    is_partial: bool = False  # of a partial flush
    is_eviction: bool = False
    collector: int | None = None  # the plane whose collection evicts
    to_region: bool = False
    reads: list[list[int]] = field(default_factory=list)  # sectors to be read first, by flash page
    reads_left: int = 0
    request: Request | None = None  # whose sectors it carries
    sectors: int = 0  # how many of them
    number: int = -1  # among all transactions, in time
    plane: int | None = None  # of a job for the region, in time


class Programming(SubpageFlash):
    """What a job changes when it is programmed."""

    def __init__(self, config: SubpageConfig) -> None:
        super().__init__(config)
        self.updated: set[int] = set()  # sectors in a region that replaced a copy in a region
        self.evicting: set[int] = set()  # groups with an eviction that is not programmed yet

    def live(self, job: Job) -> dict[int, int]:
        """What the job carries that no newer version and no trim has overtaken."""
        return {lpn: version for lpn, version in job.dirty.items() if version > self.logical[lpn].version}

    def included(self, job: Job) -> list[int]:
        """The sectors that the job would program now, in the order of their slots."""
        if job.kind == GROUP:
            return sorted({*self.live(job), *self.mapped_in(job.group)})
        return list(self.live(job))

    def begin(self, job: Job) -> bool:
        """Note that the job is about to be programmed; returns whether anything is left to program."""
        if job.is_eviction:
            self.evicting.discard(job.group)
        return bool(self.included(job))

    def program_job(self, job: Job, plane: int) -> None:
        """Program the job's page, which includes something, in the plane's main area."""
        n = self.config.slots_per_page
        slots: list[Stored | None] = [None] * n
        for k, stored in enumerate(self._take(job)):
            slots[stored[0] % n if job.kind == GROUP else k] = stored
        self.program_page(plane, slots)
        if job.is_partial or job.is_eviction:
            self.counters["small_flash_bytes"] += n * self.config.subpage_bytes
        self.switch_on_if_needed(plane)

    def program_at(self, job: Job, page: int) -> None:
        """Program the job, which includes something, in a page of a region."""
        for lpn in self.live(job):
            was_there = self.is_mapped(lpn) and self.is_in_region(self.block_of_slot(self.logical[lpn].ppn))
            (self.updated.add if was_there else self.updated.discard)(lpn)
        stored = self._take(job)
        if self.config.kind == SUBFTL:
            self.program_subpage(page, stored[0])
        else:
            self.program_whole(page, [*stored, *[None] * (self.config.slots_per_page - len(stored))])
        if job.is_partial:
            slots = 1 if self.config.kind == SUBFTL else self.config.slots_per_page
            self.counters["small_flash_bytes"] += slots * self.config.subpage_bytes

    def _take(self, job: Job) -> list[Stored]:
        """What is to be programmed, with its old copies invalidated."""
        included = self.included(job)
        for lpn, version in self.live(job).items():
            self.logical[lpn].version = version
        for lpn in included:
            self.unmap(lpn)
        return [(lpn, self.logical[lpn].version) for lpn in included]
