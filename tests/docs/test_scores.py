"""The scores of the pages: 0 is a random action, 1 the best heuristic, and every environment has a row."""

from __future__ import annotations

import pytest

from docs.scores import DECIDES, Score, overview, scores
from ssdgym.registration import ENVIRONMENTS


def score(measured: str, learned: str, best: str, random: str) -> Score:
    return Score("`ppo-a`", "EraseVictim-v0", "zipf99", measured, learned, f"`greedy` {best}", random)


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (("write amplification", "3.0 [2.5, 3.5]", "2.0 [1.9, 2.1]", "4.0"), [0.5, 0.25, 0.75]),
        (("return", "-1,000 [-1,500, -500]", "0", "-2,000 [-3,000, -1,000]"), [0.5, 0.25, 0.75]),
        (("return", "-3,000 [-3,000, -3,000]", "0", "-2,000"), [-0.5, -0.5, -0.5]),
    ],
)
def test_normalised__is_0_for_random_actions_and_1_for_the_heuristic(
    row: tuple[str, str, str, str], expected: list[float]
) -> None:
    assert score(*row).normalised == pytest.approx(expected)


@pytest.mark.parametrize("measured", ["return", "write amplification"])
def test_normalised__where_random_actions_are_not_behind__is_none(measured: str) -> None:
    best, random = ("1", "2") if measured == "return" else ("2", "1")
    assert score(measured, "3 [3, 3]", best, random).words == "none"


def test_scores__every_environment_has_some__and_readme_a_row() -> None:
    assert set(DECIDES) == set(ENVIRONMENTS)
    assert all(scores(name) for name in DECIDES)
    assert overview().count("\n") == len(DECIDES) + 1
