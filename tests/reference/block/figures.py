"""What a job could do: the candidates of the decision MERGE, and their figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from . import heap, plans
from .config import SUPERBLOCK
from .flash import CommandsOfJobs, D, U
from .plans import Contents, Plan

FULL, POOL = range(2)


@dataclass(frozen=True)
class Figures:
    cost_ns: int
    out_copies: int
    copies: int
    erases: int
    erase_ns: int
    restored: int = 0
    at_tolerance: int = 0
    allowed: bool = True


@dataclass(frozen=True)
class Case:
    plane: int
    bundle: int
    cause: int
    candidates: int
    since_merge: int
    limit: int
    free_blocks: int
    kept_blocks: int
    waiting: int
    valid: int
    invalid: int
    block_pages: int
    levels: int


@dataclass(frozen=True)
class Option:
    """A candidate, with what it would do; the plans are of the D-blocks, by slot; a Merge has none."""

    figures: Figures
    from_blocks: list[int]
    plans: dict[int, Plan]
    first_erase: int | None = None  # partial block of U


class Options(CommandsOfJobs):
    """Nothing here changes anything."""

    def options(self, bundle: int, cause: int, may_m_merge: bool) -> list[Option]:
        """All candidates: Merge, M-Merge of partial blocks of each level, and M-Merge by Algorithm 1."""
        if self.life.is_given_up(bundle):
            return self._options_of_given_up(bundle)
        is_superblock = self.config.kind == SUPERBLOCK
        m_merge = self._superblock_m_merge if is_superblock else self._nftl_m_merge
        first = self._superblock_merge(bundle, cause) if is_superblock else self._nftl_merge(bundle)
        levels = range(self.config.levels + 1)
        makers = [*map(plans.depth, levels), plans.algorithm_1]
        return [first, *(m_merge(bundle, maker, may_m_merge) for maker in makers)]

    def _options_of_given_up(self, bundle: int) -> list[Option]:
        """A Merge, which erases all its blocks, and no M-Merge."""
        blocks = self.held(bundle)
        none = Option(Figures(0, 0, 0, 0, 0, allowed=False), [], {})
        return [self._merge(0, blocks, len(blocks)), *[none] * (self.config.levels + 2)]

    def contents(self, block: int, update_block: int | None = None) -> Contents:
        c, leaves = self.config, self.sub_blocks_of_block(block)
        newer = [] if update_block is None else self.valid_pages(update_block)
        places = [self.bundle_and_place(self.physical[page][0])[1] for page in newer]
        pages = [[self.number_in_block(page) for page in self.pages_of_sub_block(leaf)] for leaf in leaves]
        return Contents(
            levels=c.levels,
            valid=tuple(map(self.valid_in_sub_block, leaves)),
            invalid=tuple(map(self.invalid_in_sub_block, leaves)),
            incoming=tuple(sum(place in own for place in places) for own in pages),
            disturbed=tuple(self.disturbed[leaf] for leaf in leaves),
            copy_ns=c.relocation_ns,
            erase_ns=tuple(map(c.erase_of, range(c.levels + 1))),
            tolerance=c.disturb_tolerance,
            with_care=c.disturb_care,
        )

    def _merge(self, valid: int, from_blocks: list[int], erases: int) -> Option:
        erase_ns = erases * self.config.erase_of(0)
        cost_ns = valid * self.config.relocation_ns + erase_ns
        return Option(Figures(cost_ns, 0, valid, erases, erase_ns), from_blocks, {})

    def _m_merge(
        self,
        made: dict[int, Plan],
        from_blocks: list[int],
        copies: int,
        other_erases: Sequence[int],
        is_allowed: bool,
        first_erase: int | None = None,
    ) -> Option:
        """The figures: `other_erases` are the levels of what is erased besides the plans."""
        all_plans = made.values()
        other_ns = sum(map(self.config.erase_of, other_erases))
        figures = Figures(
            cost_ns=0,
            out_copies=sum(plan.out for plan in all_plans),
            copies=copies,
            erases=sum(len(plan.pbs) for plan in all_plans) + len(other_erases),
            erase_ns=sum(plan.erase_ns for plan in all_plans) + other_ns,
            restored=sum(len(plan.dis) for plan in all_plans),
            at_tolerance=sum(plan.at_tolerance for plan in all_plans),
            allowed=is_allowed,
        )
        cost_ns = copies * self.config.relocation_ns + figures.erase_ns
        return Option(Figures(**{**vars(figures), "cost_ns": cost_ns}), from_blocks, made, first_erase)

    # NFTL

    def _nftl_merge(self, bundle: int) -> Option:
        return self._merge(self.valid_in_bundle(bundle), self.held(bundle), 2)

    def _nftl_m_merge(self, bundle: int, maker: plans.Maker, may: bool) -> Option:
        data_block, update_block = self.block_in(bundle, D), self.block_in(bundle, U)
        plan = plans.plan(self.contents(data_block, update_block), maker)
        room, first = len(self.erased_pages(update_block)), None
        if plan.out > room and (first := self.pb_to_erase_first(update_block)) is not None:
            room += sum(map(self.is_written, self.pages_of(update_block, first)))
        levels = [0] if first is None else [heap.level_of(first), 0]
        copies = 2 * plan.out + plan.incoming
        is_allowed = may and plan.out <= room
        return self._m_merge({data_block: plan}, [update_block], copies, levels, is_allowed, first)

    def pb_to_erase_first(self, block: int) -> int | None:
        """The largest partial block of U that makes room and does no harm."""
        found = [pb for pb in heap.all_of(self.config.levels) if self._makes_room(block, pb)]
        return min(found, key=lambda pb: (heap.level_of(pb), pb), default=None)

    def _makes_room(self, block: int, pb: int) -> bool:
        pages, tolerance = self.pages_of(block, pb), self.config.disturb_tolerance
        if any(map(self.is_valid, pages)) or not any(map(self.is_written, pages)):
            return False
        if tolerance is None or not self.config.disturb_care:
            return True
        first = self.sub_blocks_of_block(block)[0]
        near = [first + leaf for leaf in heap.beside(pb, self.config.levels)]
        return not any(self.disturbed[leaf] >= tolerance and self.valid_in_sub_block(leaf) for leaf in near)

    # Superblock

    def fewest_valid_first(self, bundle: int) -> list[int]:
        """Its blocks, worn ones before all, of equals by slot."""

        def valid(block: int) -> int:
            return -1 if block in self.life.worn else len(self.valid_pages(block))

        return sorted(self.held(bundle), key=valid)

    def by_slot(self, bundle: int, blocks: list[int]) -> list[int]:
        return [block for block in self.held(bundle) if block in blocks]

    def _valid_in(self, blocks: list[int]) -> int:
        return sum(len(self.valid_pages(block)) for block in blocks)

    def _blocks_for(self, pages: int, blocks: list[int]) -> int:
        """How many more blocks these pages need than the erased pages of the blocks."""
        erased = sum(len(self.erased_pages(block)) for block in blocks)
        return ceil(max(0, pages - erased) / self.config.pages_per_block)

    def _superblock_merge(self, bundle: int, cause: int) -> Option:
        blocks = self.fewest_valid_first(bundle)
        if cause == FULL:
            x = 1
        else:
            least = len(blocks) - self.config.logical_blocks
            x = next(x for x in range(least, len(blocks) + 1) if self._fits(blocks[:x], blocks[x:]))
        return self._merge(self._valid_in(blocks[:x]), self.by_slot(bundle, blocks[:x]), x)

    def _fits(self, from_blocks: list[int], others: list[int]) -> bool:
        more = self._blocks_for(self._valid_in(from_blocks), others)
        return len(others) + more <= self.config.logical_blocks

    def _superblock_m_merge(self, bundle: int, maker: plans.Maker, may: bool) -> Option:
        blocks, m = self.fewest_valid_first(bundle), self.config.logical_blocks
        u_set, d_set = blocks[:-m], blocks[-m:]
        made = {block: plans.plan(self.contents(block), maker) for block in self.by_slot(bundle, d_set)}
        out = sum(plan.out for plan in made.values())
        extra = self._blocks_for(out, u_set)
        copies = 2 * out + self._valid_in(u_set)
        has_room = extra <= min(self.free_blocks(self.plane_of_bundle(bundle)), m)
        whole = [0] * (len(u_set) + extra)
        return self._m_merge(made, self.by_slot(bundle, u_set), copies, whole, may and has_room)
