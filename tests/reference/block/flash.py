"""The cells of the block family, how blocks belong to bundles, and the flash commands of jobs."""

from __future__ import annotations

from itertools import count

from ..collecting import Collecting
from ..flash import UNMAPPED
from ..lifetime import EndOfLife
from ..nand import Commands, Phases
from . import heap
from .config import SUPERBLOCK, BlockConfig
from .lifetime import BlockLife

#: What an erased page holds, and the version of a page that erases beside it have spoiled.
ERASED, SPOILED = (-1, 0), -1
#: Slots of a bundle of NFTL.
D, U, TARGET = range(3)

COUNTERS = (
    "host_pages_written",
    "host_reads",
    "host_pages_trimmed",
    "relocated_pages",
    "erases",
    "erased_sub_blocks",
    "gc_invocations",
    "gc_time_ns",
    "flash_reads",
    "rmw_reads",
    "queue_hits",
    "unmapped_reads",
    "lost_pages",
    "padded_pages",
)
TALLY = (
    "merges",
    "m_merges",
    "full_jobs",
    "pool_jobs",
    "spare_reads",
    "search_reads",
    "partial_erases",
    "out_copies",
    "spoiled_pages",
    "restored_leaves",
    "gc_spare_ns",
    "gc_read_ns",
    "gc_write_ns",
    "gc_erase_ns",
)


