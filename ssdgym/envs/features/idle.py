"""Features of an idle die, and of each action, which allows the die a number of commands of a round of GC.

"The round" is under way in the die or, if there is none, is the round that the die would begin.
"""

from __future__ import annotations

from math import log2

from ssdgym.engine.core.kernel import inlined
from ssdgym.envs.features.registry import always, clip, feature
from ssdgym.policy import move_ns


@inlined
def _in_moves(view, ns):
    """Return log2(time / time of one relocation + 1) / 16."""
    return clip(log2(max(ns, 0) / max(move_ns(view), 1) + 1.0) / 16.0, 0.0, 1.0)


@feature(low=-1.0, default=always)
def answer_number(view, answer, die):
    """Return 2 k / 7 - 1, where k is the number of the action, 0 to 7."""
    return 2.0 * answer.number / 7.0 - 1.0


@feature(default=always)
def answer_commands(view, answer, die):
    """Return the share of the round's remaining commands that the action allows."""
    return answer.commands / (die.moves + 1.0)


@feature(default=always)
def answer_erases(view, answer, die):
    """Return 1 if the action allows the erase of the round, else 0."""
    return 1.0 if answer.erases else 0.0


@feature(default=always)
def answer_time(view, answer, die):
    """Return log2(t + 1) / 16, where t = nominal time of the action's commands / time of a relocation."""
    return _in_moves(view, answer.nominal_ns)


@feature(unit="factors of four", low=-8.0, high=8.0, default=always)
def answer_fits(view, answer, die):
    """Return log4(nominal time of the action's commands / moving average of the die's idle times)."""
    mean = view.die[die.number].idle_mean_gap_ns
    return clip(log2((answer.nominal_ns + 1.0) / (mean + 1.0)) / 2.0, -8.0, 8.0)


@feature(unit="factors of two", low=-8.0, high=8.0, default=always)
def idle_room(view, die):
    """Return log2(f / m): f = free pages in the plane's pool; GC starts at once if f is below m."""
    pool = view.plane[die.plane].pool_pages
    return clip(log2((pool + 1.0) / max(view.params[0].low_pool, 1)), -8.0, 8.0)


@feature(unit="factors of two", low=-8.0, high=8.0)
def idle_space(view, die):
    """Return log2(f / m): f = free pages of the plane, m as in `idle_room`."""
    free = view.plane[die.plane].free_pages
    return clip(log2((free + 1.0) / max(view.params[0].low_pool, 1)), -8.0, 8.0)


@feature(default=always)
def idle_running(view, die):
    """Return 1 if a round of GC is under way in the die, else 0."""
    return 1.0 if die.running else 0.0


@feature(high=8.0, default=always)
def idle_moves(view, die):
    """Return the number of pages that the round still has to relocate, divided by the pages per block.

    If no round is under way, these are the valid pages of the block with most invalid pages.
    """
    return clip(die.moves / view.params[0].pages_per_block, 0.0, 8.0)


# If whole blocks are erased, the feature is no default, because it follows from `idle_moves`.
@feature(high=8.0, default=lambda setting: setting.has(lambda device: device.erase_unit != "block"))
def idle_gain(view, die):
    """Return the number of invalid pages that the round reclaims, divided by the pages per block."""
    return clip(die.invalid / view.params[0].pages_per_block, 0.0, 8.0)


@feature(default=always)
def idle_since(view, die):
    """Return log2(t + 1) / 16, where t = time since the die became idle / time of a relocation."""
    record = view.die[die.number]
    return _in_moves(view, view.control[0].now - record.idle_since) if record.idle else 0.0


@feature(default=always)
def idle_last(view, die):
    """Return log2(t + 1) / 16, where t = the die's last complete idle time / time of a relocation."""
    return _in_moves(view, view.die[die.number].idle_gap_ns)


@feature(default=always)
def idle_mean(view, die):
    """Return log2(t + 1) / 16, where t = moving average of the die's idle times / time of a relocation."""
    return _in_moves(view, view.die[die.number].idle_mean_gap_ns)


@feature(default=always)
def idle_answers(view, die):
    """Return log2(number of decisions since the die became idle + 1) / 8."""
    return clip(log2(view.die[die.number].idle_answers + 1.0) / 8.0, 0.0, 1.0)
