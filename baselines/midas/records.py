"""The records of MiDAS: for pages, blocks, groups and the device."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ssdgym.baselines.midas import hot_filter
from ssdgym.policy import kernel, list_kernels

#: Write streams: the hot group, G1 .. G9, and four for a tail that begins at G9.
STREAMS = 13
#: Groups of a tail besides its first one.
TAIL = 3
#: Bins of the histogram of intervals for each block, and windows of the hot filter that are kept.
BINS, WINDOWS = 16, 10

PAGE: list[Any] = [
    ("stamp", "i4"),  # host pages from the epoch's start to the last write; < 0 after the first; 0 = none
    *hot_filter.PAGE,
]
BLOCK: list[Any] = [
    ("intervals", "i8", (BINS,)),  # part of the device's histogram: bins 16 b to 16 b + 15 of block b
    ("serial", "i8"),  # numbers blocks in the order in which they close or are passed on
    ("next", "i4"),  # next block in the list of the group, -1 for none
    ("previous", "i4"),
    ("group", "u1"),
    ("listed", "u1"),  # it is closed, and no victim
]
STREAM: list[Any] = [
    ("sealed", "i4"),  # listed blocks of a group
    ("oldest", "i4"),  # -1 for none
    ("newest", "i4"),
    ("victims", "i4"),  # of stream 0: blocks collected since the plane last got a page of the host
    ("collecting", "i4"),  # of stream 0: victims of the plane that have not been erased yet
    ("target", "u1"),  # of stream 0: group that the pages of these victims go to
]
MEMORY: list[Any] = [
    # The groups: G1 .. G(last - 1) and the hot one have sizes, for each plane, in listed blocks.
    ("last", "i8"),  # the last group, or the first of the tail
    ("top", "i8"),  # the group that pages do not leave: `last`, or the end of the tail
    ("limit", "i8", (STREAMS,)),
    ("serial", "i8"),  # blocks closed or passed on
    # The hot filter, and what it saw in its last windows.
    *hot_filter.MEMORY,
    ("host_pages", "i8"),  # of the present window, like the next two fields
    ("hot_pages", "i8"),
    ("hot_valid", "f8"),
    ("windows", "i8"),
    ("window_traffic", "f8", (WINDOWS,)),
    ("window_valid", "f8", (WINDOWS,)),
    ("window_blocks", "f8", (WINDOWS,)),
    # The epoch.
    ("stage", "i8"),  # the stage that the next period carries out
    ("due", "i8"),  # clock at which that stage is due
    ("epoch", "i8"),  # number of the epoch that is being timed, from 1
    ("epoch_start", "i8"),  # clock
    ("epoch_pages", "i8"),  # its length
    ("bins", "i8"),  # of the histogram
    ("unit", "i8"),  # width of a bin in host pages, 0 = nothing is timed
    ("moved", "i8"),  # pages relocated
    ("moved_before", "i8"),  # `moved` when the last part of the epoch began
    ("clock_before", "i8"),  # clock when the last part of the epoch began
    # The outcome of the last epoch.
    ("outcome", "i8"),
    ("applied", "i8"),  # configurations taken so far
    ("predicted_amplification", "f8"),
    ("measured_amplification", "f8"),
    ("predicted_valid", "f8", (STREAMS,)),
    # Whether the groups behave as predicted.
    ("configured", "i8"),  # number of groups of the configuration in force, 0 = none
    ("seen", "i8"),  # bit g: group g has had a victim since the configuration
    ("watched_since", "i8"),  # clock at which all groups had had a victim, 0 = not yet
    ("victims", "i8", (STREAMS,)),
    ("valid", "f8", (STREAMS,)),  # sum of the valid shares of these victims
    ("irregular", "i8"),  # 1: a group in the first half of the chain was irregular in this epoch
    ("irregular_epochs", "i8"),  # irregular epochs in a row
]


def unit_of(pages_per_block: int) -> int:
    """Return the width of a bin at the start, in host pages: a quarter of a block, rounded up."""
    return -(-pages_per_block // 4)


def corrected(counts: np.ndarray, once: int) -> np.ndarray:
    """Return the histogram of an epoch, including intervals that the end of the epoch cuts off.

    Args:
        counts: intervals by bin, shape (T,), whole numbers.
        once: number of pages written once in the epoch. Their interval counts as the length of the epoch.

    Returns:
        Intervals by bin, shape (T,), int64.
    """
    counts = np.array(counts, np.int64)
    bins = len(counts)
    counts[-1] += once
    i = np.arange(1, bins)
    left = ((bins % i) * 2 + i) / (2 * i)
    counts[1:] += np.floor(counts[1:] * left * i / bins).astype(np.int64)
    return counts


@dataclass(frozen=True, eq=False)
class Intervals:
    """A histogram of intervals, and its sums up to each bin."""

    counts: np.ndarray  # intervals by bin, shape (T,); bin `j` begins at `j * width`
    width: float  # of a bin, in blocks of host pages

    @property
    def bins(self) -> int:
        """T, the number of bins."""
        return len(self.counts)

    @cached_property
    def upto(self) -> np.ndarray:
        """Number of intervals in all bins before each bin, then of all intervals, shape (T + 1,) float64."""
        return _sums(self.counts)

    @cached_property
    def summed_upto(self) -> np.ndarray:
        """The cumulative sum of `upto[1:]`, shape (T + 1,) float64."""
        return _sums(self.upto[1:])

    @cached_property
    def length_upto(self) -> np.ndarray:
        """The sum of the intervals in all bins before each bin, in blocks, shape (T + 1,) float64."""
        return _sums(self.counts * (np.arange(self.bins) * self.width))

    def first_from(self, blocks: np.ndarray) -> np.ndarray:
        """Return the first bin that begins at this length or later; T if there is none, or for NaN."""
        return np.fmin(np.ceil(blocks / self.width), self.bins).astype(np.int64)


def _sums(values: np.ndarray) -> np.ndarray:
    return np.concatenate([[0.0], np.cumsum(values, dtype=np.float64)])


append, _remove = list_kernels("oldest", "newest", "next", "previous")


@kernel
def enlist(view, block, group):
    """Append a closed block to the list of a group, as its newest."""
    view.memory[0].serial += 1
    view.block_memory[block].serial = view.memory[0].serial
    _join(view, block, group)


@kernel
def _join(view, block, group):
    record, records = view.block_memory[block], view.stream_memory[view.block[block].plane * STREAMS + group]
    record.group, record.listed = group, 1
    append(view.block_memory, records, block)
    records.sealed += 1


@kernel
def delist(view, block):
    """Remove a block from the list of its group, if it is listed."""
    record = view.block_memory[block]
    if record.listed != 0:
        group = view.stream_memory[view.block[block].plane * STREAMS + record.group]
        _remove(view.block_memory, group, block)
        group.sealed -= 1
        record.listed = 0


@kernel
def fold(view, first):
    """Merge a group and all later groups into one group with a tail; G1 ends the present configuration."""
    memory, params = view.memory[0], view.params[0]
    for block in range(params.planes * params.blocks):
        record = view.block_memory[block]
        if record.listed != 0 and record.group > first:
            delist(view, block)
            _join(view, block, first)
    memory.last, memory.top = first, first + TAIL
    if first == 1:
        memory.configured = 0
