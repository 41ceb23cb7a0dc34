"""DOGI: groups of pages of like expected life, which a small network predicts."""

from ssdgym.baselines.dogi import records
from ssdgym.baselines.dogi.periods import period
from ssdgym.baselines.victims.cost_benefit import best_by_root, root_benefit
from ssdgym.policy import (
    best_by,
    blocks_of,
    choose_block,
    eligible,
    kernel,
    most_invalid_block,
    placement_policy,
    policy_alias,
    stream_to_fill,
    victim_policy,
)

_PAPER = "DOGI, FAST 2026"


@kernel
def group_of(view, block):
    """Return the group of a block: its stream, or the coldest group if there is no such group any more."""
    stream = view.block[block].stream
    return stream if stream == records.FROZEN else min(stream, view.memory[0].top)


@placement_policy(
    "dogi",
    source=_PAPER,
    streams=records.STREAMS,
    relocation_streams=records.STREAMS - 1,
    page=records.PAGE,
    block=records.BLOCK,
    memory=records.MEMORY,
)
def dogi(view, plane, lpn, source, parameters):
    """Put pages into groups by how long they are expected to live: a hot one, G1 .. Gn, and a frozen one.

    A page of the host goes to the hot group if the time since it was last written is below `mu`, else to the
    group of the category that the classifier finds. A relocated page that the host has not overwritten for
    long is frozen. Any other goes one group on, from the hot group to G1; if it is moved for the first time,
    to the group of the life that pages of its category have left. Categories are tenths of the intervals that
    the classifier is trained on.
    """
    if source >= 0:
        return _way(view, plane, _target_of(view, lpn, source))
    interval = records.interval_of(view, lpn, view.logical[lpn].ppn, view.control[0].clock)
    if records.is_hot(view, interval):
        return records.HOT
    return _way(view, plane, view.memory[0].group[_known_category(view, lpn, interval)])


policy_alias("dogi", "expired+dogi", source=_PAPER)
dogi.on("period")(period)


@kernel
def _known_category(view, lpn, interval):
    """Return the category of a page that is not hot, 0 while groups are not of categories."""
    return records.category_of(view, lpn, interval) if view.memory[0].configured != 0 else 0


@kernel
def _target_of(view, lpn, source):
    """Return the group that a page is relocated to."""
    memory, record = view.memory[0], view.page_memory[lpn]
    if record.overwritten == 0:
        return records.FROZEN
    if memory.target[record.category] > 0:
        return memory.target[record.category]
    return min(group_of(view, source // view.params[0].pages_per_block) + 1, memory.top)


@kernel
def _way(view, plane, group):
    """Return the stream of a group: for the coldest one first a block that a group left open that is gone."""
    return stream_to_fill(view, plane, group, records.FROZEN) if group == view.memory[0].top else group


@dogi.on("written")
def written(view, plane, lpn, old_page, page, parameters):
    """Note the write, unless it was overtaken by a newer version or a trim."""
    if view.logical[lpn].ppn != page:
        return
    memory, record = view.memory[0], view.page_memory[lpn]
    clock = view.control[0].clock - 1
    if record.sample > 0:
        memory.lives[record.sample - 1] = clock - memory.taken_at[record.sample - 1]
        record.sample = 0
    memory.host_pages += 1
    memory.hot_pages += view.block[page // view.params[0].pages_per_block].stream == records.HOT
    interval = records.interval_of(view, lpn, old_page, clock)
    record.category = 0
    if not records.is_hot(view, interval):
        record.category = _known_category(view, lpn, interval)
        _sample(view, lpn, interval, clock)
    record.interval = 0
    record.windows |= 128
    if old_page >= 0:
        record.overwritten = 1
    view.block_memory[records.chunk_of(view, lpn)].chunk_writes += 1
    memory.previous = lpn


@kernel
def _sample(view, lpn, interval, clock):
    """Keep what the classifier reads off the page, if a sample is due."""
    memory = view.memory[0]
    if not (memory.sampled_from <= clock < memory.sampled_until) or memory.samples == records.SAMPLES:
        return
    memory.passed += 1
    if memory.passed < memory.spacing:
        return
    memory.passed = 0
    number = memory.samples
    records.read_features(view, lpn, interval, memory.features[number])
    memory.taken_at[number] = clock
    memory.lives[number] = 0
    memory.samples = number + 1
    view.page_memory[lpn].sample = number + 1


@dogi.on("relocated")
def relocated(view, plane, lpn, old_page, page, parameters):
    """Note the age of the page so far; its category has been used."""
    record = view.page_memory[lpn]
    record.interval = records.interval_of(view, lpn, old_page, view.control[0].clock)
    record.category = 0
    view.memory[0].moved += 1


@dogi.on("trimmed")
def trimmed(view, plane, lpn, old_page, page, parameters):
    """Forget the page."""
    record = view.page_memory[lpn]
    record.sample = record.interval = record.windows = record.category = 0
    record.overwritten = 0


@dogi.on("opened")
def opened(view, plane, block, parameters):
    """Note when the block was opened."""
    view.block_memory[block].opened_at = view.control[0].clock
    view.block_memory[block].sealed_at = 0


@dogi.on("closed")
def closed(view, plane, block, parameters):
    """Note when the block was full."""
    view.block_memory[block].sealed_at = view.control[0].clock + 1


@dogi.on("collected")
def collected(view, plane, block, parameters):
    """Count what was valid in a block of the hot group."""
    record = view.block[block]
    if record.stream == records.HOT:
        view.memory[0].hot_victims += 1
        view.memory[0].hot_valid += record.written - record.invalid


@kernel
def _oldest_expired(view, plane):
    """Return the block opened first of the first group that has an expired one; -1 if none has."""
    memory, clock = view.memory[0], view.control[0].clock
    best, best_group = -1, memory.top
    for block in blocks_of(view, plane):
        if not eligible(view, block):
            continue
        group, opened_at = group_of(view, block), view.block_memory[block].opened_at
        if group > best_group or group >= memory.top or clock - opened_at <= memory.life[group]:
            continue
        if best < 0 or group < best_group or opened_at < view.block_memory[best].opened_at:
            best, best_group = block, group
    return best


@kernel
def _benefit_in_coldest(view, block, parameters):
    return root_benefit(view, block, parameters) if group_of(view, block) >= view.memory[0].top else -1.0


_best_of_coldest = best_by(_benefit_in_coldest)


@victim_policy(
    "expired", source="DOGI, FAST 2026, with cost-benefit as in its prototype", shares_memory_with="dogi"
)
def expired(view, plane, parameters, choice):
    """Choose the block opened first of the hottest group with an expired block, however much of it is valid.

    A block of the hot group is expired `mu` host pages after it was opened, one of another group but the
    coldest after the largest interval of the group's categories. If no block is, choose within the coldest
    and the frozen group as `cost_benefit(exponent=0.5, since_close=1)` does. As long as groups are not of
    categories, do so among all blocks. If there is no block to choose, choose the one with most invalid
    pages of all.
    """
    if view.memory[0].configured == 0:
        return choose_block(view, choice, best_by_root(view, plane, parameters))
    block = _oldest_expired(view, plane)
    if block < 0:
        block = _best_of_coldest(view, plane, parameters)
    if block < 0:
        block = most_invalid_block(view, plane)
    return choose_block(view, choice, block)