class BlockFlash(Collecting):
    """Blocks and pages are numbered over the device; a slot of a bundle holds a block or None."""

    config: BlockConfig
    life: BlockLife

    def __init__(self, config: BlockConfig) -> None:
        super().__init__(config)
        self.life = BlockLife(self)
        self.counters = dict.fromkeys((*COUNTERS, *TALLY), 0)
        self.disturbed = [0] * len(self.erases)  # by leaf, as `erases`
        self.slots: list[list[int | None]] = [[None] * config.slots for _ in range(config.bundles)]
        self.lpns = {self.bundle_and_place(lpn): lpn for lpn in range(config.logical_pages)}
        # Invalid pages of each bundle while it could be collected, else None, and since when that is so.
        self.noted: list[int | None] = [None] * config.bundles
        self.since = [0] * config.bundles
        self.sequence = count(1)

    def _refuse_if_too_full(self) -> None:
        """Accept it: the configuration has been checked."""

    # Bundles

    def bundle_and_place(self, lpn: int) -> tuple[int, int]:
        if self.config.striping == "blocks":
            return divmod(lpn, self.config.span)
        plane, number = lpn % self.config.planes, lpn // self.config.planes
        group, place = divmod(number, self.config.span)
        return group * self.config.planes + plane, place

    def bundle_of(self, lpn: int) -> int:
        return self.bundle_and_place(lpn)[0]

    def plane_of_bundle(self, bundle: int) -> int:
        return bundle % self.config.planes

    def bundles_of_plane(self, plane: int) -> range:
        return range(plane, self.config.bundles, self.config.planes)

    def held(self, bundle: int) -> list[int]:
        """Its blocks, by slot."""
        return [block for block in self.slots[bundle] if block is not None]

    def block_in(self, bundle: int, slot: int) -> int:
        block = self.slots[bundle][slot]
        assert block is not None
        return block

    def take(self, bundle: int, slot: int) -> int:
        """Give the head of the pool to the bundle."""
        assert self.slots[bundle][slot] is None
        pool = self.pools[self.plane_of_bundle(bundle)]
        if not pool and self.life.has_lost:
            raise EndOfLife
        block = pool.popleft()
        self.slots[bundle][slot] = block
        self.note(bundle)
        return block

    def take_into_lowest(self, bundle: int) -> int:
        return self.take(bundle, self.lowest_free_slot(bundle))

    def lowest_free_slot(self, bundle: int) -> int:
        if None not in self.slots[bundle]:
            raise EndOfLife
        return self.slots[bundle].index(None)

    def free_blocks(self, plane: int) -> int:
        return len(self.pools[plane])

    # Pages, all by scanning

    def pages_of_block(self, block: int) -> range:
        return range(block * self.config.pages_per_block, (block + 1) * self.config.pages_per_block)

    def pages_of(self, block: int, pb: int) -> list[int]:
        """The pages of a partial block, rising."""
        first_leaf, size = self.sub_blocks_of_block(block)[0], self.config.levels
        return [
            page for leaf in heap.leaves_of(pb, size) for page in self.pages_of_sub_block(first_leaf + leaf)
        ]

    def is_written(self, ppn: int) -> bool:
        return self.physical[ppn][0] >= 0

    def erased_pages(self, block: int) -> list[int]:
        return [page for page in self.pages_of_block(block) if not self.is_written(page)]

    def valid_pages(self, block: int) -> list[int]:
        return [page for page in self.pages_of_block(block) if self.is_valid(page)]

    def invalid_in_sub_block(self, sub_block: int) -> int:
        pages = self.pages_of_sub_block(sub_block)
        return sum(self.is_written(page) and not self.is_valid(page) for page in pages)

    def invalid_in_block(self, block: int) -> int:
        return sum(self.invalid_in_sub_block(leaf) for leaf in self.sub_blocks_of_block(block))

    def valid_in_bundle(self, bundle: int) -> int:
        return sum(len(self.valid_pages(block)) for block in self.held(bundle))

    def invalid_in_bundle(self, bundle: int) -> int:
        return sum(self.invalid_in_block(block) for block in self.held(bundle))

    # Victims

    def has_job(self, bundle: int) -> bool:
        raise NotImplementedError

    def could_be_collected(self, bundle: int) -> bool:
        """Whether it is eligible."""
        if self.life.is_given_up(bundle):
            return bool(self.held(bundle)) and not self.has_job(bundle)
        if self.config.kind == SUPERBLOCK:
            has_more = len(self.held(bundle)) > self.config.logical_blocks
        else:
            has_more = self.slots[bundle][U] is not None
        return has_more and not self.has_job(bundle)

    def note(self, bundle: int) -> None:
        """Follow any change of the bundle."""
        now = self.invalid_in_bundle(bundle) if self.could_be_collected(bundle) else None
        if now != self.noted[bundle]:
            self.noted[bundle], self.since[bundle] = now, next(self.sequence)

    def waiting(self, plane: int) -> list[int]:
        return [bundle for bundle in self.bundles_of_plane(plane) if self.could_be_collected(bundle)]

    def victim(self, plane: int) -> int | None:
        """One that is given up, or that with most invalid pages, of equals which had so many for longest."""
        found = self.waiting(plane)
        if given_up := list(filter(self.life.is_given_up, found)):
            return given_up[0]
        return min(found, key=lambda g: (-self.invalid_in_bundle(g), self.since[g]), default=None)

    # What changes them

    def put(self, ppn: int, lpn: int, version: int) -> None:
        """Program an erased page; the map goes to it."""
        assert not self.is_written(ppn), f"page {ppn} is programmed twice"
        self.physical[ppn] = (lpn, version)
        self.logical[lpn].ppn = ppn
        self.note(self.bundle_of(lpn))

    def unmap(self, lpn: int) -> None:
        self.logical[lpn].ppn = UNMAPPED
        self.note(self.bundle_of(lpn))

    def erase_pb(self, block: int, pb: int) -> None:
        """Erase a partial block, and spoil what is beside it and has borne too much."""
        levels, first_leaf = self.config.levels, self.sub_blocks_of_block(block)[0]
        for page in self.pages_of(block, pb):
            assert not self.is_valid(page), f"valid page {page} is erased"
            self.physical[page] = ERASED
        for leaf in heap.leaves_of(pb, levels):
            self.erases[first_leaf + leaf] += 1
            self.disturbed[first_leaf + leaf] = 0
        for leaf in heap.beside(pb, levels):
            self._disturb(first_leaf + leaf)
        self.life.note_erased_pb(block, pb)

    def _disturb(self, leaf: int) -> None:
        self.disturbed[leaf] += 1
        tolerance = self.config.disturb_tolerance
        if tolerance is None or self.disturbed[leaf] <= tolerance:
            return
        for page in filter(self.is_written, self.pages_of_sub_block(leaf)):
            self.counters["spoiled_pages"] += self.is_valid(page)
            self.physical[page] = (self.physical[page][0], SPOILED)

    # Reads

    def audit(self) -> None:
        """Count nothing: what has been lost at the end of a run may be read, and counted, in the next."""

    def lost_now(self) -> int:
        """Mapped pages that do not hold what they should."""
        mapped = [lpn for lpn in range(self.config.logical_pages) if self.is_mapped(lpn)]
        return sum(not self.holds_newest(lpn) for lpn in mapped)

    def read_flash(self, lpn: int) -> None:
        self.counters["flash_reads"] += 1
        self.counters["lost_pages"] += not self.holds_newest(lpn)

    def search_length(self, lpn: int) -> int:
        """How many pages of U are looked at before the host's page is found."""
        update_block = None if self.config.kind == SUPERBLOCK else self.slots[self.bundle_of(lpn)][U]
        if update_block is None or self.config.u_block_search == "free":
            return 0
        written = list(filter(self.is_written, self.pages_of_block(update_block)))
        ppn = self.logical[lpn].ppn
        return len([page for page in written if page > ppn]) if ppn in written else len(written)

    def read_for_host(self, lpn: int) -> int:
        """Read a mapped page, after a search; returns the pages searched."""
        searched = self.search_length(lpn)
        self.counters["search_reads"] += searched
        self.read_flash(lpn)
        return searched


