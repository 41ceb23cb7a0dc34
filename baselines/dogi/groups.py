"""The groups of DOGI: which categories lie together, and how much that is expected to cost."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations, pairwise
from typing import NamedTuple

import numpy as np

from ssdgym.baselines.dogi.records import CATEGORIES

#: A configuration is out if one of its groups gets a smaller share of the host pages than this.
LEAST_TRAFFIC = 0.0005
#: Blocks of a group at least.
LEAST_BLOCKS = 2


class HotGroup(NamedTuple):
    """What was seen of the hot group.

    Attributes:
        traffic: share of the host pages that it takes.
        valid: share of its pages that are valid when collected.
        life: bound of its pages' lives, host pages.
    """

    traffic: float
    valid: float
    life: int


class Room(NamedTuple):
    """What there is to share out.

    Attributes:
        blocks: of the device, less those that are kept free.
        planes: each keeps blocks of every group open, which are half full.
        pages_per_block: pages of a block.
        valid: valid pages.
    """

    blocks: int
    planes: int
    pages_per_block: int
    valid: int


class Log(NamedTuple):
    """What a classifier says of pages whose lives are known.

    Attributes:
        predicted: category of each page, from 0, shape (rows,).
        intervals: true life of each, shape (rows,), host pages.
        bounds: the largest life of each category but the last, shape (9,), host pages.
    """

    predicted: np.ndarray
    intervals: np.ndarray
    bounds: np.ndarray


class Group(NamedTuple):
    """One group of categories.

    Attributes:
        share: of the pages that are not hot, those predicted into it.
        moved: share of these that outlive it.
        life: bound of its pages' lives, host pages; infinite for the coldest group.
    """

    share: float
    moved: float
    life: float


class Configuration(NamedTuple):
    """Categories merged into groups.

    Attributes:
        ends: number of the last category of each group, from 0.
        amplification: predicted write amplification.
    """

    ends: tuple[int, ...]
    amplification: float


def best_configuration(log: Log, hot: HotGroup, room: Room, most_groups: int) -> Configuration | None:
    """Return the merger of neighbours with least write amplification; `None` if none is possible.

    Args:
        log: what the classifier is like.
        hot: what was seen of the hot group.
        room: what there is to share out.
        most_groups: most groups besides the hot and the frozen one.
    """
    counts, best = count(log), None
    for ends in _mergers(most_groups):
        found = amplification_of(groups_of(ends, counts), hot, room)
        if found < (best.amplification if best else math.inf):
            best = Configuration(ends, found)
    return best


def _mergers(most_groups: int) -> Iterator[tuple[int, ...]]:
    """Return all ways to merge neighbours, those of few groups first."""
    for groups in range(1, most_groups + 1):
        for ends in combinations(range(CATEGORIES - 1), groups - 1):
            yield (*ends, CATEGORIES - 1)


class Counts(NamedTuple):
    """A log, counted: `counts[k]` is about the categories below `k`.

    Attributes:
        predicted: pages predicted to be of these categories, shape (11,).
        outlived: of them, those that live longer than each category's bound, shape (10, 11).
        lives: bound of each category, shape (10,), infinite for the last, host pages.
    """

    predicted: list[int]
    outlived: list[list[int]]
    lives: list[float]


def count(log: Log) -> Counts:
    """Return a log counted, so that groups are looked at without going through all pages each time."""

    def below(chosen: np.ndarray) -> list[int]:
        found = np.bincount(log.predicted[chosen], minlength=CATEGORIES)
        return [0, *np.cumsum(found).tolist()]

    lives = [*map(float, log.bounds), math.inf]
    return Counts(
        below(np.ones(len(log.predicted), bool)), [below(log.intervals > life) for life in lives], lives
    )


def groups_of(ends: tuple[int, ...], counts: Counts) -> list[Group]:
    """Return the groups of a merger, warm to cold.

    Args:
        ends: number of the last category of each group, from 0.
        counts: what the classifier is like.
    """
    groups = []
    for before, end in pairwise((-1, *ends)):
        inside = counts.predicted[end + 1] - counts.predicted[before + 1]
        outlived = counts.outlived[end][end + 1] - counts.outlived[end][before + 1]
        share = inside / counts.predicted[-1]
        groups.append(Group(share, outlived / inside if inside else 0.0, counts.lives[end]))
    return groups


def amplification_of(groups: list[Group], hot: HotGroup, room: Room) -> float:
    """Return the write amplification of a chain of groups, infinite if it is not possible.

    Pages go from the hot group to the first and from each to the next; those that the coldest group has to
    move stay in it.

    Args:
        groups: warm to cold.
        hot: what was seen of the hot group.
        room: what there is to share out.
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


def targets_of(ends: tuple[int, ...], log: Log, colder: bool) -> list[int]:
    """Return where pages of each category go when they are moved for the first time, shape (10,).

    That is the first group whose bound is not below the life that pages of the category have left when they
    outlive their group, on average; 0 means the group behind their own.

    Args:
        ends: number of the last category of each group, from 0.
        log: what the classifier is like.
        colder: never to a hotter group than their own.
    """
    lives = [math.inf if end == CATEGORIES - 1 else float(log.bounds[end]) for end in ends]
    targets = []
    for category in range(CATEGORIES):
        own = sum(category > end for end in ends)
        outlived = log.intervals[(log.predicted == category) & (log.intervals >= lives[own])]
        if len(outlived) == 0:
            targets.append(0)
            continue
        left = float(np.mean(outlived)) - lives[own]
        found = sum(life < left for life in lives)
        targets.append(1 + (max(found, own) if colder else found))
    return targets
