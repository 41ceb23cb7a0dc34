"""Commands that repeat results: those and no others, or a sentence that says why not."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ssdgym.cli.options import parse_seeds
from ssdgym.errors import SsdgymError
from ssdgym.experiments.report.commands import repetition, seed_text, specs_of
from ssdgym.experiments.report.comparison import HELD_OUT
from ssdgym.experiments.runs.spec import RunSpec
from tests.experiments.synthetic import grid_of_runs

OUT = Path("results/again")


def spec(**changes: Any) -> RunSpec:
    values = {"device": "tiny", "workload": "zipf99", "policy": "greedy", "seed": 1, "host_pages": 3_000}
    return RunSpec(**(values | changes))


def options(command: str) -> list[str]:
    words = shlex.split(command.replace("\\\n", " "))
    assert words[:2] == ["ssdgym", "evaluate"]
    return words[2:]


def test_repetition__is_one_command_for_a_whole_grid() -> None:
    runs = [
        spec(workload=workload, policy=policy, seed=seed, warmup=500, ftl=(("gc.free_blocks", 4),))
        for workload in ("zipf99", "hot90")
        for policy in ("greedy", "cost_benefit(exponent=0.5)")
        for seed in (100, 101, 102, 200)
    ]
    found = repetition(grid_of_runs(runs), OUT)
    assert found.missing == ()
    (command,) = found.commands
    assert options(command) == shlex.split(
        "--device tiny --workload zipf99 --workload hot90 --policy greedy "
        "--policy 'cost_benefit(exponent=0.5)' --seeds 100-102,200 --host-pages 3000 --warmup 500 "
        "--preconditioning workload --ftl gc.free_blocks=4 --out results/again"
    )


def test_repetition__commands_are_broken_between_options() -> None:
    policies = ("greedy", "fifo", "random", "d_choices", "windowed_greedy", "cost_benefit")
    (command,) = repetition(grid_of_runs([spec(policy=policy) for policy in policies]), OUT).commands
    first, *others = command.split("\n")
    assert first.startswith("ssdgym evaluate --device tiny") and others
    assert all(line.startswith("  --") and len(line) < 100 for line in others)
    assert [line[-2:] for line in (first, *others[:-1])] == [" \\"] * len(others)


def test_repetition__every_setting_of_the_ftl_is_a_command_with_a_folder_of_its_own() -> None:
    runs = [spec(ftl=(("gc.free_blocks", blocks),)) for blocks in (4, 8)]
    first, second = repetition(grid_of_runs(runs), OUT).commands
    assert options(first)[-4:] == ["--ftl", "gc.free_blocks=4", "--out", "results/again/1"]
    assert options(second)[-4:] == ["--ftl", "gc.free_blocks=8", "--out", "results/again/2"]


def test_repetition__names_the_workload_not_the_remark_that_it_was_held_out() -> None:
    (command,) = repetition(grid_of_runs([spec(label="zipf99" + HELD_OUT)]), OUT).commands
    assert "held out" not in command and "--workload zipf99" in command


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"device_label": "tiny, smaller"}, "The device tiny, smaller cannot be given to evaluate"),
        ({"label": "hot90"}, "The workload hot90 cannot be given to evaluate"),  # which is not what was run
        ({"host_pages": None, "requests": 10}, "not as long as a number of host pages"),
    ],
)
def test_repetition__says_what_has_no_option(changes: dict[str, Any], said: str) -> None:
    found = repetition(grid_of_runs([spec(**changes)]), OUT)
    assert found.commands == ()
    (sentence,) = found.missing
    assert said in sentence


def test_repetition__says_that_a_grid_has_gaps() -> None:
    runs = [spec(seed=1), spec(seed=2), spec(seed=1, policy="fifo")]
    found = repetition(grid_of_runs(runs), OUT)
    assert len(found.commands) == 1 and found.missing == ("The grid has gaps, which these commands fill.",)


def test_repetition__says_that_older_results_do_not_tell_how_they_were_made() -> None:
    results = [replace(result, spec="") for result in grid_of_runs([spec()])]
    assert repetition(results, OUT).missing == ("1 of 1 results do not say how they were made.",)


@pytest.mark.parametrize("text", ["{", "[]", '{"names": 1}', '{"names": {}}'])
def test_specs__damage_is_one_sentence(text: str) -> None:
    (result,) = grid_of_runs([spec()])
    with pytest.raises(SsdgymError, match=r"of greedy on zipf99 \(seed 1\) does not describe a run"):
        specs_of([replace(result, spec=text)])


@pytest.mark.parametrize("seeds", [[5], [1, 2, 9], list(range(100, 110)), [3, 1, 2, 7]])
def test_seed_text__is_what_the_option_reads(seeds: list[int]) -> None:
    assert parse_seeds(seed_text(seeds)) == sorted(seeds)
