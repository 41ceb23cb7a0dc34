"""Values of configuration fields; each has a word for configurations, a code for the engine and a meaning."""

from __future__ import annotations

from enum import StrEnum


class Choice(StrEnum):
    """A value of a configuration field; it is equal to its word, as in `Timing.NONE == "none"`.

    Attributes:
        code: number of the value in the engine.
        meaning: description of the value in help and documentation.
    """

    code: int
    meaning: str

    def __new__(cls, word: str, meaning: str) -> Choice:
        """Make a member with its word and meaning; members get the codes 0, 1, 2, ... in order."""
        member = str.__new__(cls, word)
        member._value_ = word
        member.code = len(cls.__members__)
        member.meaning = meaning
        return member

    @classmethod
    def described(cls) -> str:
        """Return all words with their meanings, as the description of a field."""
        return "; ".join(f"{choice}: {choice.meaning}" for choice in cls)


class EraseUnit(Choice):
    """Which part of a block one erase command may erase."""

    BLOCK = "block", "the whole block"
    SUB_BLOCK_RUN = "sub_block_run", "a run of adjacent sub-blocks"
    SUB_BLOCK_SET = "sub_block_set", "any set of sub-blocks"


class Isolation(Choice):
    """What protects the data of neighbouring sub-blocks from an erase."""

    NONE = "none", "not needed, as erases do not disturb neighbours"
    SOFTWARE = "software", "neighbours are emptied first"
    HARDWARE = "hardware", "layers without data lie between sub-blocks"


class MultiPlane(Choice):
    """Which planes of a die one command may use: to relocate, to erase and, if the FTL allows, to write."""

    # Hu et al., ICS 2011: multi-plane commands need equal block and page addresses; newer chips allow more.
    NONE = "none", "only one plane"
    STRICT = "strict", "several planes, at equal page numbers; erases only at equal block numbers"
    RELAXED = "relaxed", "several planes, at equal page numbers; erases at any block numbers"


class Allocation(Choice):
    """How and when the die of a host write is chosen."""

    STATIC = "static", "the logical page determines the plane"
    # The lengths of the dies' queues decide, as in Park et al. (IEEE CAL 2010).
    DYNAMIC = "dynamic", "a queued write goes to the die that is expected to be idle first"
    # Which die is idle decides, as in SSDsim (Hu et al., ICS 2011).
    LATE = "late", "writes wait in one queue until a die is idle (with timing none: as dynamic)"


class Timing(Choice):
    """Whether time is simulated."""

    NONE = "none", "only count operations"
    EVENT = "event", "simulate time"


class GcMode(Choice):
    """How many rounds of foreground garbage collection follow each other."""

    BARRIER = "barrier", "rounds until free space is above the threshold"
    PER_WRITE = "per_write", "one round for each host write while free space is below the threshold"


class GcPriority(Choice):
    """Priority of foreground garbage collection among the commands of its die."""

    FIRST = "first", "before all host commands"
    AFTER_READS = "after_reads", "after host reads"


class GcStart(Choice):
    """When a plane that needs foreground garbage collection is collected."""

    AT_ONCE = "at_once", "before the next host page is written"
    # SSDsim queues a round for every write below its GC threshold, and runs the round when no request waits.
    QUEUE_EMPTY = (
        "queue_empty",
        "when no host request waits for its die, or when only the blocks that GC itself needs are free",
    )


class GcGrain(Choice):
    """Whether a host request interrupts a round of background collection on its die."""

    COMMAND = "command", "stops when a host request arrives; the request waits for at most one command"
    # SSDsim creates uninterruptible rounds only.
    ROUND = "round", "does not stop before the erase of the round; host requests wait"


class WriteCompletes(Choice):
    """When the write of a host page counts as done."""

    PROGRAM = "program", "when the page is programmed"
    # As in SSDsim, where a request ends with its transfer.
    TRANSFER = "transfer", "when the data has reached the die, before the page is programmed"


class PlaneRows(Choice):
    """How planes come to the same row (page number within a block), so that one command can write them."""

    ANY = "any", "planes join if they happen to be at the same row"
    # As in Shin, Electronics Letters 2018, and in the function make_same_level of SSDsim.
    PAD = "pad", "a plane up to pad_limit rows behind first gets pages without data (padding)"
    # As in superblocks, whose blocks are written row by row: the plane that lags behind is written first.
    ALIGNED = "aligned", "the plane of a die that is at the lowest row is written next"


class HotnessCounts(Choice):
    """Which pages written by the host the hotness table counts."""

    WRITES = "writes", "all written pages"
    # SpeedupGC, section III-A: "when an update request arrives".
    UPDATES = "updates", "overwrites; a write to an unmapped logical page is not counted and is cold"


class ColdScatter(Choice):
    """How often the random block for cold pages is drawn."""

    # "A randomly selected block" (SpeedupGC, algorithm 2 and section III-D) can mean either.
    PAGE = "page", "a random block for each page"
    BLOCK = "block", "a random block, then another one when it is full"


class SubpageKind(Choice):
    """The FTL of a device that is addressed by subpages."""

    CGM = "cgm", "maps whole pages; a write of a part of a page first reads the rest of the page"
    FGM = (
        "fgm",
        "maps subpages; any subpages can share a page; a synchronous write leaves the rest of its page empty",
    )
    # Jin et al., SAC 2011.
    SECTOR_LOG = "sector_log", "maps whole pages, and writes parts of pages to a log that maps subpages"
    # This FTL and the region rules below are from Kim et al., DAC 2017.
    SUBFTL = (
        "subftl",
        "maps whole pages; writes parts of pages as single subpages, several per page between two erases",
    )


class RegionRule(Choice):
    """Which block of subFTL's region is written next; a pass programs one subpage in each page of a block."""

    FEWEST_VALID = "fewest_valid", "block with fewest valid subpages; collected first if it has no pass left"
    PRINTED = "printed", "block with fewest passes; if no block has a pass left, collect_blocks are collected"


class Advance(Choice):
    """What subFTL does when a pass comes to a page that has a valid subpage."""

    ALWAYS = "always", "the pass programs the subpage again, as the next subpage of the page"
    NEVER = "never", "the pass skips the page"


class BlockKind(Choice):
    """The FTL of a device that maps blocks."""

    NFTL = "nftl", "each logical block has a data block, and an update block for overwritten pages"
    # Kang et al., EMSOFT 2006.
    SUPERBLOCK = (
        "superblock",
        "several logical blocks share several physical blocks; a page can be at any place in these",
    )


class Striping(Choice):
    """How consecutive logical pages are distributed over the planes."""

    BLOCKS = "blocks", "consecutive logical pages share a logical block"
    PAGES = "pages", "consecutive logical pages lie in consecutive planes"


class UBlockSearch(Choice):
    """Whether finding a page in an update block costs time."""

    TIMED = "timed", "reads the spare areas of pages until the page is found"
    FREE = "free", "takes no time"


class MergePace(Choice):
    """When the commands of a merge are carried out."""

    AT_ONCE = "at_once", "all commands, one after the other"
    # Choudhuri and Givargis, CODES+ISSS 2008.
    SPREAD = "spread", "a few after each host page, so that the merge ends before the pool is empty"


class Capacity(Choice):
    """What a device does once its remaining blocks cannot hold all its logical pages."""

    FIXED = "fixed", "the device is at the end of its life"
    # Jiao, Bhimani, Kim, HotStorage 2022.
    VARIANT = "variant", "the capacity shrinks: the last logical pages are lost first"
