"""What MiDAS remembers of pages, blocks, streams and the device."""

from typing import Any

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
    ("way", "u1"),  # of stream 0: the stream that pages of the last group are written to
    ("open", "u1"),  # it has an open block
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
    ("unsampled", "i8"),  # intervals of bin 0 in the units in which all pages are counted
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
