"""Values of configuration fields; each has a word in configurations, a code in the engine, and a meaning."""

from __future__ import annotations

from enum import StrEnum


class Choice(StrEnum):
    """A value of a configuration field; it equals its word as a string.

    Attributes:
        code: number of the value in the engine.
        meaning: description of the value in help and documentation.
    """

    code: int
    meaning: str

    def __new__(cls, word: str, meaning: str) -> Choice:
        """Make a member with its word and meaning; members have the codes 0, 1, 2, ... in their order."""
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
    """Which planes of a die one command may use: for moves, erases and, if the FTL allows, host writes."""

    # Hu et al., ICS 2011: multi-plane commands need equal block and page addresses; newer chips allow more.
    NONE = "none", "only one plane"
    STRICT = "strict", "planes with equal page numbers and, for erases, equal block numbers"
    RELAXED = "relaxed", "planes with equal page numbers, and any blocks for erases"


class Allocation(Choice):
    """When a host write is bound to its die."""

    STATIC = "static", "the logical page determines the plane"
    # The lengths of the dies' queues decide, as in Park et al. (IEEE CAL 2010).
    DYNAMIC = "dynamic", "a queued write goes to the die that is expected to be idle first"
    # Which die is idle decides, as in SSDsim (Hu et al., ICS 2011).
    LATE = "late", "writes wait in one queue, from which idle dies take them (timing none: as dynamic)"


class Timing(Choice):
    """Whether time is simulated."""

    NONE = "none", "only count operations"
    EVENT = "event", "simulate time"


class GcMode(Choice):
    """How long foreground garbage collection goes on."""

    BARRIER = "barrier", "rounds until free space is above the threshold"
    PER_WRITE = "per_write", "one round for each host write below the threshold"


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
    """How far an idle die goes on with background collection once it has begun."""

    COMMAND = "command", "until a host request arrives, which waits for at most one command"
    # SSDsim creates uninterruptible rounds only.
    ROUND = "round", "to the erase of the round, for which host requests wait"


class WriteCompletes(Choice):
    """When the write of a host page counts as done."""

    PROGRAM = "program", "when it is programmed"
    # As in SSDsim, where a request ends with its transfer.
    TRANSFER = "transfer", "when its data has reached the die, before it is programmed"


class PlaneRows(Choice):
    """Which rows (page numbers within a block) of a die's planes one command may write."""

    ANY = "any", "equal rows, if planes happen to have reached the same row"
    # As in Shin, Electronics Letters 2018, and in the function make_same_level of SSDsim.
    PAD = "pad", "equal rows; a plane that lags by up to pad_limit pages is padded first"
    # As in superblocks, whose blocks are written row by row: the plane that lags behind is written first.
    ALIGNED = "aligned", "equal rows; the plane of a die that lags most is written next"


class HotnessCounts(Choice):
    """Which pages written by the host the hotness table counts."""

    WRITES = "writes", "all written pages"
    # SpeedupGC, section III-A: "when an update request arrives".
    UPDATES = "updates", "pages whose logical page is already mapped; others are neither counted nor hot"


class ColdScatter(Choice):
    """How many cold pages are written to a randomly drawn block before another block is drawn."""

    # "A randomly selected block" (SpeedupGC, algorithm 2 and section III-D) can mean either.
    PAGE = "page", "a random block for each page"
    BLOCK = "block", "a random block, which is written until it is full"


class SubpageKind(Choice):
    """The FTL of a device that is addressed by subpages."""

    CGM = "cgm", "maps whole pages; a write of a part of a page first reads the rest"
    FGM = ("fgm", "maps subpages; any may share a page, whose rest stays empty if the host waits")
    # Jin et al., SAC 2011.
    SECTOR_LOG = "sector_log", "maps whole pages, and writes parts of pages to a log that maps subpages"
    # This FTL and the region rules below are from Kim et al., DAC 2017.
    SUBFTL = (
        "subftl",
        "maps whole pages, and programs parts of pages as single subpages, with no erase in between",
    )


class RegionRule(Choice):
    """Which block of subFTL's region is written next; a pass programs one subpage of each of its pages."""

    FEWEST_VALID = ("fewest_valid", "block with fewest valid subpages, which is collected if no pass is left")
    PRINTED = "printed", "block with fewest passes; once no block has passes left, some are collected"


class Advance(Choice):
    """What subFTL does with valid subpages in a page that the current pass over a block would program."""

    ALWAYS = "always", "they are programmed again as the next subpage of their page"
    NEVER = "never", "the pass skips their page"


class BlockKind(Choice):
    """The FTL of a device that maps blocks."""

    NFTL = "nftl", "each logical block has a data block, and an update block for overwritten pages"
    # Kang et al., EMSOFT 2006.
    SUPERBLOCK = (
        "superblock",
        "several logical blocks share several physical blocks, with their pages at any place in them",
    )


class Striping(Choice):
    """How consecutive logical pages are distributed over the planes."""

    BLOCKS = "blocks", "consecutive logical pages share a logical block"
    PAGES = "pages", "consecutive logical pages lie in consecutive planes"


class UBlockSearch(Choice):
    """Whether it takes time to find a page in an update block."""

    TIMED = "timed", "spare areas are read until the page is found"
    FREE = "free", "no time is needed to find it"


class MergePace(Choice):
    """When the commands of a merge are carried out."""

    AT_ONCE = "at_once", "all commands, one after the other"
    # Choudhuri and Givargis, CODES+ISSS 2008.
    SPREAD = "spread", "a few commands after each host page, enough to finish in time"


class Capacity(Choice):
    """What a device does once its remaining blocks cannot hold all its logical pages."""

    FIXED = "fixed", "the device is at the end of its life"
    # Jiao, Bhimani, Kim, HotStorage 2022.
    VARIANT = "variant", "the device gives up logical pages, from the last one on"
