"""What DOGI remembers of pages, blocks, streams and the device."""

from __future__ import annotations

from typing import Any

#: Write streams: the hot group, G1 .. G6 and the frozen group.
STREAMS = 8
HOT, FIRST, COLDEST, FROZEN = 0, 1, 6, 7
#: The classifier: its inputs, the width of its two hidden layers, its outputs.
FEATURES, HIDDEN, CATEGORIES = 6, 32, 10
#: Samples of which the classifier is trained, at most.
SAMPLES = 8192
#: Of the byte that holds the interval of a page; so is that of a page that was never written.
LONGEST = 255
#: Blocks that are written while that byte grows by one.
BLOCKS_OF_UNIT = 4
#: Pages that are counted together, or a block if that is more.
CHUNK = 512

PAGE: list[Any] = [
    ("sample", "u2"),  # number of the sample that waits for its next write, from 1
    ("interval", "u1"),  # age in units when it was moved last, 0 if it was not moved since it was written
    ("windows", "u1"),  # bit 7: written in the present window, bit 6: in the one before, ...
    ("category", "u1"),  # that it was written with, from 1; 0 once it was moved, or if it was hot
    ("overwritten", "u1"),  # and not frozen
]
BLOCK: list[Any] = [
    ("opened_at", "i8"),  # clock
    ("sealed_at", "i8"),  # clock + 1, 0 while it is open
    ("chunk_writes", "i8"),  # of the chunk of this number
]
STREAM: list[Any] = [("open", "u1")]  # it has an open block
MEMORY: list[Any] = [
    ("due", "i8", (4,)),  # clock at which each kind of work is done next; 0 = not begun
    ("moved", "i8"),  # pages relocated
    ("previous", "i8"),  # logical page of the last host write
    # The bound of the hot group.
    ("mu", "i8"),  # host pages
    ("mu_before", "i8"),
    ("window_start", "i8"),  # clock
    ("window_moved", "i8"),
    ("amplification", "f8"),  # of the window before, 0 = none
    # Groups.
    ("configured", "i8"),  # they are of categories
    ("top", "i8"),  # number of the coldest one
    ("group", "i8", (CATEGORIES + 1,)),  # of each category, from 1; 0 = no category
    ("target", "i8", (CATEGORIES + 1,)),  # of pages that are moved for the first time; 0 = next group
    ("life", "i8", (STREAMS,)),  # host pages after which a block of a group is expired
    ("predicted", "f8"),  # write amplification
    # The hot group since the last training.
    ("host_pages", "i8"),
    ("hot_pages", "i8"),
    ("hot_victims", "i8"),
    ("hot_valid", "i8"),  # pages
    # Samples.
    ("sampled_from", "i8"),  # clocks between which samples are taken
    ("sampled_until", "i8"),
    ("spacing", "i8"),  # one write that is not hot in so many
    ("passed", "i8"),  # such writes since the last sample
    ("samples", "i8"),
    ("features", "f4", (SAMPLES, FEATURES)),
    ("taken_at", "i8", (SAMPLES,)),
    ("lives", "i8", (SAMPLES,)),  # host pages until it was written again, 0 = not yet
    # The classifier.
    ("trained", "i8"),  # how often
    ("accuracy", "f8"),
    ("means", "f4", (FEATURES,)),
    ("scales", "f4", (FEATURES,)),
    ("weights_1", "f4", (FEATURES, HIDDEN)),
    ("biases_1", "f4", (HIDDEN,)),
    ("weights_2", "f4", (HIDDEN, HIDDEN)),
    ("biases_2", "f4", (HIDDEN,)),
    ("weights_3", "f4", (HIDDEN, CATEGORIES)),
    ("biases_3", "f4", (CATEGORIES,)),
    # Room for its sums, 0 between two calls: compiled rules can make no arrays.
    ("inputs", "f4", (FEATURES,)),
    ("hidden", "f4", (2, HIDDEN)),
    ("outputs", "f4", (CATEGORIES,)),
]
