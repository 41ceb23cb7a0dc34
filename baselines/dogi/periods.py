"""What DOGI does between two steps of the engine: end windows, train the classifier, choose groups."""

import math
from collections.abc import Iterator
from itertools import combinations, pairwise
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from ssdgym.baselines.dogi.records import CATEGORIES, COLDEST, FROZEN, HOT, SAMPLES, Log, train

#: A configuration is out if one of its groups gets a smaller share of the host pages than this.
LEAST_TRAFFIC = 0.0005
#: Blocks of a group at least.
LEAST_BLOCKS = 2


class HotGroup(NamedTuple):
    """What was seen of the hot group."""

    traffic: float  # share of the host pages that it takes
    valid: float  # share of its pages that are valid when collected
    life: int  # bound of its pages' lives, host pages


class Room(NamedTuple):
    """What there is to share out."""

    blocks: int  # of the device, less those that are kept free
    planes: int  # each keeps blocks of every group open, which are half full
    pages_per_block: int  # pages of a block
    valid: int  # valid pages


class Group(NamedTuple):
    """One group of categories."""

    share: float  # of the pages that are not hot, those predicted into it
    moved: float  # share of these that outlive it
    life: float  # bound of its pages' lives, host pages; infinite for the coldest group


def best_configuration(
    log: Log, hot: HotGroup, room: Room, most_groups: int
) -> tuple[float, tuple[int, ...]] | None:
    """Return the merger of neighbours with least write amplification; `None` if none is possible.

    Returns:
        The write amplification, and the number of the last category of each group, from 0.
    """
    ends = _mergers(most_groups)
    found = min(((amplification_of(groups_of(e, log), hot, room), e) for e in ends), key=itemgetter(0))
    return found if found[0] < math.inf else None


def _mergers(most_groups: int) -> Iterator[tuple[int, ...]]:
    """Return all ways to merge neighbours, those of few groups first."""
    for groups in range(1, most_groups + 1):
        for ends in combinations(range(CATEGORIES - 1), groups - 1):
            yield (*ends, CATEGORIES - 1)


def groups_of(ends: tuple[int, ...], log: Log) -> list[Group]:
    """Return the groups of a merger, warm to cold."""
    groups, pages = [], log.pages
    for before, end in pairwise((-1, *ends)):
        inside = pages[before + 1 : end + 1]
        count, outlived = int(inside.sum()), int(inside[:, end + 1 :].sum())
        life = math.inf if end == CATEGORIES - 1 else float(log.bounds[end])
        groups.append(Group(count / len(log.intervals), outlived / count if count else 0.0, life))
    return groups


def amplification_of(groups: list[Group], hot: HotGroup, room: Room) -> float:
    """Return the write amplification of a chain of groups, infinite if it is not possible.

    Pages go from the hot group to the first and from each to the next; those that the coldest group has to
    move stay in it.
    """
    rest = 1.0 - hot.traffic
    if any(rest * group.share < LEAST_TRAFFIC for group in groups):
        return math.inf
    size = _blocks_of(hot.traffic, hot.life, room)
    blocks, valid = float(size), size * _mean_valid(hot.valid, room) * room.pages_per_block
    moved, amplification = hot.traffic * hot.valid, 1.0
    for group in groups[:-1]:
        amplification += moved
        inflow = rest * group.share + moved
        size = _blocks_of(inflow, group.life, room)
        blocks += size
        valid += size * _mean_valid(group.moved, room) * room.pages_per_block
        moved = inflow * group.moved
    inflow = rest * groups[-1].share + moved
    last = (room.blocks - room.planes * (len(groups) + 1) / 2 - blocks) * room.pages_per_block
    if last <= 0 or room.valid - valid >= last:
        return math.inf
    left = valid_when_collected(last / (room.valid - valid)) if room.valid > valid else 0.0
    return amplification + moved + inflow * left / (1.0 - left)


def _blocks_of(inflow: float, life: float, room: Room) -> int:
    """Return how many blocks a group fills in the life of its pages."""
    return max(LEAST_BLOCKS, math.ceil(inflow * life / room.pages_per_block))


