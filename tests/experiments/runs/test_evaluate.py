"""Grids: results in the order of the cells, the same whoever runs them."""

from __future__ import annotations

import multiprocessing

import pytest

from ssdgym.errors import SsdgymError
from ssdgym.experiments.runs.evaluate import Cell, evaluate, ftl_changes, ftl_label

OPTIONS = (("gc.free_blocks", 3), ("placement", "sep_gc"), ("timing", "none"))


def cell(policy: str, seed: int, **changes: object) -> Cell:
    values = {"device": "tiny", "workload": "uniform", "ftl": OPTIONS, "host_pages": 4_000}
    values["preconditioning"] = "none"
    return Cell(policy=policy, seed=seed, **(values | changes))  # type: ignore[arg-type]


def test_evaluate__returns_results_in_the_order_of_the_cells() -> None:
    cells = [cell("greedy", 2), cell("fifo", 1), cell("greedy", 1)]
    progress: list[tuple[int, int]] = []
    results = evaluate(cells, workers=1, progress=lambda done, total: progress.append((done, total)))
    assert [(result.policy, result.seed) for result in results] == [("greedy", 2), ("fifo", 1), ("greedy", 1)]
    assert progress == [(1, 3), (2, 3), (3, 3)]
    assert all(result.metric("host_pages_written") == 4_000 for result in results)
    assert {result.ftl for result in results} == {"gc.free_blocks=3,placement=sep_gc,timing=none"}


def test_evaluate__greedy_relocates_less_than_random() -> None:
    greedy, random = evaluate([cell("greedy", 1), cell("random", 1)], workers=1)
    assert greedy.metric("relocated_pages") < random.metric("relocated_pages")


@pytest.mark.slow
def test_evaluate__spawned_workers_find_the_same_as_this_process() -> None:
    cells = [cell(policy, seed) for policy in ("greedy", "random") for seed in (1, 2)]
    assert evaluate(cells, workers=2) == evaluate(cells, workers=1)


@pytest.mark.slow
def test_evaluate__an_error_in_a_worker_is_its_sentence_and_stops_the_others() -> None:
    # The other cell would run for hours; this test ends because nobody waits for it.
    endless = cell("greedy", 1, host_pages=10**12)
    others = set(multiprocessing.active_children())
    with pytest.raises(SsdgymError, match="no-such-trace.csv"):
        evaluate([endless, cell("greedy", 1, workload="no-such-trace.csv")], workers=2)
    assert set(multiprocessing.active_children()) <= others


def test_evaluate__a_wrong_policy_is_refused_before_anything_runs() -> None:
    progress: list[int] = []
    with pytest.raises(SsdgymError, match="policy nobody does not exist"):
        evaluate([cell("greedy", 1), cell("nobody", 1)], progress=lambda done, total: progress.append(done))
    assert not progress


def test_evaluate__what_never_ends_needs_a_length() -> None:
    with pytest.raises(SsdgymError, match="workload uniform never ends: set host_pages or requests"):
        evaluate([cell("greedy", 1, host_pages=None)])


def test_evaluate__requests_limit_the_run() -> None:
    (result,) = evaluate([cell("greedy", 1, host_pages=None, requests=1_234)], workers=1)
    assert result.metric("host_pages_written") == 1_234


def test_evaluate__until_gc__differs_by_policy_and_seed_and_is_repeated() -> None:
    cells = [
        cell(policy, seed, preconditioning="until_gc") for policy in ("greedy", "fifo") for seed in (1, 2, 1)
    ]
    found = [result.metrics for result in evaluate(cells, workers=1)]
    for one, other, same in (found[:3], found[3:]):
        assert one == same and one["relocated_pages"] != other["relocated_pages"]
        assert one["host_pages_written"] == 4_000 and one["erases"] > 0
    assert found[0] != found[3]


def test_evaluate__refuses_no_workers() -> None:
    with pytest.raises(SsdgymError, match="workers must be at least 1, not 0"):
        evaluate([], workers=0)


def test_ftl__dotted_names_become_nested_changes() -> None:
    assert ftl_changes(OPTIONS) == {"gc": {"free_blocks": 3}, "placement": "sep_gc", "timing": "none"}
    assert ftl_changes(()) is None
    assert ftl_label(()) == ""
