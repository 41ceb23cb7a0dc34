"""MiDAS: pages pass through a chain of groups whose sizes a model chooses; hot pages have their own group."""

from ssdgym.baselines.midas import hot_filter
from ssdgym.baselines.midas.epochs import period
from ssdgym.baselines.midas.hot_filter import FULL, HOST, HOT
from ssdgym.baselines.midas.records import (
    BINS,
    BLOCK,
    MEMORY,
    PAGE,
    STREAM,
    STREAMS,
    WINDOWS,
    delist,
    enlist,
    fold,
)
from ssdgym.policy import kernel, placement_policy, policy_alias, stream_to_fill

_PAPER = "Oh et al., MiDAS, FAST 2024, with the constants of their simulator"
#: If foreground GC collects this many blocks of a plane between two host pages, groups are merged.
MOST_VICTIMS = 25


@placement_policy(
    "midas",
    source=_PAPER,
    streams=STREAMS,
    relocation_streams=1,
    page=PAGE,
    block=BLOCK,
    stream=STREAM,
    memory=MEMORY,
)
def midas(view, plane, lpn, source, parameters):
    """Put pages into a chain of groups: the hot group, G1 .. Gn.

    A host page goes to the hot group if its counter in the hot filter is 3, otherwise to G1. A relocated page
    goes to the next group; pages of the last group stay there. While the last group has a tail, its pages are
    divided among four groups by the number of their relocations in it. If blocks are erased together, the
    pages of all of them go to the group that follows the first block's group.
    """
    if source >= 0:
        target, top = view.stream_memory[plane * STREAMS].target, view.memory[0].top
        return target if target < top else stream_to_fill(view, plane, top, STREAMS)
    ppn = view.logical[lpn].ppn
    heat = view.page_memory[lpn].heat
    if ppn >= 0:
        heat = hot_filter.heat_after(view, lpn, ppn, _group_of(view, ppn), view.control[0].clock)
    return HOT if heat == FULL else HOST


policy_alias("midas", "chain+midas", source=_PAPER)
midas.on("period")(period)


