"""Choices that have a word in configurations, a code in the engine, and a meaning."""

from __future__ import annotations

from enum import StrEnum


class Choice(StrEnum):
    """One of several ways; equal to its word.

    Attributes:
        code: what the engine calls it.
        meaning: for help and documentation.
    """

    code: int
    meaning: str

    def __new__(cls, word: str, meaning: str) -> Choice:
        """Make a member of its word and its meaning; codes are counted from 0."""
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
    """What one erase may take of a block."""

    BLOCK = "block", "all of it"
    SUB_BLOCK_RUN = "sub_block_run", "a run of sub-blocks"
    SUB_BLOCK_SET = "sub_block_set", "any set of sub-blocks"


class Isolation(Choice):
    """What protects the data of neighbouring sub-blocks from an erase."""

    NONE = "none", "nothing: an erase does not disturb them"
    SOFTWARE = "software", "neighbours are emptied first"
    HARDWARE = "hardware", "layers without data lie between sub-blocks"


class MultiPlane(Choice):
    """Planes of a die that one command may take: moves, erases and, if the FTL allows, host writes."""

    # Hu et al., ICS 2011: commands of several planes share block and page address; newer chips need less.
    NONE = "none", "no others"
    STRICT = "strict", "those with equal page numbers, and for erases with equal block numbers"
    RELAXED = "relaxed", "those with equal page numbers; erases take any blocks"


class Allocation(Choice):
    """When a host write is bound to its die."""

    STATIC = "static", "plane by logical page"
    # By queue, as Park et al. (IEEE CAL 2010).
    DYNAMIC = "dynamic", "when it is queued, to the die that should be idle first"
    # By state, as SSDsim does (Hu et al., ICS 2011).
    LATE = "late", "writes wait in one queue, and an idle die takes one (without time as dynamic)"


class Timing(Choice):
    """Whether time is simulated."""

    NONE = "none", "count only"
    EVENT = "event", "simulate time"


class GcMode(Choice):
    """How long foreground garbage collection goes on."""

    BARRIER = "barrier", "rounds until above the barrier"
    PER_WRITE = "per_write", "one round per triggering host write"


class GcPriority(Choice):
    """Priority of foreground garbage collection among the commands of its die."""

    FIRST = "first", "before all host commands"
    AFTER_READS = "after_reads", "after host reads"


class GcStart(Choice):
    """When a plane that needs foreground garbage collection is collected."""

    AT_ONCE = "at_once", "before the next page of the host"
    # SSDsim queues a round for every write below the threshold and carries it out when no request waits.
    QUEUE_EMPTY = (
        "queue_empty",
        "when nothing of the host waits for its die, or when only the blocks are free that collection needs",
    )


class GcGrain(Choice):
    """How far an idle die goes on with background collection once it has begun."""

    COMMAND = "command", "until the host comes, which waits for one command at most"
    # SSDsim creates uninterruptible rounds only.
    ROUND = "round", "to the erase of the round, for which the host waits"


class WriteCompletes(Choice):
    """When a page of the host that is written counts as done."""

    PROGRAM = "program", "when it is programmed"
    # SSDsim, whose requests end with their transfer.
    TRANSFER = "transfer", "when its data has reached the die, which goes on to program it"


class PlaneRows(Choice):
    """Which rows of the planes of a die may be written in one command."""

    ANY = "any", "equal ones, wherever the planes happen to be"
    # Shin, Electronics Letters 2018; make_same_level of SSDsim.
    PAD = "pad", "equal ones; a plane that lags by up to pad_limit pages is padded first"
    # Superblocks, whose blocks share a row: the plane that is behind the others is written first.
    ALIGNED = "aligned", "equal ones; of the planes of a die the one that lags most is written next"


class HotnessCounts(Choice):
    """Which pages of the host the hotness table counts."""

    WRITES = "writes", "all that are written"
    # SpeedupGC, section III-A: "when an update request arrives".
    UPDATES = "updates", "those whose logical page is mapped; others count for nothing and are not hot"


class ColdScatter(Choice):
    """How long cold pages stay with the block that is drawn for them."""

    # Two readings of "a randomly selected block" (SpeedupGC, algorithm 2 and section III-D).
    PAGE = "page", "a block is drawn for each page"
    BLOCK = "block", "a block is drawn, and written until it is full"


class SubpageKind(Choice):
    """The FTL of a device that is addressed by subpages."""

    CGM = "cgm", "maps whole pages; a write of part of one reads the rest of it first"
    FGM = "fgm", "maps subpages; any of them share a page, and what a waiting host does not fill is wasted"
    # Jin et al., SAC 2011.
    SECTOR_LOG = "sector_log", "maps whole pages, and writes parts of pages to a log that maps subpages"
    # Kim et al., DAC 2017, as are the region rules.
    SUBFTL = (
        "subftl",
        "maps whole pages, and programs parts of pages as single subpages without an erase between",
    )


class RegionRule(Choice):
    """Which block of subFTL's region is written next."""

    FEWEST_VALID = "fewest_valid", "that with the fewest valid subpages; without passes left it is collected"
    PRINTED = "printed", "that with the fewest passes; once none has passes left, some are collected first"


class Advance(Choice):
    """What subFTL does with a valid subpage that is in the way of a pass."""

    ALWAYS = "always", "programs it again as the next subpage of its page"
    NEVER = "never", "leaves the page out of the pass"


class BlockKind(Choice):
    """The FTL of a device that maps blocks."""

    NFTL = "nftl", "each logical block has a data block, and an update block for what is written again"
    # Kang et al., EMSOFT 2006.
    SUPERBLOCK = (
        "superblock",
        "several logical blocks share several blocks, in which their pages lie anywhere",
    )


class Striping(Choice):
    """How logical pages follow each other over the planes."""

    BLOCKS = "blocks", "pages that follow each other share a logical block"
    PAGES = "pages", "pages that follow each other lie in planes that follow each other"


class UBlockSearch(Choice):
    """Whether it takes time to find a page in an update block."""

    TIMED = "timed", "spare areas are read until the page is found"
    FREE = "free", "where it is, is known to the controller"


class MergePace(Choice):
    """When the commands of a merge are carried out."""

    AT_ONCE = "at_once", "one behind the other"
    # Choudhuri and Givargis, CODES+ISSS 2008.
    SPREAD = "spread", "a few after each page of the host, as many as it takes to be done in time"


class Capacity(Choice):
    """What a device does once the blocks that are left no longer hold its logical pages."""

    FIXED = "fixed", "it is at the end of its life"
    # Jiao, Bhimani, Kim, HotStorage 2022.
    VARIANT = "variant", "it gives up logical pages, from the last one on"
