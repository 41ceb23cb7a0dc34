"""The block FTLs of the reference: where a page of the host goes, and what has to be done before."""

from __future__ import annotations

from ..lifetime import EndOfLife
from .config import NFTL
from .figures import FULL, POOL
from .flash import D, U
from .jobs import Jobs


class BlockDevice(Jobs):
    """All that a device is, but for the requests and the time."""

    def is_overtaken(self, lpn: int, version: int) -> bool:
        return version <= self.logical[lpn].version

    def pass_over(self) -> None:
        """Be done with a page of the host that has been overtaken."""
        self.clock += 1
        self.counters["host_pages_written"] += 1

    # Where a page goes

    def find_place(self, lpn: int) -> int | None:
        """The page for it, in a block taken now if need be; None if a job has to be done before."""
        bundle, place = self.bundle_and_place(lpn)
        job = self.jobs.get(self.plane_of_bundle(bundle))
        if job is not None and job.bundle == bundle:
            job.is_urgent = True
            return None
        find = self._find_in_nftl if self.config.kind == NFTL else self._find_in_superblock
        return find(bundle, place)

    def _find_in_nftl(self, bundle: int, place: int) -> int | None:
        if self.slots[bundle][D] is None:
            return self._find_in_new(bundle, D, place)
        page = self.pages_of_block(self.block_in(bundle, D))[place]
        if not self.is_written(page) and not self.is_mapped(self.lpns[bundle, place]):
            return page
        if self.slots[bundle][U] is None:
            return self._find_in_new(bundle, U, 0)
        if erased := self.erased_pages(self.block_in(bundle, U)):
            return erased[0]
        return self._wait_for(bundle, FULL)

    def _find_in_superblock(self, bundle: int, place: int) -> int | None:
        if erased := [page for block in self.held(bundle) for page in self.erased_pages(block)]:
            return erased[0]
        if len(self.held(bundle)) < self.config.physical_blocks:
            return self._find_in_new(bundle, self.slots[bundle].index(None), 0)
        return self._wait_for(bundle, FULL)

    def _find_in_new(self, bundle: int, slot: int, number: int) -> int | None:
        plane = self.plane_of_bundle(bundle)
        if self._may_take(plane):
            return self.pages_of_block(self.take(bundle, slot))[number]
        if plane in self.jobs:
            return self._wait_for(self.jobs[plane].bundle, POOL)
        victim = self.victim(plane)
        if victim is None:
            if self.life.has_lost:
                raise EndOfLife
            raise RuntimeError(f"plane {plane} is out of space")
        return self._wait_for(victim, POOL)

    def _may_take(self, plane: int) -> bool:
        return self.free_blocks(plane) > self.config.least_free

    def _is_short(self, plane: int) -> bool:
        """Whether too many blocks are lost for any job but one on the victim."""
        is_below = self.free_blocks(plane) < self.config.least_free
        return self.life.wears and is_below and self.victim(plane) is not None

    def _wait_for(self, bundle: int, cause: int) -> None:
        """Have the plane's job carried to its end, which is a new one if there is none."""
        plane = self.plane_of_bundle(bundle)
        job = self.jobs.get(plane)
        if job is None and self._is_short(plane):
            victim = self.victim(plane)
            assert victim is not None
            self.begin(victim, POOL, is_urgent=True)
        elif job is None:
            self.begin(bundle, cause, is_urgent=True)
        else:
            job.is_urgent = True

    # Host pages

    def host_program(self, ppn: int, lpn: int, version: int) -> None:
        self.unmap(lpn)
        self.put(ppn, lpn, version)
        self.logical[lpn].version = version
        self.clock += 1
        self.counters["host_pages_written"] += 1
        if self.spreads:
            self._spread(self.bundle_of(lpn))

    @property
    def spreads(self) -> bool:
        return self.config.merges == "spread"

    def _spread(self, bundle: int) -> None:
        """Let the plane's job go on for a step, or begin one."""
        plane = self.plane_of_bundle(bundle)
        if plane in self.jobs:
            self.jobs[plane].owed += self.jobs[plane].step
            return
        update_block = self.slots[bundle][U]
        is_full = update_block is not None and not self.erased_pages(update_block)
        if is_full and not self._is_short(plane):
            self.begin(bundle, FULL, is_urgent=False)
        elif (
            self.free_blocks(plane) <= self.config.kept_blocks and (victim := self.victim(plane)) is not None
        ):
            self.begin(victim, POOL, is_urgent=False)
