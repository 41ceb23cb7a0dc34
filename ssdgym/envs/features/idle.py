"""Features of an idle die, and of how far it may go with collecting."""

from __future__ import annotations

from math import log2

from ssdgym.engine.core.kernel import inlined
from ssdgym.envs.features.registry import Setting, always, clip, feature
from ssdgym.policy import move_ns


@inlined
def _in_moves(view, ns):
    """Return a time in ns, in units of the time of one page move, as log2(moves + 1) / 16."""
    return clip(log2(max(ns, 0) / max(move_ns(view), 1) + 1.0) / 16.0, 0.0, 1.0)


def _parts(setting: Setting) -> bool:
    """Return whether parts of blocks are erased: a whole block reclaims the pages that are not moved."""
    return setting.has(lambda device: device.erase_unit != "block")


@feature(low=-1.0, default=always)
def answer_number(view, answer, die):
    """Return its number k of K answers, as 2 k / (K - 1) - 1."""
    return 2.0 * answer.number / 7.0 - 1.0


@feature(default=always)
def answer_commands(view, answer, die):
    """Return the share of the rest of the round that it allows."""
    return answer.commands / (die.moves + 1.0)


@feature(default=always)
def answer_erases(view, answer, die):
    """Return 1 if it allows the erase of the round."""
    return 1.0 if answer.erases else 0.0


@feature(default=always)
def answer_time(view, answer, die):
    """Return the nominal time: log2(moves + 1) / 16, in moves."""
    return _in_moves(view, answer.nominal_ns)


@feature(unit="factors of four", low=-8.0, high=8.0, default=always)
def answer_fits(view, answer, die):
    """Return log4 of its nominal time, of the mean idle time of the die."""
    mean = view.die[die.number].idle_mean_gap_ns
    return clip(log2((answer.nominal_ns + 1.0) / (mean + 1.0)) / 2.0, -8.0, 8.0)


@feature(unit="factors of two", low=-8.0, high=8.0, default=always)
def idle_room(view, die):
    """Return log2 of the free pages of the plane's pool, of those below which the host waits for GC."""
    pool = view.plane[die.plane].pool_pages
    return clip(log2((pool + 1.0) / max(view.params[0].low_pool, 1)), -8.0, 8.0)


@feature(unit="factors of two", low=-8.0, high=8.0)
def idle_space(view, die):
    """Return log2 of the plane's free pages, with open blocks, of the pool's below which the host waits."""
    free = view.plane[die.plane].free_pages
    return clip(log2((free + 1.0) / max(view.params[0].low_pool, 1)), -8.0, 8.0)


@feature(default=always)
def idle_running(view, die):
    """Return 1 if a round is under way."""
    return 1.0 if die.running else 0.0


@feature(high=8.0, default=always)
def idle_moves(view, die):
    """Return the pages that the round, or one of the block with most invalid pages, moves, in blocks."""
    return clip(die.moves / view.params[0].pages_per_block, 0.0, 8.0)


@feature(high=8.0, default=_parts)
def idle_gain(view, die):
    """Return the invalid pages that the round, or one of the block with most of them, erases, in blocks."""
    return clip(die.invalid / view.params[0].pages_per_block, 0.0, 8.0)


@feature(default=always)
def idle_since(view, die):
    """Return the time for which it has been idle: log2(moves + 1) / 16, in moves."""
    record = view.die[die.number]
    return _in_moves(view, view.control[0].now - record.idle_since) if record.idle else 0.0


@feature(default=always)
def idle_last(view, die):
    """Return its last idle time: log2(moves + 1) / 16, in moves."""
    return _in_moves(view, view.die[die.number].idle_gap_ns)


@feature(default=always)
def idle_mean(view, die):
    """Return its mean idle time, the last one with the weight 1/8: log2(moves + 1) / 16, in moves."""
    return _in_moves(view, view.die[die.number].idle_mean_gap_ns)


@feature(default=always)
def idle_answers(view, die):
    """Return decisions in this idle time: log2(decisions + 1) / 8."""
    return clip(log2(view.die[die.number].idle_answers + 1.0) / 8.0, 0.0, 1.0)
