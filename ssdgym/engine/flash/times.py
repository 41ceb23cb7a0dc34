"""Durations of flash commands, by phase: the array works, the channel transfers, the array works again."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ssdgym.engine.core.kernel import inlined

#: A phase that a command does not have (one of no duration is still an event).
NO_PHASE = -1


class Phases(NamedTuple):
    """Durations of the phases of a command, ns."""

    array_ns: Any  # before the transfer
    transfer_ns: Any  # on the channel; without it the command ends after its first phase
    after_ns: Any  # after the transfer


@inlined
def read_phases(params):
    """Return the phases of a page read."""
    return Phases(np.int64(params.read_ns), np.int64(params.transfer_ns), np.int64(0))


@inlined
def write_phases(params, pages):
    """Return the phases of a write of pages of as many planes."""
    return Phases(np.int64(NO_PHASE), np.int64(params.transfer_ns * pages), np.int64(params.program_ns))


@inlined
def move_phases(params, pages):
    """Return the phases of a relocation of pages of as many planes."""
    if params.copyback:
        return Phases(np.int64(params.read_ns + params.program_ns), np.int64(NO_PHASE), np.int64(0))
    return Phases(
        np.int64(params.read_ns), np.int64(2 * pages * params.transfer_ns), np.int64(params.program_ns)
    )


@inlined
def erase_phases(params):
    """Return the phases of an erase."""
    return Phases(np.int64(params.erase_ns), np.int64(NO_PHASE), np.int64(0))


@inlined
def duration_of(phases):
    """Return the nominal time of a command, without waiting for its channel, ns."""
    return max(phases.array_ns, 0) + max(phases.transfer_ns, 0) + phases.after_ns
