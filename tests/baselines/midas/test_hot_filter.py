"""The hot filter: a worked example of ten events, and how its threshold moves."""

from __future__ import annotations

import pytest

from ssdgym.baselines.midas.hot_filter import (
    FULL,
    HOST,
    HOT,
    heat_after_move,
    heat_after_overwrite,
    next_tau,
)

TAU, OTHER = 100.0, 3
#: What happens to a page: where its old copy is, how long ago its block was closed (`None`: it is relocated),
#: and the counter after it.
EVENTS = [
    (HOST, 0, 1),
    (HOST, 100, 2),  # as old as the threshold is young enough
    (HOST, 101, 1),
    (OTHER, 5, 1),  # other groups are not judged
    (HOST, 7, 2),
    (HOST, 7, 3),  # full: the next copy goes to the hot group
    (HOT, 5000, 3),  # there, age does not count, and it stays full
    (HOT, None, 1),
    (HOST, None, 0),
    (HOST, 200, 0),
]


def test_ten_events__of_one_page() -> None:
    heat = 0
    for group, age, expected in EVENTS:
        heat = heat_after_move(heat, group) if age is None else heat_after_overwrite(heat, group, age, TAU)
        assert heat == expected, (group, age)


def test_relocation__of_other_groups__changes_nothing() -> None:
    assert [heat_after_move(heat, OTHER) for heat in range(FULL + 1)] == list(range(FULL + 1))


@pytest.mark.parametrize(("mean", "expected"), [(200, 150), (1000, 150), (199, 149.5), (20, 60), (100, 100)])
def test_tau__moves_halfway_to_the_mean_age_and_at_most_by_a_half(mean: float, expected: float) -> None:
    assert next_tau(TAU, float(mean)) == expected
