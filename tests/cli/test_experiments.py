"""Experiments on the command line: run, interrupted, gone on with, replayed."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from ssdgym.cli import INTERRUPTED, WRONG_INPUT, main
from ssdgym.cli.console import FAILED
from ssdgym.experiments.results import read_results, write_results
from ssdgym.experiments.runs.store import STORE_NAME
from tests.cli.conftest import Run

EXPERIMENT = """
description: a grid of a blink
devices: [tiny]
workloads: [uniform, zipf99]
policies: [greedy, "cost_benefit(exponent=0.5)"]
seeds: 1-3
ftls: [{timing: none}]
host_pages: 1000
"""
RUNS = 12
#: What a finished grid has to have byte for byte, whatever happened on the way.
TABLES = ("results.csv", "results.parquet", "results.md")


@pytest.fixture
def grid(tmp_path: Path) -> Path:
    path = tmp_path / "grid.yaml"
    path.write_text(EXPERIMENT)
    return path


def command(grid: Path, *more: str) -> list[str]:
    """Evaluate the grid into the folder `out` beside it."""
    return ["evaluate", str(grid), "--out", str(grid.parent / "out"), "--workers", "1", *more]


def test_evaluate__an_experiment_and_the_same_once_more(grid: Path, tmp_path: Path, run: Run) -> None:
    first, again = run(command(grid)), run(command(grid))
    assert again.out == first.out and "cost_benefit(exponent=0.5)" in first.out
    assert f"{RUNS} of {RUNS} runs are finished already" in again.err
    assert len(read_results(tmp_path / "out" / "results.parquet")) == RUNS


def test_evaluate__options_replace_what_the_experiment_says(grid: Path, run: Run) -> None:
    options = ["--seeds", "7,8", "--policy", "fifo", "--ftl", "timing=none", "--ftl", "gc.free_blocks=3"]
    results = json.loads(run(command(grid, *options, "--json")).out)["results"]
    assert {(row["policy"], row["seed"], row["ftl"]) for row in results} == {
        ("fifo", seed, "gc.free_blocks=3,timing=none") for seed in (7, 8)
    }


def test_evaluate__several_ftls__one_row_each_in_one_table(tmp_path: Path, run: Run) -> None:
    ftls = ["kind=cgm", "kind=subftl,rule=printed", "mapping=page,placement=single,gc.free_blocks=2"]
    options = [word for ftl in ftls for word in ("--ftls", ftl)]
    length = ["--ftl", "timing=none", "--seeds", "1", "--host-pages", "2000", "--warmup", "0"]
    where = ["-d", "subftl-tiny", "-w", "sysbench", "-p", "greedy", "--preconditioning", "fill"]
    out = tmp_path / "out"
    lines = run(["evaluate", *where, *options, *length, "--workers", "1", "--out", out]).out.splitlines()
    assert lines[0].strip() == "sysbench on subftl-tiny (timing=none), greedy"
    rows = [line.split() for line in lines if line.startswith((" cgm ", " subftl ", " page "))]
    assert "page is gc.free_blocks=2,mapping=page,placement=single." in lines
    assert [row[0] for row in rows] == ["subftl", "cgm", "page"]
    assert rows[2][1:3] == ["-", "-"] and float(rows[0][1]) < float(rows[1][1])
    found = {result.ftl: result.metrics for result in read_results(out / "results.parquet")}
    assert len(found) == 3
    # Counted in the pages that the FTL maps: 1 of 4 KiB, or a quarter as many of 16 KiB.
    footprints = [metrics["workload"]["footprint_pages"] for metrics in found.values()]
    assert footprints[0] == footprints[1] and abs(footprints[2] - footprints[0] / 4) <= 1


def test_evaluate__until_gc__is_a_preconditioning_like_the_others(grid: Path, run: Run) -> None:
    def relocated(*options: str) -> list[int]:
        results = json.loads(run(command(grid, "--policy", "fifo", *options, "--json")).out)["results"]
        return [row["metrics"]["relocated_pages"] for row in results]

    by_option = relocated("--preconditioning", "until_gc")
    assert by_option != relocated("--preconditioning", "none")
    grid.write_text(EXPERIMENT + "preconditioning: until_gc\n")
    assert relocated() == by_option


def test_evaluate__another_grid_in_the_same_folder_says_what_it_leaves_out(grid: Path, run: Run) -> None:
    run(command(grid))
    said = run(command(grid, "--seeds", "3-4")).err
    assert "4 of 8 runs are finished already" in said
    assert "8 finished runs belong to another grid; they are kept, not reported" in said


def test_evaluate__a_failed_run_is_named_and_the_others_are_there(
    grid: Path, tmp_path: Path, run: Run
) -> None:
    short = tmp_path / "short.csv"
    short.write_text("128166372003061629,hm,0,Write,0,4096,100\n")
    options = ["--workload", "uniform", "--workload", str(short), "--seeds", "1", "--preconditioning", "none"]
    said = run(command(grid, *options, "--policy", "greedy"), FAILED).err
    assert f"failed: greedy on {short} (tiny, seed 1): the workload ended after" in said
    assert "1 of 2 runs failed" in said and "Traceback" not in said
    assert [result.workload for result in read_results(tmp_path / "out" / "results.parquet")] == ["uniform"]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("diary.txt", b"", "holds diary.txt and no runs.sqlite"),
        (STORE_NAME, b"garbage" * 1000, "runs.sqlite: is damaged"),
    ],
)
def test_evaluate__a_folder_of_something_else_or_a_damaged_store__is_one_sentence(
    grid: Path, name: str, content: bytes, said: str, refusal: Callable[..., str]
) -> None:
    (grid.parent / "out").mkdir()
    (grid.parent / "out" / name).write_bytes(content)
    assert said in refusal(*command(grid))


def test_evaluate__a_full_disk_loses_nothing_that_is_finished(
    grid: Path, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("ssdgym.files.os.fsync", full)
        assert "No space left on device" in run(command(grid), WRONG_INPUT).err
    assert f"{RUNS} of {RUNS} runs are finished already" in run(command(grid)).err


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, INTERRUPTED), (signal.SIGTERM, 143)])
def test_interrupt__says_how_to_go_on(
    number: signal.Signals, status: int, grid: Path, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    from ssdgym.experiments.runs import evaluate as workers

    ran = 0

    def run_five(runs: list[object]) -> object:
        nonlocal ran
        ran += 1
        if ran > 5:
            signal.raise_signal(number)
        return run_job(runs)

    run_job = workers.run_job
    with monkeypatch.context() as patch:
        patch.setattr(workers, "run_job", run_five)
        said = run(command(grid), status).err
    assert f"interrupted: 5 of {RUNS} runs are finished and kept in {grid.parent / 'out'}" in said
    assert f"5 of {RUNS} runs are finished already" in run(command(grid)).err


def test_replay__reproduces_a_result_and_catches_an_edited_one(grid: Path, tmp_path: Path, run: Run) -> None:
    run(command(grid))
    where = ["--where", "policy=greedy,workload=zipf99,seed=2"]
    assert "1 of 1 results reproduce" in run(["replay", tmp_path / "out", *where]).out

    found = read_results(tmp_path / "out" / "results.parquet")
    (written,) = {int(result.metric("host_pages_written")) for result in found}
    less = {"host_pages_written": written - 1, "requests": written - 1}
    edited = [replace(result, metrics={**result.metrics, **less}) for result in found]
    write_results(edited, tmp_path / "out" / "results")
    said = run(["replay", tmp_path / "out", *where], FAILED).out
    assert "0 of 1 results reproduce" in said
    assert all(name in said for name in ("metrics/host_pages_written", "metrics/requests", "999", "1000"))


def test_replay__of_a_sample__says_of_every_result_whether_it_reproduces(
    grid: Path, tmp_path: Path, run: Run, refusal: Callable[..., str]
) -> None:
    out = tmp_path / "out"
    run(command(grid))
    said = run(["replay", out, "--sample", "4", "--workers", "1"]).out
    assert f"4 of 4 results reproduce, out of {RUNS}" in said
    assert "give one of the three" in refusal("replay", out, "--row", "1", "--sample", "2")

    stored = read_results(out / "results.parquet")
    stored[3] = replace(stored[3], metrics={**stored[3].metrics, "host_reads": 17})
    write_results(stored, out / "results")
    found = run(["replay", out, "--sample", "99", "--workers", "1", "--json"], FAILED).out
    replayed = json.loads(found)["replayed"]
    assert [row["row"] for row in replayed if not row["reproduces"]] == [4]
    assert replayed[3]["differences"] == [{"column": "metrics/host_reads", "stored": 17, "measured": 0}]


@pytest.mark.parametrize("named", [(), ("--row", "1")])
def test_replay__of_a_damaged_file_is_one_sentence(
    named: tuple[str, ...], tmp_path: Path, refusal: Callable[..., str]
) -> None:
    (tmp_path / "results.parquet").write_bytes(b"garbage")
    assert "not a readable Parquet file" in refusal("replay", str(tmp_path), *named)
    assert main(["replay", str(tmp_path / "missing"), *named]) == WRONG_INPUT


def start(grid: Path, out: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "ssdgym", "evaluate", str(grid), "--out", str(out), "--workers", "2"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def ends(group: int, within_s: float = 20.0) -> bool:
    """Does every process of this group end by itself?"""
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


def wait_for_a_run(process: subprocess.Popen[str], store: Path) -> None:
    """Until the process has kept a run, or has made the store, or has ended."""

    def size() -> int:
        return store.stat().st_size if store.exists() else 0

    before = size()
    while size() <= before and process.poll() is None:
        time.sleep(0.005)


@pytest.mark.slow
def test_kill__ten_times_at_random_moments_changes_no_byte(grid: Path, tmp_path: Path) -> None:
    grid.write_text(EXPERIMENT.replace("1-3", "1-12").replace("host_pages: 1000", "host_pages: 100000"))
    runs = RUNS // 3 * 12
    reference = start(grid, tmp_path / "reference")
    table, told = reference.communicate()
    assert reference.returncode == 0, told

    draw = random.Random(20)
    out = tmp_path / "killed"
    kept = []
    for _ in range(10):
        process = start(grid, out)
        wait_for_a_run(process, out / STORE_NAME)
        time.sleep(draw.uniform(0.0, 0.25))
        # Only the parent: its workers have to see to themselves.
        process.kill()
        process.communicate()
        kept.append(stored(out))
        assert ends(process.pid)
    assert kept == sorted(kept) and kept[0] < runs and len(set(kept)) > 3

    final = start(grid, out)
    again, told = final.communicate()
    assert final.returncode == 0, told
    assert f"{kept[-1]} of {runs} runs are finished already" in told
    for name in TABLES:
        assert (out / name).read_bytes() == (tmp_path / "reference" / name).read_bytes()
    assert again.replace(str(out), str(tmp_path / "reference")) == table


def stored(out: Path) -> int:
    """How many runs are finished in the store; reading it is part of the test."""
    from ssdgym.experiments.runs.store import Store

    with Store(out) as store:
        return sum(store.others([]))


@pytest.mark.slow
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, INTERRUPTED), (signal.SIGTERM, 143)])
def test_interrupt__of_every_process__ends_them_and_says_how_to_go_on(
    number: signal.Signals, status: int, grid: Path, tmp_path: Path
) -> None:
    grid.write_text(EXPERIMENT.replace("host_pages: 1000", "host_pages: 100000000"))
    process = start(grid, tmp_path / "out")
    while not (tmp_path / "out" / STORE_NAME).is_file():
        time.sleep(0.05)
    time.sleep(2.0)
    os.killpg(process.pid, number)
    _, told = process.communicate(timeout=30)
    assert process.returncode == status
    assert f"interrupted: 0 of {RUNS} runs" in told and "Traceback" not in told
    assert ends(process.pid)


OWN_AGENT_OPTIONS = """
    --device tiny --workload zipf99 --policy greedy --seeds 1-2 --host-pages 800 --warmup 0 --ftl timing=none
    --workers 1
