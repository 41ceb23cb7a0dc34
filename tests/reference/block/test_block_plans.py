"""What an M-Merge restores: Algorithm 1 against all covers.

`tests/engine/test_block_plans.py` has the figures of the paper.
"""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from . import heap, plans
from .plans import Contents, Plan


def leaves(plan: Plan) -> list[int]:
    """Those it restores."""
    return sorted(leaf for pb in plan.pbs for leaf in heap.leaves_of(pb, plan.contents.levels))


def test_heap__halves_and_neighbours() -> None:
    assert [heap.level_of(pb) for pb in (1, 2, 3, 4, 7, 8)] == [0, 1, 1, 2, 2, 3]
    assert [heap.leaves_of(pb, 3) for pb in (1, 3, 9)] == [list(range(8)), [4, 5, 6, 7], [1]]
    assert [heap.beside(pb, 3) for pb in (1, 2, 5, 15)] == [[], [4], [1, 4], [6]]


@st.composite
def all_contents(draw: st.DrawFn, most_levels: int) -> Contents:
    levels = draw(st.integers(0, most_levels))
    size = draw(st.sampled_from([1, 3, 9]))

    def by_leaf(most: int) -> tuple[int, ...]:
        return tuple(draw(st.lists(st.integers(0, most), min_size=2**levels, max_size=2**levels)))

    valid = by_leaf(size)
    invalid = tuple(min(a, size - b) for a, b in zip(by_leaf(size), valid, strict=True))
    return Contents(
        levels=levels,
        valid=valid,
        invalid=invalid,
        incoming=tuple(min(a, b) for a, b in zip(by_leaf(size), invalid, strict=True)),
        disturbed=by_leaf(3),
        copy_ns=draw(st.integers(0, 5)),
        erase_ns=tuple(sorted((draw(st.integers(1, 60)) for _ in range(levels + 1)), reverse=True)),
        tolerance=draw(st.none() | st.integers(0, 3)),
        with_care=draw(st.booleans()),
    )


@given(all_contents(4), st.data())
@settings(max_examples=300, deadline=None)
def test_algorithm_1__is_the_cheapest_of_all_covers(contents: Contents, data: st.DataObject) -> None:
    dis = frozenset(data.draw(st.sets(st.integers(0, 2**contents.levels - 1))))
    assert sorted(plans.algorithm_1(contents, dis)) == sorted(plans.cheapest(contents, dis))


def test_covers__are_all_sets_that_cover_each_leaf_once() -> None:
    assert [len(list(plans.covers(1, levels))) for levels in range(5)] == [1, 2, 5, 26, 677]
    found = list(plans.covers(1, 3))
    assert all(
        sorted(leaf for pb in cover for leaf in heap.leaves_of(pb, 3)) == list(range(8)) for cover in found
    )
    assert len({tuple(sorted(cover)) for cover in found}) == 26


@given(all_contents(4), st.data())
@settings(max_examples=200, deadline=None)
def test_plan__restores_whatever_is_invalid_or_would_be_spoiled(
    contents: Contents, data: st.DataObject
) -> None:
    level = data.draw(st.none() | st.integers(0, contents.levels))
    plan = plans.plan(contents, plans.algorithm_1 if level is None else plans.depth(level))
    restored = leaves(plan)
    assert len(set(restored)) == len(restored)
    assert {leaf for leaf, pages in enumerate(contents.invalid) if pages} <= set(restored)
    assert plan.dis <= set(restored)
    assert level is None or {heap.level_of(pb) for pb in plan.pbs} <= {level}
    if contents.tolerance is not None and contents.with_care:
        assert all(disturbed <= contents.tolerance for _, disturbed in plan.left())
    else:
        assert not plan.dis