def _mean_valid(moved: float, room: Room) -> float:
    """Return the mean valid share of blocks in which it falls from 1 to `moved` exponentially."""
    end = min(max(moved, 1 / room.pages_per_block), 1.0)
    return (1.0 - end) / -math.log(end) if end < 1.0 else 1.0


def valid_when_collected(spare: float) -> float:
    """Return the valid share of a block that is collected as the oldest one, under uniform writes.

    It is the smaller solution `v` of `v = exp(-spare * (1 - v))`, with Lambert's function
    `-W(-spare * exp(-spare)) / spare`.

    Args:
        spare: pages of the group over its valid pages, above 1.
    """
    valid = 0.0
    for _ in range(50):
        survivors = math.exp(-spare * (1.0 - valid))
        valid += (survivors - valid) / (1.0 - spare * survivors)
    return min(max(valid, 0.0), 1.0 - 1e-9)


def targets_of(ends: tuple[int, ...], log: Log) -> list[int]:
    """Return where pages of each category go when they are moved for the first time, shape (10,).

    That is the first group whose bound is not below the life that pages of the category have left when they
    outlive their group, on average; 0 means the group behind their own.

    Args:
        ends: number of the last category of each group, from 0.
        log: what the classifier is like.
    """
    lives = np.append(log.bounds[[*ends[:-1]]].astype(float), np.inf)
    targets = [0] * CATEGORIES
    for category in range(CATEGORIES):
        life = lives[np.searchsorted(ends, category)]
        outlived = log.intervals[(log.predicted == category) & (log.intervals >= life)]
        if len(outlived):
            targets[category] = 1 + int(np.sum(lives < float(np.mean(outlived)) - life))
    return targets


#: What is due at times, and how often: the share of the logical pages that the host writes meanwhile.
SHIFT, MOVE_MU, TRAIN, FREEZE = range(4)
SHARES = (1.2, 0.3, 0.78, 6.0)
#: `mu` at the start, as a share of the logical pages; it stays while write amplification changes by less.
FIRST_MU, LEAST_CHANGE = 0.006, 0.05
#: The first samples are taken when the host has written so many times the pages of the device.
UNTRAINED = 2
#: Share of the logical pages that the host writes between the last sample and the training.
PENDING = 0.3
#: With fewer samples whose pages were written again there is no training.
LEAST_SAMPLES = 100
#: A classifier that is right less often is not used; the chain then has so many groups.
LEAST_ACCURACY, GROUPS_BY_MOVES = 0.1, 3
#: Longer than any life.
NEVER = 2**62
#: Status of a block that rules may collect, as the engine keeps it.
_INDEXED = 2


def period(view: Any, parameters: Any) -> int:
    """Do what is due, and return after how many host pages there is more to do."""
    memory, clock = view.memory[0], int(view.control[0].clock)
    if memory.due[SHIFT] == 0:
        _begin(view, clock)
    for number, work in enumerate((_shift, _move_mu, _train, _freeze)):
        if clock >= memory.due[number]:
            work(view, clock)
            memory.due[number] = clock + _pages(view, SHARES[number])
    return int(memory.due.min()) - clock


def _pages(view: Any, share: float) -> int:
    """Return a share of the logical pages, at least one."""
    return max(int(share * int(view.params[0].logical_pages)), 1)


def _begin(view: Any, clock: int) -> None:
    """Begin on a device, whose blocks may be full already: with a chain by the number of moves."""
    params, memory = view.params[0], view.memory[0]
    for number, share in enumerate(SHARES):
        memory.due[number] = clock + _pages(view, share)
    pages = int(params.planes) * int(params.blocks) * int(params.pages_per_block)
    memory.due[TRAIN] += UNTRAINED * pages
    memory.mu = memory.mu_before = _pages(view, FIRST_MU)
    memory.life[:] = NEVER
    memory.window_start = clock
    full = (view.block.status & _INDEXED) != 0
    view.block_memory.opened_at[full] = view.block.closed_at[full]
    view.block_memory.sealed_at[full] = view.block.closed_at[full] + 1
    _unconfigure(memory, COLDEST)
    _begin_samples(view, clock + UNTRAINED * pages)


