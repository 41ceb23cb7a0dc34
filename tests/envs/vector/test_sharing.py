"""Which steps are shared out to threads: those of the kind that has taken less time of late."""

from __future__ import annotations

from collections.abc import Callable

from ssdgym.envs.batch import Sharing


def _play(sharing: Sharing, seconds: Callable[[bool], float], steps: int) -> float:
    """Take steps of 64 devices; return how often they were shared out, as a share."""
    shared = 0
    for _ in range(steps):
        shared += sharing.shares
        sharing.note(seconds(sharing.shares), 64)
    return shared / steps


def test_threads_help__nearly_all_steps_are_shared_out() -> None:
    assert _play(Sharing(), lambda shares: 1.0 if shares else 1.7, 10_000) > 0.98


def test_threads_hurt__nearly_no_steps_are_shared_out() -> None:
    assert _play(Sharing(), lambda shares: 1.7 if shares else 1.0, 10_000) < 0.02


def test_a_core_is_taken__sharing_ends_within_two_trials_and_comes_back() -> None:
    sharing = Sharing()
    _play(sharing, lambda shares: 1.0 if shares else 1.7, 1000)
    assert _play(sharing, lambda shares: 20.0 if shares else 1.7, 2 * Sharing.TRIAL) <= 0.5
    assert _play(sharing, lambda shares: 20.0 if shares else 1.7, 10_000) < 0.02
    assert _play(sharing, lambda shares: 1.0 if shares else 1.7, 2 * Sharing.LATE) > 0.4
