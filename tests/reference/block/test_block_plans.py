"""What an M-Merge restores: Algorithm 1 against all covers, and the figures of the paper."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from ..helpers import write
from . import POOL, BlockConfig, BlockReference, heap, mmerge, plans
from .audit import check
from .plans import Contents, Plan

# The block of the paper: 576 pages, 64 leaves of 9. A copy costs 1 and an erase of any size 10.
PAPER = BlockConfig(
    blocks_per_plane=4,
    pages_per_block=576,
    sub_blocks_per_block=64,
    logical_pages=576,
    program_ns=1,
    erase_ns=10,
)
PB_9 = range(72, 144)  # of pages; PB 14 has 432 to 503


def figure_10() -> BlockReference:
    """All pages of PB 9 have been written again, and all but two of PB 14."""
    reference = BlockReference(PAPER, mmerge)
    reference.run([write(0, 0, 576), write(0, 72, 72), write(0, 434, 70)])
    return reference


def m_merge(reference: BlockReference) -> Plan:
    """Do a job by Algorithm 1, whatever it costs; returns the plan of its D."""
    device, last = reference.device, PAPER.levels + 2
    [plan] = device.options(0, POOL, may_m_merge=True)[last].plans.values()
    device.begin(0, POOL, is_urgent=True)
    reference.rule = lambda plans, case: last
    reference.run([])
    assert not device.jobs
    return plan


def leaves(plan: Plan) -> list[int]:
    """Those it restores."""
    return sorted(leaf for pb in plan.pbs for leaf in heap.leaves_of(pb, plan.contents.levels))


def test_heap__halves_and_neighbours() -> None:
    assert [heap.level_of(pb) for pb in (1, 2, 3, 4, 7, 8)] == [0, 1, 1, 2, 2, 3]
    assert [heap.leaves_of(pb, 3) for pb in (1, 3, 9)] == [list(range(8)), [4, 5, 6, 7], [1]]
    assert [heap.beside(pb, 3) for pb in (1, 2, 5, 15)] == [[], [4], [1, 4], [6]]


def test_figure_10__pb_9_and_pb_14_are_restored() -> None:
    device = figure_10().device
    assert (len(device.valid_pages(0)), len(device.valid_pages(1))) == (434, 142)
    merge, *depths, best = device.options(0, POOL, may_m_merge=True)
    assert [plan.pbs for plan in best.plans.values()] == [(9, 14)]
    assert (merge.figures.copies, merge.figures.erases, merge.figures.cost_ns) == (576, 2, 596)
    figures = best.figures
    assert (figures.out_copies, figures.copies, figures.erases, figures.cost_ns) == (2, 146, 3, 176)
    assert round(merge.figures.cost_ns / figures.cost_ns, 2) == 3.39
    assert depths[3].figures == figures  # both are of level 3
    assert depths[0].figures.copies == 2 * 434 + 142


def test_figure_10__the_restored_block_has_all_pages_in_their_places() -> None:
    reference = figure_10()
    assert leaves(m_merge(reference)) == [*range(8, 16), *range(48, 56)]
    check(reference)
    device, counters = reference.device, reference.counters
    assert device.valid_pages(0) == list(range(576)) and list(device.pools[0]) == [2, 3, 1]
    assert [page.ppn for page in device.logical] == list(range(576))
    assert (counters["relocated_pages"], counters["out_copies"], counters["partial_erases"]) == (146, 2, 2)
    assert (counters["erases"], counters["erased_sub_blocks"]) == (3, 8 + 8 + 64)
    assert counters["spare_reads"] == 576 + 142


def test_figure_11__disturbed_leaves_are_restored_with_the_partial_block() -> None:
    reference = BlockReference(replace(PAPER, disturb_tolerance=1), mmerge)
    reference.run([write(0, 0, 576)])
    restored = []
    for _ in range(4):
        reference.run([write(0, PB_9.start, len(PB_9))])
        restored.append(leaves(m_merge(reference)))
    assert [(found[0], found[-1], len(found)) for found in restored] == [
        (8, 15, 8),
        (7, 16, 10),
        (8, 15, 8),
        (6, 17, 12),
    ]
    check(reference)


def test_figure_11__without_care_the_neighbours_are_spoiled() -> None:
    reference = BlockReference(replace(PAPER, disturb_tolerance=1, disturb_care=False), mmerge)
    reference.run([write(0, 0, 576)])
    made = []
    for _ in range(2):
        reference.run([write(0, PB_9.start, len(PB_9))])
        plan = m_merge(reference)
        made.append((plan.pbs, plan.dis, plan.at_tolerance))
    assert made == [((9,), frozenset(), 2), ((9,), frozenset(), 0)]
    assert reference.counters["spoiled_pages"] == 2 * 9
    assert reference.device.lost_now() == 2 * 9


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
