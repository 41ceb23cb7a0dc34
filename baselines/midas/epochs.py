"""The epochs of MiDAS, in which intervals between writes are measured, and the stages of an epoch."""

from typing import Any

import numpy as np

from ssdgym.baselines.midas.model import Configuration, Measured, Model, search
from ssdgym.baselines.midas.records import TAIL, Intervals, append, corrected, unit_of

#: Bit of an indexed block in the engine's `view.block.status`.
_INDEXED = 2


def change(view: Any, sizes: tuple[int, ...]) -> None:
    """Set the sizes of the hot group and G1 .. G(n-1), in listed (closed) blocks per plane.

    Blocks of the old last group and its tail, blocks of removed groups, and the oldest blocks of groups over
    their size join the new last group without relocations.
    """
    memory, records, planes = view.memory[0], view.block_memory, _planes_of(view)
    last = len(sizes)
    group = records.group
    group[group >= min(int(memory.last), last)] = last
    memory.last = memory.top = last
    memory.limit[:last] = sizes
    for plane in range(int(view.params[0].planes)):
        for number, size in enumerate(sizes):
            own = np.flatnonzero((records.listed != 0) & (group == number) & (planes == plane))
            by_age = own[np.argsort(records.serial[own])]
            group[by_age[: max(len(by_age) - size, 0)]] = last
    _link(view)


def _planes_of(view: Any) -> np.ndarray:
    return np.arange(len(view.block)) // int(view.params[0].blocks)


def _link(view: Any) -> None:
    """Build the list of every group from its listed blocks, oldest first."""
    records, groups, streams = view.block_memory, view.stream_memory, len(view.memory[0].limit)
    groups.oldest, groups.newest, groups.sealed = -1, -1, 0
    numbers = _planes_of(view) * streams + records.group
    for block in np.argsort(records.serial, kind="stable"):
        if records.listed[block]:
            append.py_func(records, groups[numbers[block]], block)
            groups[numbers[block]].sealed += 1


#: Stages, the values of `memory.stage`: `_begin`, `_begin_epoch`, `_measure` or `_end_epoch` is due next.
BEGIN, FILL, TIME, MEASURE = range(4)
#: Outcomes of an epoch.
NOTHING_YET, APPLIED, HOT_GROUP_IMPURE, LAST_GROUP_EMPTY, NO_GROUPS, NOT_BETTER = range(6)
OUTCOMES = (
    "no epoch has ended",
    "the configuration was applied",
    "the hot group holds too many valid pages; epochs are twice as long",
    "the last group is empty; epochs are twice as long",
    "the model finds no groups",
    "the prediction is worse than what was measured",
)
#: Above this mean valid share of its victims, a hot group of one block, or of more blocks, is impure.
IMPURE_ONE, IMPURE = 0.3, 0.18
#: After `CHECKED_PART` of an epoch, groups with a valid share `IRREGULAR` above the prediction are irregular.
CHECKED_PART, IRREGULAR = 0.3, 0.1
#: Smallest size of the last group: 50 / 2,048 of all blocks.
MARGIN, MARGIN_OF = 50, 2048
#: Longest epoch in host pages: the times stored for pages (`stamp`) have 31 bits.
LONGEST = 1 << 30


def period(view: Any, parameters: Any) -> int:
    """Carry out the stage or check that is due; return the number of host pages until the next one."""
    memory, clock = view.memory[0], int(view.control[0].clock)
    if memory.stage == BEGIN:
        _begin(view, clock)
    elif clock >= memory.due:
        _STAGES[int(memory.stage)](view, clock)
    if memory.watched_since > 0 and clock >= memory.watched_since + _checked_pages(memory):
        _check(view, clock)
    wait = int(memory.due) - clock
    if memory.configured > 0:
        since = int(memory.watched_since) or clock
        wait = min(wait, since + _checked_pages(memory) - clock)
    return max(wait, 1)


def _pages_of(view: Any) -> int:
    params = view.params[0]
    return int(params.planes) * int(params.blocks) * int(params.pages_per_block)


def _checked_pages(memory: Any) -> int:
    return max(int(CHECKED_PART * float(memory.epoch_pages)), 1)


def _begin(view: Any, clock: int) -> None:
    """Put all closed blocks into G1, which is the last group and has a tail.

    The first epoch begins when the device is full and as many more host pages as logical pages are written.
    """
    memory, blocks, logical_pages = view.memory[0], view.block, int(view.params[0].logical_pages)
    memory.last, memory.top = 1, 1 + TAIL
    is_open = (blocks.status & 1) != 0
    view.block_memory.group = np.where(is_open, np.minimum(blocks.stream, memory.top), 1)
    view.stream_memory.target = 2  # where rounds that already run relocate pages
    view.block_memory.listed = (blocks.status & _INDEXED) != 0
    _link(view)
    memory.tau = logical_pages
    unit = unit_of(int(view.params[0].pages_per_block))
    memory.bins = 4 * _pages_of(view) // unit
    memory.epoch_pages = memory.bins * unit
    memory.stage = FILL
    memory.due = clock + logical_pages - int(view.plane.valid.sum()) + logical_pages


def _begin_epoch(view: Any, clock: int) -> None:
    memory = view.memory[0]
    view.page_memory.stamp = view.block_memory.intervals = 0
    memory.irregular = memory.windows = 0
    # A doubled epoch has as many bins, of twice the width.
    memory.unit = int(memory.epoch_pages) // int(memory.bins)
    memory.epoch += 1
    memory.epoch_start = clock
    memory.stage = TIME
    memory.due = clock + int(memory.epoch_pages) - _pages_of(view)


