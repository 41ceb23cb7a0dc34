"""The reference's hotness table and block groups, held to cases computed by hand."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import pytest

from ..config import ReferenceConfig
from ..page.speedupgc import BlockGroups, HotnessTable

# Hotness


def table(**changes: object) -> HotnessTable:
    fields = {"hashes": 4, "counters": 1000, "decay_period": 10**6, "thresholds": (2, 4, 9), **changes}
    return HotnessTable(ReferenceConfig(threshold_blocks=2, **fields))  # type: ignore[arg-type]


def test_a_page_is_as_hot_as_it_was_updated_often_and_at_most_15() -> None:
    hot = table()
    for _ in range(20):
        hot.count_update(7)
    hot.count_update(8)
    assert (hot.degree(7), hot.degree(8), hot.degree(9)) == (15, 1, 0)
    assert sorted(sum(hot.rows, []))[-8:] == [1] * 4 + [15] * 4


def test_the_degree_is_the_smallest_counter() -> None:
    """As Figure 6 of SpeedupGC: four counters, of which the smallest is 5, in the second group."""
    hot = table(thresholds=(2, 5, 8))
    for row, column, count in zip(hot.rows, hot.columns(3), (5, 7, 6, 9), strict=True):
        row[column] = count
    assert hot.degree(3) == 5
    assert hot.group(3) == 2


def test_rows_have_hashes_of_their_own() -> None:
    hot = table(counters=64)
    columns = [hot.columns(lpn) for lpn in range(500)]
    assert len({tuple(c) for c in columns}) == 500
    for row in range(4):
        assert len({c[row] for c in columns}) == 64
    # mix(mix(GOLDEN * 1) + GOLDEN * 1) and below(64), the splitmix64 constants written out
    assert hot.columns(0)[0] == _column_by_the_book(lpn=0, row=0, counters=64)
    assert hot.columns(41)[3] == _column_by_the_book(lpn=41, row=3, counters=64)


def _column_by_the_book(lpn: int, row: int, counters: int) -> int:
    def finalise(z: int) -> int:
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
        return z ^ (z >> 31)

    golden = 0x9E3779B97F4A7C15
    z = finalise((finalise(golden * (lpn + 1) % 2**64) + golden * (row + 1)) % 2**64)
    return (z >> 32) * counters >> 32


def test_counters_are_halved_by_the_update_that_completes_the_period() -> None:
    hot = table(decay_period=5)
    degrees = []
    for _ in range(10):
        hot.count_update(7)
        degrees.append(hot.degree(7))
    assert degrees == [1, 2, 3, 4, 2, 3, 4, 5, 6, 3]


@pytest.mark.parametrize(
    ("degree", "group"), [(0, 0), (1, 0), (2, 1), (3, 1), (4, 2), (8, 2), (9, 3), (15, 3)]
)
def test_the_hotness_group_is_the_last_threshold_reached(degree: int, group: int) -> None:
    hot = table()
    hot.rows = [[degree] * 1000] * 4
    assert hot.group(0) == group


# Block groups


def grouped(limit: int, *groups: Mapping[int, float]) -> BlockGroups:
    """Groups that hold these blocks with these ranks."""
    blocks = [block for group in groups for block in group]
    made = BlockGroups(blocks, len(groups), limit)
    made.groups = [set(group) for group in groups]
    ranks = {block: Fraction(rank) for group in groups for block, rank in group.items()}
    made.standing = {block: (rank, 0, 0, -block) for block, rank in ranks.items()}
    return made


def test_at_the_start_blocks_are_dealt_in_turn() -> None:
    assert BlockGroups(range(16, 24), 3, 3).groups == [{16, 19, 22}, {17, 20, 23}, {18, 21}]


def figure_5(full: bool) -> BlockGroups:
    """Block 1 is updated to 4.5 between the smallest ranks of groups 4 and 5, 4 and 6; block 2 has the 4."""
    fourth = {2: 4, 3: 5} if full else {2: 4}
    return grouped(2, {1: 1}, {4: 2}, {5: 3}, fourth, {6: 6, 7: 7})


def test_figure_5__a_group_with_room_takes_the_block() -> None:
    groups = figure_5(full=False)
    groups.reclassify(1, Fraction(9, 2))
    assert groups.groups == [set(), {4}, {5}, {1, 2}, {6, 7}]


def test_figure_5__a_full_group_evicts_its_smallest() -> None:
    groups = figure_5(full=True)
    groups.reclassify(1, Fraction(9, 2))
    assert groups.groups == [set(), {4}, {2, 5}, {1, 3}, {6, 7}]


def test_evictions_go_on_down_through_full_groups() -> None:
    groups = grouped(2, {1: 1, 2: 2}, {3: 3, 4: 4}, {5: 5, 6: 6})
    groups.reclassify(1, Fraction(11, 2))  # 5 < 5.5: group 3 is full, group 2, too; block 1 has left group 1
    assert groups.groups == [{2, 3}, {4, 5}, {1, 6}]


def test_with_all_lower_groups_full_the_largest_move_up() -> None:
    groups = grouped(2, {1: 1, 2: 2}, {3: 3, 4: 4}, {5: 5})
    groups.reclassify(5, Fraction(3, 2))  # belongs to group 1, which is full, and so is group 2
    assert groups.groups == [{1, 5}, {2, 3}, {4}]


def test_the_block_itself_may_be_the_largest_and_move_up() -> None:
    groups = grouped(2, {1: 1, 2: 2}, {3: 3, 4: 5}, {5: 6})
    groups.reclassify(5, Fraction(5, 2))  # 1 < 2.5 < 3: group 1 is full, and 2.5 its largest
    assert groups.groups == [{1, 2}, {3, 5}, {4}]


def test_a_rank_equal_to_the_smallest_of_a_group_belongs_below() -> None:
    groups = grouped(3, {1: 1}, {2: 2}, {3: 3})
    groups.reclassify(3, Fraction(2))
    assert groups.groups == [{1, 3}, {2}, set()]


def test_a_rank_below_all_belongs_to_the_first_group_even_if_that_is_empty() -> None:
    groups = grouped(3, {}, {2: 2, 3: 3}, {4: 4})
    groups.reclassify(4, Fraction(0))
    assert groups.groups == [{4}, {2, 3}, set()]


def test_of_equal_ranks_the_lowest_block_moves_up_and_the_highest_down() -> None:
    down = grouped(2, {9: 0}, {3: 1, 2: 1}, {5: 7})
    down.reclassify(5, Fraction(2))
    assert down.groups == [{3, 9}, {2, 5}, set()]
    up = grouped(2, {4: 1, 3: 1}, {5: 1}, {6: 1})
    up.reclassify(6, Fraction(1))
    assert up.groups == [{4, 6}, {3, 5}, set()]


@pytest.mark.parametrize(
    ("mask", "driven_out"),
    [
        pytest.param(0b0110, 3, id="the one with more sub-blocks"),
        pytest.param(0b0100, 3, id="the one that starts higher"),
        pytest.param(0b0010, 4, id="the higher block"),
        pytest.param(0b0001, 4, id="the one that does not start lower"),
    ],
)
def test_of_equal_ranks_the_one_whose_best_set_is_chosen_last_is_smallest(mask: int, driven_out: int) -> None:
    groups = grouped(2, {9: 0}, {3: 2, 4: 2}, {5: 7})
    groups.reclassify(4, Fraction(2), 0b0010)
    groups.reclassify(3, Fraction(2), mask)
    groups.groups = [{9}, {3, 4}, {5}]
    groups.reclassify(5, Fraction(3))
    assert groups.groups == [{9, driven_out}, {5, 7 - driven_out}, set()]


def test_a_group_below_makes_room_before_the_block_from_above_arrives() -> None:
    """Lines 21 to 24: of group 2, block 8 leaves, though block 10 comes with the same rank and is higher."""
    groups = grouped(2, {9: 0}, {7: 2, 8: 2}, {10: 2, 2: 5}, {6: 6})
    groups.reclassify(6, Fraction(3))
    assert groups.groups == [{8, 9}, {7, 10}, {2, 6}, set()]
