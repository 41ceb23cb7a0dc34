"""FTLs side by side: what they are called, what stays with the task, what is left out."""

from __future__ import annotations

import pytest

from ssdgym.experiments.report.summary import Shown, ftls_of
from ssdgym.experiments.results import Result


def of(
    ftl: str,
    workload: str = "zipf",
    policy: str = "greedy",
    metrics: dict[str, float] | None = None,
) -> Result:
    return Result("d", ftl, workload, policy, 1, metrics=metrics or {})


@pytest.mark.parametrize(
    ("ftls", "names"),
    [
        (["kind=cgm", "kind=fgm"], ["cgm", "fgm"]),
        (["kind=cgm,queue_depth=32", "mapping=page,queue_depth=32"], ["cgm", "page"]),
        (["", "kind=cgm"], ["default", "cgm"]),
        (["kind=cgm", "gc.free_blocks=4,mapping=page"], ["cgm", "page"]),
        (["kind=cgm,mapping=subpage", "mapping=page"], ["cgm subpage", "page"]),
        (["", "placement=single"], ["default", "placement=single"]),
        (["gc.free_blocks=2", "gc.free_blocks=4"], ["gc.free_blocks=2", "gc.free_blocks=4"]),
        (
            ["placement=a(b=1, c=2),x=1", "placement=a(b=1, c=3),x=1"],
            ["placement=a(b=1, c=2)", "placement=a(b=1, c=3)"],
        ),
        (["queue_depth=32"], [""]),
        ([], []),
    ],
)
def test_ftl_names__say_what_differs(ftls: list[str], names: list[str]) -> None:
    assert [ftl.name for ftl in ftls_of([of(ftl) for ftl in ftls])] == names


def test_long_names__an_ftl_whose_name_leaves_options_out() -> None:
    ftls = ["kind=cgm,timing=none", "gc.free_blocks=4,mapping=page,timing=none"]
    assert Shown.of([of(ftl) for ftl in ftls]).names == {"page": "gc.free_blocks=4,mapping=page"}
    assert Shown.of([of(ftl) for ftl in ("kind=cgm", "kind=fgm")]).names == {}


def test_ftl_names__an_option_that_comes_with_the_workload__is_no_difference() -> None:
    """A workload without a pace is played at a queue depth, which others have not."""
    results = [
        of(f"{ftl}{depth}", work)
        for work, depth in (("zipf", ",queue_depth=32"), ("hm_0", ""))
        for ftl in ("kind=cgm", "kind=fgm")
    ]
    assert [ftl.name for ftl in ftls_of(results)] == ["cgm", "fgm", "cgm", "fgm"]
    assert [ftl.name for ftl in ftls_of([of("queue_depth=32"), of("", "hm_0")])] == ["", ""]


def test_side_by_side__what_is_common_stays_with_the_task_and_the_learned_stay_learned() -> None:
    results = [
        of(f"kind={kind},queue_depth=8", policy=policy)
        for kind in ("cgm", "fgm")
        for policy in ("greedy", "mine")
    ]
    shown = Shown.of(results, ["mine"])
    assert [(one.policy, one.ftl) for one in shown.results] == [
        (f"{kind}, {policy}", "queue_depth=8") for kind in ("cgm", "fgm") for policy in ("greedy", "mine")
    ]
    assert shown.learned == ["cgm, mine", "fgm, mine"]
    again = Shown.of(shown.results, shown.learned)
    assert (again.results, again.learned) == (shown.results, shown.learned)


def test_side_by_side__one_ftl__leaves_results_as_they_are() -> None:
    results = [of("queue_depth=8"), of("queue_depth=8", policy="mine")]
    shown = Shown.of(results, ["mine"])
    assert (shown.results, shown.learned) == (results, ["mine"])


def test_side_by_side__larger_pages_written_in_part__lose_their_write_amplification() -> None:
    metrics = {"write_amplification": 1.0, "rmw_reads": 5, "logical_pages": 100}
    fine, coarse = (
        of("kind=cgm", metrics=metrics),
        of("mapping=page", metrics={**metrics, "logical_pages": 25}),
    )
    shown = Shown.of([fine, coarse]).results
    assert [one.measured("write_amplification") for one in shown] == [True, False]
    whole = of("mapping=page", metrics={**metrics, "logical_pages": 25, "rmw_reads": 0})
    shown = Shown.of([fine, whole]).results
    assert all(one.measured("write_amplification") for one in shown)