def _measure(view: Any, clock: int) -> None:
    """Store the number of relocations so far, at the beginning of the epoch's last `C` host pages."""
    memory = view.memory[0]
    memory.moved_before, memory.clock_before = memory.moved, clock
    memory.stage = MEASURE
    memory.due = int(memory.epoch_start) + int(memory.epoch_pages)


def _end_epoch(view: Any, clock: int) -> None:
    memory = view.memory[0]
    moved = int(memory.moved) - int(memory.moved_before)
    memory.measured_amplification = 1.0 + moved / (clock - int(memory.clock_before))
    memory.outcome = _configure(view)
    if memory.outcome in (HOT_GROUP_IMPURE, LAST_GROUP_EMPTY):
        _double(memory)
    elif memory.outcome != NO_GROUPS:
        memory.irregular_epochs = int(memory.irregular_epochs) + 1 if memory.irregular else 0
        if memory.irregular_epochs >= 2:
            _double(memory)
    _begin_epoch(view, clock)


_STAGES = {FILL: _begin_epoch, TIME: _measure, MEASURE: _end_epoch}


def _double(memory: Any) -> None:
    if 2 * int(memory.epoch_pages) <= LONGEST:
        memory.epoch_pages = 2 * int(memory.epoch_pages)


def _configure(view: Any) -> int:
    """Search for a configuration; apply it unless it predicts more write amplification. Return an outcome."""
    memory = view.memory[0]
    hot = measured_hot(memory)
    if hot.valid > (IMPURE_ONE if hot.blocks <= 1 else IMPURE):
        return HOT_GROUP_IMPURE
    if not np.any((view.block_memory.listed != 0) & (view.block_memory.group == memory.top)):
        return LAST_GROUP_EMPTY
    found = search(model_of(view, hot), int(view.params[0].planes))
    if found is None or len(found.sizes) < 2:
        return NO_GROUPS
    memory.predicted_amplification = found.amplification
    if found.amplification > memory.measured_amplification:
        return NOT_BETTER
    _apply(view, found)
    return APPLIED


def measured_hot(memory: Any) -> Measured:
    """Return the hot group's means over the last windows of the hot filter; small values if none ended."""
    count = min(int(memory.windows), len(memory.window_valid))
    if count == 0:
        return Measured(0.01, 0.05, 1)
    blocks = float(memory.window_blocks[:count].sum()) / count + 1  # the open block
    return Measured(
        float(memory.window_traffic[:count].sum()) / count,
        float(memory.window_valid[:count].sum()) / count,
        int(np.floor(blocks + 0.5)),
    )


def intervals_of(view: Any) -> Intervals:
    """Return the histogram of the epoch, including estimates of intervals that the epoch's end cuts off."""
    memory, pages_per_block = view.memory[0], int(view.params[0].pages_per_block)
    counts = view.block_memory.intervals.reshape(-1)[: int(memory.bins)]
    once = int(np.count_nonzero(view.page_memory.stamp > 0))
    return Intervals(corrected(counts, once), int(memory.unit) / pages_per_block)


def model_of(view: Any, hot: Measured) -> Model:
    """Return the model of the device after an epoch."""
    params, blocks = view.params[0], view.block
    pages_per_block = int(params.pages_per_block)
    reserve = max(int(params.low_free), int(params.stop_free), int(params.low_pool), int(params.stop_pool))
    total = int(params.planes) * int(params.blocks)
    # Blocks without an invalid page are not collected. If the last group has many, they are left out.
    listed = view.block_memory.listed != 0
    whole = listed & (view.block_memory.group >= view.memory[0].last) & (blocks.invalid == 0)
    idle = int(np.count_nonzero(whole)) * pages_per_block
    return Model(
        intervals_of(view),
        pages_per_block,
        int(view.plane.valid.sum()) - (idle if idle >= 0.2 * _pages_of(view) else 0),
        total - int(params.planes) * -(-reserve // pages_per_block),
        max(2, round(MARGIN * total / MARGIN_OF)),
        hot,
    )


def _apply(view: Any, found: Configuration) -> None:
    """Apply a configuration. Its sizes include open blocks: per plane two of G1, and one of other groups."""
    memory, planes = view.memory[0], int(view.params[0].planes)
    sizes = [found.hot.blocks // planes - 1, found.sizes[0] // planes - 2]
    sizes += [size // planes - 1 for size in found.sizes[1:-1]]
    change(view, tuple(max(size, 0) for size in sizes))
    memory.applied += 1
    memory.configured = len(sizes)
    memory.predicted_valid[:] = 0.0
    memory.predicted_valid[0] = found.hot.valid
    memory.predicted_valid[1 : len(found.ratios) + 1] = found.ratios
    memory.seen, memory.watched_since = 0, 0
    memory.victims[:], memory.valid[:] = 0, 0.0


def _fold(view: Any, first: int) -> None:
    """Merge group `first` and all later ones into one with a tail; with G1, no configuration remains."""
    memory, records = view.memory[0], view.block_memory
    records.group[(records.listed != 0) & (records.group > first)] = first
    memory.last, memory.top = first, first + TAIL
    if first == 1:
        memory.configured = 0
    _link(view)


def _check(view: Any, clock: int) -> None:
    """Merge the first irregular group with all later groups, and restart the counts of victims."""
    memory = view.memory[0]
    # The last group has a prediction unless it has a tail.
    end = int(memory.last) + (memory.top == memory.last)
    for group in range(1, end):
        victims = int(memory.victims[group])
        if victims and memory.valid[group] / victims - memory.predicted_valid[group] >= IRREGULAR:
            memory.irregular |= 2 * group <= memory.configured + 1
            _fold(view, group)
            break
    memory.victims[:], memory.valid[:] = 0, 0.0
    memory.watched_since = clock if memory.configured > 0 else 0
