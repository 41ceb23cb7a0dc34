"""Replay: a result is found again exactly, and one that was edited is caught."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from ssdgym.errors import SsdgymError
from ssdgym.experiments.results import Result, read_results, write_results
from ssdgym.experiments.runs.evaluate import run_all
from ssdgym.experiments.runs.replay import choose, replay, sample
from ssdgym.experiments.runs.spec import RunSpec

RUNS = [
    RunSpec(
        device="tiny",
        workload=workload,
        policy=policy,
        seed=seed,
        ftl=(("gc.free_blocks", 3), ("placement", "single")),
        host_pages=1_500,
        warmup=200,
        preconditioning="fill",
    )
    for workload in ("zipf99", "mixed")
    for policy in ("d_choices(d=3)", "cost_benefit(exponent=0.5)")
    for seed in (1, 2)
]


@pytest.fixture(scope="module")
def results() -> list[Result]:
    return run_all(RUNS, workers=1)


def edited(result: Result, **metrics: float) -> Result:
    return dataclasses.replace(result, metrics={**result.metrics, **metrics})


def test_replay__finds_everything_again_from_the_file_alone(results: list[Result], tmp_path: Path) -> None:
    stored = read_results(write_results(results, tmp_path / "results")[0])
    found = replay(stored, range(1, len(stored) + 1), "results")
    assert len(found) == 8 and all(one.reproduces for one in found)
    assert [one.measured for one in found] == results


def test_replay__a_metric_edited_by_hand_is_caught(results: list[Result]) -> None:
    erases = int(results[0].metric("erases"))
    (found,) = replay([edited(results[0], erases=erases - 1)], [1], "results")
    assert not found.reproduces
    (difference,) = found.differences
    assert (difference.column, difference.stored, difference.measured) == (
        "metrics/erases",
        erases - 1,
        erases,
    )


@pytest.mark.parametrize(
    "change", [{"policy": "greedy"}, {"seed": 77}, {"workload": "uniform"}, {"device": "better"}, {"ftl": ""}]
)
def test_replay__a_name_edited_by_hand_is_caught(results: list[Result], change: dict[str, object]) -> None:
    (found,) = replay([dataclasses.replace(results[0], **change)], [1], "results")  # type: ignore[arg-type]
    assert [difference.column for difference in found.differences] == list(change)


def test_replay__an_added_and_a_removed_metric_are_caught(results: list[Result]) -> None:
    metrics = {name: value for name, value in results[0].metrics.items() if name != "erases"}
    changed = dataclasses.replace(results[0], metrics={**metrics, "speed": 9})
    (found,) = replay([changed], [1], "results")
    assert {one.column: (one.stored, one.measured is None) for one in found.differences} == {
        "metrics/erases": (None, False),
        "metrics/speed": (9, True),
    }


def test_replay__another_engine_is_told_and_is_no_difference(results: list[Result]) -> None:
    old = dataclasses.replace(results[0], engine_hash="0ld", version="0.0.1")
    (found,) = replay([old], [1], "results")
    assert found.reproduces
    assert [(one.column, one.stored) for one in found.other_code] == [
        ("version", "0.0.1"),
        ("engine_hash", "0ld"),
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [("", "its column 'spec' is empty"), ("{", "is not JSON"), ("[]", "does not describe a run")],
)
def test_replay__a_row_that_does_not_say_how_it_was_run_is_named(
    results: list[Result], text: str, said: str
) -> None:
    with pytest.raises(SsdgymError, match=f"results.csv, row 1: .*{said}"):
        replay([dataclasses.replace(results[0], spec=text)], [1], "results.csv")


def test_replay__an_edited_description_does_not_help(results: list[Result]) -> None:
    spec = json.loads(results[0].spec)
    spec["host_pages"] += 1
    (found,) = replay([dataclasses.replace(results[0], spec=json.dumps(spec))], [1], "results")
    assert "metrics/host_pages_written" in [difference.column for difference in found.differences]


def test_choose__by_row_or_by_values_that_may_hold_commas(results: list[Result]) -> None:
    assert choose(results, 3, [], "r") == 3
    assert choose(results, None, ["policy=d_choices(d=3),workload=mixed", "seed=2"], "r") == 6
    where = ["ftl=gc.free_blocks=3,placement=single,policy=cost_benefit(exponent=0.5),seed=1,workload=mixed"]
    assert choose(results, None, where, "r") == 7
    assert choose(results[:1], None, [], "r") == 1


@pytest.mark.parametrize(
    ("row", "where", "said"),
    [
        (9, [], "--row 9: r has the rows 1 to 8"),
        (1, ["seed=1"], "give one of the two"),
        (None, [], r"8 results fit \(rows 1, 2, 3, 4, 5, ...\)"),
        (None, ["seed=3"], "none of its 8 results fits"),
        (None, ["sed=3"], "write COLUMN=VALUE"),
        (None, ["seed=1", "seed=2"], "seed is given twice"),
    ],
)
def test_choose__says_what_is_wrong(
    results: list[Result], row: int | None, where: list[str], said: str
) -> None:
    with pytest.raises(SsdgymError, match=said):
        choose(results, row, where, "r")


def test_sample__is_seeded_and_without_replacement(results: list[Result]) -> None:
    assert sample(results, 4, 0) == sample(results, 4, 0) != sample(results, 4, 1)
    assert sample(results, 99, 0) == list(range(1, 9))