"""


def own_agent_command(agent: str, out: Path, *more: str) -> list[str]:
    return ["evaluate", *OWN_AGENT_OPTIONS.split(), "--agent", agent, "--out", str(out), *more]


def test_evaluate__agent_of_ones_own__beside_policies_and_random_actions(
    own_module: str, tmp_path: Path, run: Run
) -> None:
    out = tmp_path / "out"
    agent = f"{own_module}:MostInvalid(feature=log_benefit)"
    shown = run(own_agent_command(agent, out, "--agent", "random_action")).out
    assert f"{agent} " in shown and "random_action does not beat" not in shown
    results = read_results(out / "results.parquet")
    assert {result.policy for result in results} == {agent, "greedy", "random_action"}
    run(["replay", out, "--where", f"policy={agent},seed=1"], WRONG_INPUT)
    run(["replay", out, "--where", f"policy={agent},seed=1", "--trust"])
    run(["replay", out, "--where", "policy=random_action,seed=1"])


def test_evaluate__agent_of_ones_own__in_another_environment(own_module: str, tmp_path: Path) -> None:
    more = ["--environment", "ssdgym/ParallelErase-v0", "--env-arg", "candidates=5"]
    more += ["--env-arg", "objective={wear: 1.0}"]
    assert main(own_agent_command(f"{own_module}:MostInvalid", tmp_path / "out", *more)) == 0


def test_evaluate__agent_named_by_a_file__needs_trust(own_module: str, grid: Path, run: Run) -> None:
    grid.write_text(f"{EXPERIMENT}agents: ['{own_module}:MostInvalid']\n")
    assert "give --trust" in run(command(grid), WRONG_INPUT).err
    run(command(grid, "--trust"))


def test_evaluate__zip_of_stable_baselines3__with_trust(tmp_path: Path, run: Run) -> None:
    sb3_contrib = pytest.importorskip("sb3_contrib")
    import gymnasium

    from ssdgym.envs.sb3 import SB3VecEnv

    arguments = {"device": "tiny", "ftl": {"timing": "none"}, "horizon": 64, "candidates": 6}
    envs = gymnasium.make_vec(
        "ssdgym/EraseVictim-v0", num_envs=2, vectorization_mode="vector_entry_point", **arguments
    )
    saved = tmp_path / "masked.zip"
    sb3_contrib.MaskablePPO("MultiInputPolicy", SB3VecEnv(envs), n_steps=8, batch_size=16).save(saved)
    zipped = own_agent_command(str(saved), tmp_path / "out")
    assert "executes pickles in it" in run(zipped, WRONG_INPUT).err
    run([*zipped, "--trust"])  # the zip says that it has 6 candidates
    vars(envs.single_observation_space).pop("environment")
    sb3_contrib.MaskablePPO("MultiInputPolicy", SB3VecEnv(envs), n_steps=8, batch_size=16).save(saved)
    said = run([*own_agent_command(str(saved), tmp_path / "bare"), "--trust"], FAILED).err
    assert said.count("name the environment it was trained in") == 1
    assert "and the FTL with --ftl" in said and "more for this reason)" in said
    run([*own_agent_command(str(saved), tmp_path / "named"), "--trust", "--env-arg", "candidates=6"])


def test_evaluate__merge_rule_of_ones_own__by_its_module(own_rules: str, tmp_path: Path, run: Run) -> None:
    rule = f"{own_rules}:last(most=5)"
    options = ["-d", "pen-tiny", "-w", "uniform", "--ftl", "timing=none", "--preconditioning", "fill"]
    length = ["--seeds", "1-2", "--host-pages", "2000", "--warmup", "0", "--workers", "2"]
    out = tmp_path / "out"
    said = run(["evaluate", *options, *length, "-p", "merge", "-p", rule, "--out", out]).out
    assert f"{rule} does NOT beat merge" in said or f"{rule} beats merge" in said
    merges = {one.policy: one.metrics["m_merges"] for one in read_results(out / "results.parquet")}
    assert merges["merge"] == 0 < merges[rule]
    run(["replay", out, "--row", "3"])
    run(["run", *options[:4], "-p", rule, "--host-pages", "2000", "--timing", "none", "--json"])


def test_evaluate__rule_named_by_a_file__needs_trust(own_rules: str, grid: Path, run: Run) -> None:
    grid.write_text(
        f"{{devices: [pen-tiny], workloads: [uniform], policies: ['{own_rules}:last'], seeds: [1],"
        " host_pages: 500, ftls: [{timing: none}], preconditioning: fill}",
        encoding="utf-8",
    )
    assert "executes code of the module it names" in run(command(grid), WRONG_INPUT).err
    assert own_rules not in sys.modules
    run(command(grid, "--trust"))