@kernel
def _group_of(view, page):
    return view.block_memory[page // view.params[0].pages_per_block].group


@midas.on("written")
def written(view, plane, lpn, old_page, page, parameters):
    """Update the hot filter, and count the interval between writes that ends now in the histogram."""
    memory, clock = view.memory[0], view.control[0].clock
    view.stream_memory[plane * STREAMS].victims = 0
    if not hot_filter.is_asleep(view):
        memory.host_pages += 1
        memory.hot_pages += _group_of(view, page) == HOT
    if old_page >= 0:
        hot_filter.note_overwrite(view, lpn, old_page, _group_of(view, old_page))
        _end_window(view)
    if memory.unit > 0:
        _time(view, lpn, clock)
        now = clock - memory.epoch_start
        view.page_memory[lpn].stamp = now if view.page_memory[lpn].stamp == 0 else -now


@kernel
def _time(view, lpn, clock):
    """Count the interval of a page that ends at `clock`, if it began in this epoch."""
    memory = view.memory[0]
    stamp = view.page_memory[lpn].stamp
    if stamp == 0:
        return
    now = clock - memory.epoch_start
    k = min((now - abs(stamp)) // memory.unit, memory.bins - 1)
    view.block_memory[k // BINS].intervals[k % BINS] += 1


@kernel
def _end_window(view):
    """If a window of the hot filter is over, store its means of the hot group, and begin the next window."""
    memory = view.memory[0]
    if not hot_filter.window_is_over(view):
        return
    if memory.hot_pages > 0:
        blocks = 0
        for plane in range(view.params[0].planes):
            blocks += view.stream_memory[plane * STREAMS + HOT].sealed
        k = memory.windows % WINDOWS
        memory.window_traffic[k] = memory.hot_pages / memory.host_pages
        memory.window_valid[k] = memory.hot_valid / memory.hot_victims
        memory.window_blocks[k] = blocks
        memory.windows += 1
    hot_filter.begin_window(view)
    memory.host_pages = memory.hot_pages = 0
    memory.hot_valid = 0.0


@midas.on("relocated")
def relocated(view, plane, lpn, old_page, page, parameters):
    """Update the hot filter for a page that is still valid when its block is collected."""
    view.memory[0].moved += 1
    hot_filter.note_move(view, lpn, _group_of(view, old_page))


@midas.on("trimmed")
def trimmed(view, plane, lpn, old_page, page, parameters):
    """End the interval of the page, and reset its records."""
    if view.memory[0].unit > 0:
        _time(view, lpn, view.control[0].clock)
    view.page_memory[lpn].stamp = view.page_memory[lpn].heat = 0


@midas.on("opened")
def opened(view, plane, block, parameters):
    """Store the group of the block: the number of its stream, at most `top`."""
    view.block_memory[block].group = min(view.block[block].stream, view.memory[0].top)


@midas.on("closed")
def closed(view, plane, block, parameters):
    """Append the block to its group."""
    enlist(view, block, min(view.block[block].stream, view.memory[0].top))


@midas.on("collected")
def collected(view, plane, block, parameters):
    """Choose the group to which the victim's pages are relocated; count the victim and its valid share."""
    memory, record, state = view.memory[0], view.block_memory[block], view.block[block]
    _pass_on(view, plane)
    if _is_stuck(view, plane, record.group):
        _keep_up(view, plane, memory.last, MOST_VICTIMS)
    else:
        _keep_up(view, plane, record.group, 1)
    group = min(record.group, memory.top)
    moves = view.stream_memory[plane * STREAMS]
    if moves.collecting == 0:
        moves.target = min(group + 1, memory.top)
    moves.collecting += 1
    delist(view, block)
    valid = (state.written - state.invalid) / view.params[0].pages_per_block
    if group == HOT and not hot_filter.is_asleep(view):
        hot_filter.note_victim(view, block)
        memory.hot_valid += valid
        _end_window(view)
    _watch(view, min(group, memory.last), valid)


@midas.on("erased")
def erased(view, plane, block, parameters):
    """Lower the number of victims that have not been erased yet."""
    moves = view.stream_memory[plane * STREAMS]
    moves.collecting = max(moves.collecting - 1, 0)


@kernel
def _pass_on(view, plane):
    """Move the oldest blocks of groups over their size to the next group while they have no invalid page.

    They count as victims of their old group, with all pages valid.
    """
    memory = view.memory[0]
    group = 0
    while memory.last > 1 and group < memory.last:
        records = view.stream_memory[plane * STREAMS + group]
        if records.sealed <= memory.limit[group]:
            group += 1
        elif view.block[records.oldest].invalid >= view.params[0].least_invalid:
            break
        else:
            block = records.oldest
            delist(view, block)
            enlist(view, block, group + 1)
            _watch(view, group, 1.0)
            _keep_up(view, plane, group, 1)


@kernel
def _is_stuck(view, plane, group):
    """Return whether `group` of a victim is within its size, and no block of the last group is eligible."""
    memory = view.memory[0]
    first = plane * STREAMS
    if group >= memory.last or view.stream_memory[first + group].sealed > memory.limit[group]:
        return False
    for number in range(memory.last, memory.top + 1):
        block = view.stream_memory[first + number].oldest
        while block >= 0:
            if view.block[block].invalid >= view.params[0].least_invalid:
                return False
            block = view.block_memory[block].next
    return True


@kernel
def _watch(view, group, valid):
    """Count a victim and its valid share; restart the counts once every group has had a victim."""
    memory = view.memory[0]
    memory.victims[group] += 1
    memory.valid[group] += valid
    memory.seen |= 1 << group
    every = (2 << memory.last) - 1
    if memory.configured > 0 and memory.watched_since == 0 and memory.seen & every == every:
        memory.watched_since = view.control[0].clock
        memory.victims[:] = 0
        memory.valid[:] = 0.0


@kernel
def _keep_up(view, plane, group, victims):
    """Count victims of foreground GC; at `MOST_VICTIMS` merge `group` with all later groups."""
    memory = view.memory[0]
    if not (view.plane[plane].collecting != 0 or view.control[0].gc_plane == plane):
        return
    count = view.stream_memory[plane * STREAMS]
    count.victims += victims
    if count.victims >= MOST_VICTIMS:
        count.victims = 0
        if memory.last > 1:
            first = max(min(group, memory.last - 1), 1)
            memory.irregular |= 2 * first <= memory.configured + 1
            fold(view, first)
