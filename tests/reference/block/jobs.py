"""Jobs: how a Merge or M-Merge goes on, command by command."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass
from math import ceil

from ..nand import Phases
from .config import SUPERBLOCK, BlockConfig
from .figures import FULL, Case, Figures, Option, Options
from .flash import TARGET, D, U
from .lifetime import TurnsToMerge
from .plans import Plan

#: What is asked: the figures of all candidates, and the case. The answer is the number of one.
Question = tuple[list[Figures], Case]


class IllegalCandidate(ValueError):
    """The answer is no candidate, or one that is not allowed; nothing has changed."""


@dataclass(eq=False)
class Job:
    plane: int
    bundle: int
    cause: int
    is_urgent: bool
    commands: Iterator[Phases] | None = None  # None: unplanned
    step: int = 0
    owed: int = 0

    @property
    def goes_on(self) -> bool:
        return self.commands is None or self.is_urgent or self.owed > 0


class Jobs(Options):
    """Each command is carried out when the iterator of the job comes to it, and finds what to do then."""

    def __init__(self, config: BlockConfig) -> None:
        self.jobs: dict[int, Job] = {}  # by plane
        self.since_merge = [0] * config.bundles  # M-Merges
        super().__init__(config)

    def has_job(self, bundle: int) -> bool:
        return any(job.bundle == bundle for job in self.jobs.values())

    def begin(self, bundle: int, cause: int, is_urgent: bool) -> None:
        plane = self.plane_of_bundle(bundle)
        assert plane not in self.jobs
        self.jobs[plane] = Job(plane, bundle, cause, is_urgent)
        self.note(bundle)

    def end(self, bundle: int) -> None:
        del self.jobs[self.plane_of_bundle(bundle)]
        self.note(bundle)

    def plane_that_goes_on(self, planes: list[int]) -> int | None:
        return next((plane for plane in planes if plane in self.jobs and self.jobs[plane].goes_on), None)

    def advance(self, plane: int) -> Generator[Question, int, Phases]:
        """Plan the job if it is unplanned, and start its next command."""
        job = self.jobs[plane]
        if job.commands is None:
            options = self.options_of(job)
            candidate = yield [option.figures for option in options], self.case(job)
            if not (0 <= candidate < len(options) and options[candidate].figures.allowed):
                raise IllegalCandidate(f"candidate {candidate} of {len(options)}")
            self.plan(job, candidate, options[candidate])
        assert job.commands is not None
        phases = next(job.commands)
        job.owed -= 1
        return phases

    # Planning

    def options_of(self, job: Job) -> list[Option]:
        may_m_merge = self.since_merge[job.bundle] < self.config.mmerge_limit
        may_m_merge = may_m_merge and not self.life.holds_worn(job.bundle)
        return self.options(job.bundle, job.cause, may_m_merge)

    def case(self, job: Job) -> Case:
        c, bundle = self.config, job.bundle
        return Case(
            plane=job.plane,
            bundle=bundle,
            cause=job.cause,
            candidates=c.levels + 3,
            since_merge=self.since_merge[bundle],
            limit=c.mmerge_limit,
            free_blocks=self.free_blocks(job.plane),
            kept_blocks=c.kept_blocks,
            waiting=len(self.waiting(job.plane)),
            valid=self.valid_in_bundle(bundle),
            invalid=self.invalid_in_bundle(bundle),
            block_pages=c.pages_per_block,
            levels=c.levels,
        )

    def plan(self, job: Job, candidate: int, option: Option) -> None:
        is_merge, bundle = candidate == 0, job.bundle
        self.counters["gc_invocations"] += 1
        self.counters["merges" if is_merge else "m_merges"] += 1
        self.counters["full_jobs" if job.cause == FULL else "pool_jobs"] += 1
        self.counters["restored_leaves"] += option.figures.restored
        self.since_merge[bundle] = 0 if is_merge else self.since_merge[bundle] + 1
        copies = ceil(option.figures.cost_ns / max(1, self.config.relocation_ns))
        job.step = job.owed = max(1, ceil(copies / max(1, self.free_blocks(job.plane) - 1)))
        if not is_merge:
            job.commands = self._m_merge_commands(bundle, option)
        elif self.config.kind == SUPERBLOCK:
            job.commands = self._superblock_merge_commands(bundle, option.from_blocks)
        else:
            job.commands = self._nftl_merge_commands(bundle)

    # Merge

    def _nftl_merge_commands(self, bundle: int) -> Iterator[Phases]:
        yield from self.scan(self.held(bundle))
        yield from self._to_target(bundle)

    def _to_target(self, bundle: int) -> Iterator[Phases]:
        """Copy all pages to their places in a target."""
        from_blocks = self.by_slot(bundle, self.held(bundle))
        for place in range(self.config.span):
            lpn = self.lpns[bundle, place]
            if not self.is_mapped(lpn):
                continue
            if self.slots[bundle][TARGET] is None:
                self.take(bundle, TARGET)
            page = self.pages_of_block(self.block_in(bundle, TARGET))[place]
            yield self.copy(self.logical[lpn].ppn, page)
        for block in from_blocks[:-1]:
            yield self._erase_from_block(bundle, block, is_last=False)
        yield self._erase_from_block(bundle, from_blocks[-1], is_last=True, is_replaced=True)

    def _superblock_merge_commands(self, bundle: int, from_blocks: list[int]) -> Iterator[Phases]:
        left = list(from_blocks)
        while left:
            for page in self.pages_of_block(left[0]):
                if self.is_valid(page):
                    yield self.copy(page, self._place_outside(bundle, left))
            block = left.pop(0)
            yield self._erase_from_block(bundle, block, is_last=not left)

    def _place_outside(self, bundle: int, from_blocks: list[int]) -> int:
        """The lowest erased page outside these blocks, in a block taken if need be."""
        others = [block for block in self.held(bundle) if block not in from_blocks]
        pages = [page for block in others for page in self.erased_pages(block)]
        return pages[0] if pages else self.pages_of_block(self.take_into_lowest(bundle))[0]

    def _erase_from_block(self, bundle: int, block: int, is_last: bool, is_replaced: bool = False) -> Phases:
        """The last one ends the job; a target that has replaced D is D then."""
        phases = self.erase_and_give_back(bundle, block)
        if is_replaced:
            slots = self.slots[bundle]
            slots[D], slots[TARGET] = slots[TARGET], None
        if is_last:
            self.end(bundle)
        self.life.settle()
        return phases

    # M-Merge

    def _m_merge_commands(self, bundle: int, option: Option) -> Iterator[Phases]:
        from_blocks, is_nftl = list(option.from_blocks), self.config.kind != SUPERBLOCK
        if is_nftl:
            yield from self.scan(self.held(bundle))
        block = from_blocks[0]
        try:
            if option.first_erase is not None:
                yield from self._erase_in_place(bundle, block, (option.first_erase,))
            for block, plan in option.plans.items():
                yield from self._out(bundle, block, plan, from_blocks)
                yield from self._erase_in_place(bundle, block, plan.pbs)
                back = self._places_back(bundle, plan) if is_nftl else self._back(block, from_blocks)
                yield from back
        except TurnsToMerge:
            from_blocks = self.by_slot(bundle, [*from_blocks, block])
            if is_nftl:
                yield from self._to_target(bundle)
                return
        yield from self._superblock_merge_commands(bundle, from_blocks)

    def _erase_in_place(self, bundle: int, block: int, pbs: Iterable[int]) -> Iterator[Phases]:
        for pb in pbs:
            phases = self.erase_command(block, pb)
            if block in self.life.worn:
                self.since_merge[bundle] = 0
            yield phases
            if block in self.life.worn:
                raise TurnsToMerge

    def _out(self, bundle: int, block: int, plan: Plan, from_blocks: list[int]) -> Iterator[Phases]:
        for pb in plan.pbs:
            for page in self.pages_of(block, pb):
                if self.is_valid(page):
                    target = self._place_in(bundle, from_blocks)
                    self.counters["out_copies"] += 1
                    yield self.copy(page, target)

    def _place_in(self, bundle: int, from_blocks: list[int]) -> int:
        """The lowest erased page of the from-blocks; superblocks take one more block."""
        room = [erased for other in from_blocks for erased in self.erased_pages(other)]
        if not room:
            assert self.config.kind == SUPERBLOCK
            taken = self.take_into_lowest(bundle)
            from_blocks[:] = self.by_slot(bundle, [*from_blocks, taken])
            room = self.erased_pages(taken)
        return room[0]

    def _places_back(self, bundle: int, plan: Plan) -> Iterator[Phases]:
        """NFTL: what of U belongs to the partial blocks returns to its places."""
        for pb in plan.pbs:
            for page in self.pages_of(self.block_in(bundle, D), pb):
                lpn = self.lpns[bundle, self.number_in_block(page)]
                newer = self.logical[lpn].ppn
                if self.is_mapped(lpn) and newer in self.pages_of_block(self.block_in(bundle, U)):
                    yield self.copy(newer, page)

    def _back(self, block: int, from_blocks: list[int]) -> Iterator[Phases]:
        """Superblock: any pages fill the block."""
        while True:
            pages = [page for other in from_blocks for page in self.valid_pages(other)]
            room = self.erased_pages(block)
            if not pages or not room:
                return
            yield self.copy(pages[0], room[0])