class BlockCommands(Commands):
    config: BlockConfig

    def search_and_read(self, searched: int) -> Phases:
        """Of a page of the host, after the spare areas of so many pages of U."""
        c = self.config
        return [(False, (searched + 1) * c.read_ns), (True, c.transfer_ns + searched * c.spare_transfer_ns)]

    def scan(self, pages: int) -> Phases:
        c = self.config
        return [(False, pages * c.read_ns), (True, pages * c.spare_transfer_ns)]

    def erase_level(self, level: int) -> Phases:
        return [(False, self.config.erase_of(level))]


class CommandsOfJobs(BlockFlash):
    """Every method carries a command out and returns its phases."""

    def __init__(self, config: BlockConfig) -> None:
        super().__init__(config)
        self.commands = BlockCommands(config)

    def scan(self, blocks: list[int]) -> list[Phases]:
        """Read the spare areas of all programmed pages; no command where there is none."""
        pages = sum(self.is_written(page) for block in blocks for page in self.pages_of_block(block))
        self.counters["spare_reads"] += pages
        self.counters["gc_spare_ns"] += pages * (self.config.read_ns + self.config.spare_transfer_ns)
        return [self.commands.scan(pages)] if pages else []

    def copy(self, source: int, target: int) -> Phases:
        lpn, version = self.physical[source]
        self.read_flash(lpn)
        self.put(target, lpn, version)
        self.counters["relocated_pages"] += 1
        transfer_ns = 0 if self.config.copyback else self.config.transfer_ns
        self.counters["gc_read_ns"] += self.config.read_ns + transfer_ns
        self.counters["gc_write_ns"] += transfer_ns + self.config.program_ns
        return self.commands.move(1)

    def erase_command(self, block: int, pb: int) -> Phases:
        level = heap.level_of(pb)
        self.erase_pb(block, pb)
        self.counters["erases"] += 1
        self.counters["erased_sub_blocks"] += len(heap.leaves_of(pb, self.config.levels))
        self.counters["partial_erases"] += level > 0
        self.counters["gc_erase_ns"] += self.config.erase_of(level)
        return self.commands.erase_level(level)

    def erase_and_give_back(self, bundle: int, block: int) -> Phases:
        """Erase a whole block of the bundle, which joins the tail of the pool unless it is worn."""
        phases = self.erase_command(block, 1)
        self.slots[bundle][self.slots[bundle].index(block)] = None
        if block in self.life.worn:
            self.life.retire(block)
        else:
            self.pools[self.plane_of_bundle(bundle)].append(block)
        self.note(bundle)
        return phases