def _unconfigure(memory: Any, groups: int) -> None:
    """Put pages of the host that are not hot into G1, and moved ones one group on."""
    memory.configured, memory.top = 0, groups
    memory.group[:], memory.target[:], memory.life[HOT + 1 :] = 1, 0, NEVER


def _shift(view: Any, clock: int) -> None:
    """Begin a window: a bit is shifted into each page's byte."""
    view.page_memory.windows >>= 1


def _freeze(view: Any, clock: int) -> None:
    """Freeze all pages, until they are overwritten."""
    view.page_memory.overwritten = 0


def _move_mu(view: Any, clock: int) -> None:
    """Raise the bound of the hot group by a block if write amplification has fallen, else take that back."""
    memory = view.memory[0]
    written = clock - int(memory.window_start)
    found = 1.0 + (int(memory.moved) - int(memory.window_moved)) / written
    before = float(memory.amplification)
    if before > 0 and abs(found - before) >= LEAST_CHANGE * before:
        if found < before:
            memory.mu_before = int(memory.mu)
            memory.mu += int(view.params[0].pages_per_block)
        else:
            memory.mu = int(memory.mu_before)
        memory.life[HOT] = int(memory.mu)
    memory.amplification = found
    memory.window_start, memory.window_moved = clock, int(memory.moved)


def _begin_samples(view: Any, clock: int) -> None:
    """Begin to take samples: as many as there is room for are spread over the time."""
    memory = view.memory[0]
    length = max(_pages(view, SHARES[TRAIN]) - _pages(view, PENDING), 1)
    memory.sampled_from, memory.sampled_until = clock, clock + length
    memory.spacing = -(-length // SAMPLES)
    memory.passed = 0


def _train(view: Any, clock: int) -> None:
    """Train the classifier and choose groups, if there are samples enough, else take more of them."""
    memory = view.memory[0]
    count = int(memory.samples)
    known = np.flatnonzero(memory.lives[:count])
    _begin_samples(view, clock)
    if len(known) < LEAST_SAMPLES and count < SAMPLES:
        return
    memory.samples = view.page_memory.sample = 0
    if len(known) >= LEAST_SAMPLES:
        seed = (int(view.params[0].seed), int(memory.trained))
        network, log = train(np.array(memory.features[known]), np.array(memory.lives[known]), seed)
        memory.trained += 1
        memory.accuracy = log.accuracy
        memory.means[:], memory.scales[:], memory.weights[:] = network
        _configure(view, log)
    memory.host_pages, memory.hot_pages, memory.hot_victims, memory.hot_valid = 0, 0, 0, 0


def _configure(view: Any, log: Log) -> None:
    """Choose the groups; without a good classifier, or if none fit the device, they are by moves alone."""
    memory = view.memory[0]
    found = None
    if log.accuracy >= LEAST_ACCURACY:
        found = best_configuration(log, _hot_group(view), _room(view), FROZEN - 1)
    if found is None:
        _unconfigure(memory, GROUPS_BY_MOVES)
        return
    memory.predicted, ends = found
    memory.configured, memory.top = 1, len(ends)
    memory.group[1:] = np.searchsorted(ends, np.arange(CATEGORIES)) + 1
    memory.target[1:] = targets_of(ends, log)
    memory.life[:] = NEVER
    memory.life[HOT] = int(memory.mu)
    memory.life[1 : len(ends)] = log.bounds[[*ends[:-1]]]


def _hot_group(view: Any) -> HotGroup:
    """Return what was seen of the hot group since the last training."""
    memory = view.memory[0]
    pages = int(memory.hot_victims) * int(view.params[0].pages_per_block)
    return HotGroup(
        int(memory.hot_pages) / max(int(memory.host_pages), 1),
        int(memory.hot_valid) / pages if pages else 0.0,
        int(memory.mu),
    )


def _room(view: Any) -> Room:
    """Return the blocks that can hold data, and the valid pages there are."""
    params = view.params[0]
    planes, pages_per_block = int(params.planes), int(params.pages_per_block)
    reserve = max(int(params.low_free), int(params.stop_free), int(params.low_pool), int(params.stop_pool))
    free = -(-reserve // pages_per_block)
    return Room(planes * (int(params.blocks) - free), planes, pages_per_block, int(view.plane.valid.sum()))
