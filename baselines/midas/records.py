"""What MiDAS keeps of pages and blocks."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ssdgym.policy import kernel, list_kernels

#: Write streams: the hot group, G1 .. G9, and four for a tail that begins at G9.
STREAMS = 13
#: Groups of a tail besides its first one.
TAIL = 3
#: Bins of the histogram of intervals for each block, and windows of the hot filter that are kept.
BINS, WINDOWS = 16, 10

PAGE: list[Any] = [
    ("stamp", "i4"),  # host page of the epoch that wrote it, negative from the second one on; 0 = none
    ("heat", "u1"),  # counter of the hot filter
]
BLOCK: list[Any] = [
    ("intervals", "i8", (BINS,)),  # the histogram of the device: bins 16 b to 16 b + 15
    ("serial", "i8"),  # number of its closing, or of its being passed on
    ("next", "i4"),  # in the list of its group, -1 for none
    ("previous", "i4"),
    ("group", "u1"),
    ("listed", "u1"),  # it is closed, and no victim
]
STREAM: list[Any] = [
    ("sealed", "i4"),  # listed blocks of a group
    ("oldest", "i4"),  # -1 for none
    ("newest", "i4"),
    ("victims", "i4"),  # of stream 0: blocks of the plane collected since it last got a page of the host
    ("collecting", "i4"),  # of stream 0: victims of the plane that have not been erased yet ...
    ("target", "u1"),  # ... and the group that their pages go to
]
MEMORY: list[Any] = [
    # The groups: G1 .. G(last - 1) and the hot one have sizes, for each plane, in listed blocks.
    ("last", "i8"),  # the last group, or the first of the tail
    ("top", "i8"),  # the group that pages do not leave: `last`, or the end of the tail
    ("limit", "i8", (STREAMS,)),
    ("serial", "i8"),  # blocks closed or passed on
    # The hot filter, and what it saw in its last windows.
    ("tau", "f8"),
    ("ignored", "i8"),  # events at the start, as many as there are logical pages
    ("overwrites", "i8"),  # of the present window, as the following
    ("host_pages", "i8"),
    ("hot_pages", "i8"),
    ("hot_victims", "i8"),
    ("hot_ages", "f8"),
    ("hot_valid", "f8"),
    ("windows", "i8"),
    ("window_traffic", "f8", (WINDOWS,)),
    ("window_valid", "f8", (WINDOWS,)),
    ("window_blocks", "f8", (WINDOWS,)),
    # The epoch.
    ("stage", "i8"),  # what the next period does
    ("due", "i8"),  # at which clock
    ("epoch", "i8"),  # number of the epoch that is being timed, from 1
    ("epoch_start", "i8"),  # clock
    ("epoch_pages", "i8"),  # its length
    ("bins", "i8"),  # of the histogram
    ("unit", "i8"),  # width of a bin in host pages, 0 = nothing is timed
    ("moved", "i8"),  # pages relocated
    ("moved_before", "i8"),  # the same, and the clock, when the last pages of the epoch began
    ("clock_before", "i8"),
    # What became of the last epoch.
    ("outcome", "i8"),
    ("applied", "i8"),  # configurations taken so far
    ("predicted_amplification", "f8"),
    ("measured_amplification", "f8"),
    ("predicted_valid", "f8", (STREAMS,)),
    # Whether the groups behave as predicted.
    ("configured", "i8"),  # number of groups of the configuration in force, 0 = none
    ("seen", "i8"),  # bit g: group g had a victim since
    ("watched_since", "i8"),  # clock at which all had one, 0 = not yet
    ("victims", "i8", (STREAMS,)),
    ("valid", "f8", (STREAMS,)),  # sum of the valid shares of these victims
    ("irregular", "i8"),  # the first half of the chain was, in this epoch
    ("irregular_epochs", "i8"),  # running
]


#: A page is hot while its counter is at the top.
FULL = 3
#: Groups of blocks whose pages are judged: that of hot pages, and that of the other pages of the host.
HOT, HOST = 0, 1


@kernel
def heat_after_overwrite(heat, group, age, tau):
    """Return the counter of a page that the host writes again, `age` host pages after its block closed."""
    if group == HOT or (group == HOST and age <= tau):
        return min(heat + 1, FULL)
    return max(heat - 1, 0) if group == HOST else heat


@kernel
def heat_after_move(heat, group):
    """Return the counter of a page that is still valid when its block, of this group, is collected."""
    if group == HOT:
        return max(heat - 2, 0)
    return max(heat - 1, 0) if group == HOST else heat


@kernel
def next_tau(tau, mean_age):
    """Return the threshold after a window of `tau` overwrites."""
    return 1.5 * tau if mean_age >= 2.0 * tau else (mean_age + tau) / 2.0


def unit_of(pages_per_block: int) -> int:
    """Return the width of a bin at the start, in host pages: a quarter of a block, rounded up."""
    return -(-pages_per_block // 4)


def corrected(counts: np.ndarray, once: int) -> np.ndarray:
    """Return the histogram of an epoch, with what the end of the epoch has cut off.

    Args:
        counts: intervals by bin, shape (T,), whole numbers.
        once: pages that were written once in the epoch; their interval is as long as the epoch.

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
        """Number of intervals below each bin, and of all of them, shape (T + 1,) float64."""
        return _sums(self.counts)

    @cached_property
    def summed_upto(self) -> np.ndarray:
        """The sum of `upto` behind each bin, over all bins before one, shape (T + 1,) float64."""
        return _sums(self.upto[1:])

    @cached_property
    def length_upto(self) -> np.ndarray:
        """The sum of the intervals of all bins before one, in blocks, shape (T + 1,) float64."""
        return _sums(self.counts * (np.arange(self.bins) * self.width))

    def first_from(self, blocks: np.ndarray) -> np.ndarray:
        """Return the first bin that begins at this length or later, T if there is none or no such length."""
        return np.fmin(np.ceil(blocks / self.width), self.bins).astype(np.int64)


def _sums(values: np.ndarray) -> np.ndarray:
    return np.concatenate([[0.0], np.cumsum(values, dtype=np.float64)])


_append, _remove = list_kernels("oldest", "newest", "next", "previous")


@kernel
def enlist(view, plane, block):
    """Append a closed block to the list of its group, as its newest."""
    memory, record = view.memory[0], view.block_memory[block]
    memory.serial += 1
    record.serial = memory.serial
    _join(view, plane, block)


@kernel
def _join(view, plane, block):
    record = view.block_memory[block]
    group = view.stream_memory[plane * STREAMS + record.group]
    _append(view.block_memory, group, block)
    group.sealed += 1
    record.listed = 1


@kernel
def delist(view, plane, block):
    """Take a block out of the list of its group, if it is in it."""
    record = view.block_memory[block]
    if record.listed == 0:
        return
    group = view.stream_memory[plane * STREAMS + record.group]
    _remove(view.block_memory, group, block)
    group.sealed -= 1
    record.listed = 0


@kernel
def fold(view, first):
    """Make one group of a group and all behind it, with a tail; the first one there can be is G1."""
    memory, params = view.memory[0], view.params[0]
    first = max(first, 1)
    for block in range(params.planes * params.blocks):
        record = view.block_memory[block]
        if record.listed != 0 and record.group > first:
            plane = block // params.blocks
            delist(view, plane, block)
            record.group = first
            _join(view, plane, block)
    memory.last = first
    memory.top = first + TAIL
    if first == 1:
        memory.configured = 0
