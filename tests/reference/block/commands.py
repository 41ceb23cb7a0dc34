"""The flash commands of the block family: what they take, and what they count."""

from __future__ import annotations

from ..nand import Commands, Phases
from . import heap
from .config import BlockConfig
from .flash import BlockFlash


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
        """Erase a whole block of the bundle, which joins the tail of the pool."""
        phases = self.erase_command(block, 1)
        self.slots[bundle][self.slots[bundle].index(block)] = None
        self.pools[self.plane_of_bundle(bundle)].append(block)
        self.note(bundle)
        return phases
