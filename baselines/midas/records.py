"""The records of MiDAS: for pages, blocks, groups and the device. Every group has a list of closed blocks."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ssdgym.baselines.midas import hot_filter
from ssdgym.policy import kernel, list_kernels

#: Write streams: the hot group, G1 .. G9, and `TAIL` more for a tail that begins at G9.
STREAMS = 13
#: A tail consists of the last group and this number of further groups.
TAIL = 3
#: Bins of the histogram of intervals per block of the device; windows whose measurements are stored.
BINS, WINDOWS = 16, 10

PAGE: list[Any] = [
    ("stamp", "i4"),  # host pages from the epoch's start to the last write, negated if not the first; 0: none
    *hot_filter.PAGE,
]
BLOCK: list[Any] = [
    ("intervals", "i8", (BINS,)),  # in block b: bins 16 b to 16 b + 15 of the histogram of the device
    ("serial", "i8"),  # number in the order in which blocks are appended to lists
    ("next", "i4"),  # next block in the list of the group, -1 for none
    ("previous", "i4"),
    ("group", "u1"),
    ("listed", "u1"),  # 1: the block is closed and no victim
]
STREAM: list[Any] = [
    ("sealed", "i4"),  # number of listed blocks of the group
    ("oldest", "i4"),  # oldest listed block, -1 for none
    ("newest", "i4"),
    ("victims", "i4"),  # in stream 0: blocks collected by foreground GC since the plane's last host page
    ("collecting", "i4"),  # in stream 0: victims of the plane that have not been erased yet
    ("target", "u1"),  # in stream 0: group to which the pages of these victims are relocated
]
MEMORY: list[Any] = [
    # The groups. All groups below `last` have sizes.
    ("last", "i8"),  # number of the last group, which is the first one of a tail
    ("top", "i8"),  # number of the last group of the tail; without a tail, `last`
    ("limit", "i8", (STREAMS,)),  # size of each group in listed blocks per plane
    ("serial", "i8"),  # number of blocks appended to lists so far
    # The hot filter, and measurements in its windows.
    *hot_filter.MEMORY,
    ("host_pages", "i8"),  # host pages in the present window
    ("hot_pages", "i8"),  # host pages in the present window that went to the hot group
    ("hot_valid", "f8"),  # sum of the valid shares of victims of the hot group in the present window
    ("windows", "i8"),  # windows that have ended in this epoch; the last `WINDOWS` of them are stored below
    ("window_traffic", "f8", (WINDOWS,)),  # share of the host pages that went to the hot group
    ("window_valid", "f8", (WINDOWS,)),  # mean valid share of the victims of the hot group
    ("window_blocks", "f8", (WINDOWS,)),  # listed blocks of the hot group
    # The epoch.
    ("stage", "i8"),  # the stage that is carried out next
    ("due", "i8"),  # clock at which this stage is due
    ("epoch", "i8"),  # number of the present epoch, from 1
    ("epoch_start", "i8"),  # clock
    ("epoch_pages", "i8"),  # length of an epoch in host pages
    ("bins", "i8"),  # number of bins of the histogram
    ("unit", "i8"),  # width of a bin in host pages, 0 = no epoch has begun
    ("moved", "i8"),  # pages relocated so far
    ("moved_before", "i8"),  # `moved` when the last part of the epoch began
    ("clock_before", "i8"),  # clock when the last part of the epoch began
    # The outcome of the last epoch.
    ("outcome", "i8"),  # index in `epochs.OUTCOMES`
    ("applied", "i8"),  # number of configurations applied so far
    ("predicted_amplification", "f8"),
    ("measured_amplification", "f8"),
    ("predicted_valid", "f8", (STREAMS,)),  # valid share of the victims of each group
    # Whether the groups behave as predicted.
    ("configured", "i8"),  # number of groups with a size in the present configuration, 0 = there is none
    ("seen", "i8"),  # bit g: group g has had a victim since the configuration was applied
    ("watched_since", "i8"),  # clock at which the counts below began, 0 = a group had no victim yet
    ("victims", "i8", (STREAMS,)),
    ("valid", "f8", (STREAMS,)),  # sum of the valid shares of these victims
    ("irregular", "i8"),  # 1: a group in the first half of the chain was irregular in this epoch
    ("irregular_epochs", "i8"),  # number of such epochs in a row
]


def unit_of(pages_per_block: int) -> int:
    """Return the width of a bin at the start, in host pages: a quarter of a block, rounded up."""
    return -(-pages_per_block // 4)


def corrected(counts: np.ndarray, once: int) -> np.ndarray:
    """Return the histogram of an epoch with estimates of the intervals that the end of the epoch cuts off.

    Args:
        counts: measured number of intervals by bin, shape (T,).
        once: number of pages written once in the epoch. Each adds an interval to the last bin.

    Returns:
        Number of intervals by bin, shape (T,), int64.
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
    """A histogram of intervals between writes of a page, and its sums up to each bin."""

    counts: np.ndarray  # number of intervals by bin, shape (T,); bin `j` begins at `j * width`
    width: float  # width of a bin, in blocks of host pages

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
        """Return the first bin that begins at `blocks` of host pages or above; T if none does, or for NaN."""
        return np.fmin(np.ceil(blocks / self.width), self.bins).astype(np.int64)


def _sums(values: np.ndarray) -> np.ndarray:
    return np.concatenate([[0.0], np.cumsum(values, dtype=np.float64)])


append, _remove = list_kernels("oldest", "newest", "next", "previous")


@kernel
def enlist(view, block, group):
    """Append a closed block to the list of a group, as the newest block."""
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
    """Merge group `first` and all later ones into one with a tail; with G1, no configuration remains."""
    memory, params = view.memory[0], view.params[0]
    for block in range(params.planes * params.blocks):
        record = view.block_memory[block]
        if record.listed != 0 and record.group > first:
            delist(view, block)
            _join(view, block, first)
    memory.last, memory.top = first, first + TAIL
    if first == 1:
        memory.configured = 0
