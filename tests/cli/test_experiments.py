"""Experiments on the command line: run, interrupted, gone on with, replayed."""

from __future__ import annotations

import csv
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from ssdgym.cli import INTERRUPTED, WRONG_INPUT, main
from ssdgym.cli.evaluate import SOME_FAILED
from ssdgym.cli.replay import DIFFERENT
from ssdgym.experiments.results import read_results
from ssdgym.experiments.runs.store import STORE_NAME

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


def command(grid: Path, out: Path, *more: str) -> list[str]:
    return ["evaluate", str(grid), "--out", str(out), "--workers", "1", *more]


def test_evaluate__an_experiment_and_the_same_once_more(
    grid: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(command(grid, tmp_path / "out")) == 0
    first = capsys.readouterr()
    assert main(command(grid, tmp_path / "out")) == 0
    again = capsys.readouterr()
    assert again.out == first.out and "cost_benefit(exponent=0.5)" in first.out
    assert f"{RUNS} of {RUNS} runs are finished already" in again.err
    assert len(read_results(tmp_path / "out" / "results.parquet")) == RUNS


def test_evaluate__options_replace_what_the_experiment_says(
    grid: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    options = ["--seeds", "7,8", "--policy", "fifo", "--ftl", "timing=none", "--ftl", "gc.free_blocks=3"]
    assert main(command(grid, out, *options, "--json")) == 0
    results = json.loads(capsys.readouterr().out)["results"]
    assert {(row["policy"], row["seed"], row["ftl"]) for row in results} == {
        ("fifo", seed, "gc.free_blocks=3,timing=none") for seed in (7, 8)
    }


def test_evaluate__several_ftls__one_row_each_in_one_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ftls = ["kind=cgm", "kind=subftl,rule=printed", "mapping=page,placement=single,gc.free_blocks=2"]
    options = [word for ftl in ftls for word in ("--ftls", ftl)]
    run = ["--ftl", "timing=none", "--seeds", "1", "--host-pages", "2000", "--warmup", "0", "--workers", "1"]
    where = ["-d", "subftl-tiny", "-w", "sysbench", "-p", "greedy", "--preconditioning", "fill"]
    assert main(["evaluate", *where, *options, *run, "--out", str(tmp_path / "out")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].strip() == "sysbench on subftl-tiny (timing=none), greedy"
    rows = [line.split() for line in lines if line.strip().startswith(("cgm ", "subftl ", "page "))]
    assert [row[0] for row in rows] == ["subftl", "cgm", "page"]
    assert rows[2][1:3] == ["-", "-"] and float(rows[0][1]) < float(rows[1][1])
    found = {result.ftl: result.metrics for result in read_results(tmp_path / "out" / "results.csv")}
    assert len(found) == 3
    # Counted in the pages that the FTL maps: 1 of 4 KiB, or a quarter as many of 16 KiB.
    footprints = [metrics["workload"]["footprint_pages"] for metrics in found.values()]
    assert footprints[0] == footprints[1] and abs(footprints[2] - footprints[0] / 4) <= 1


def test_evaluate__an_ftl_given_twice_or_an_option_twice__is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where = ["evaluate", "-d", "subftl-tiny", "--out", str(tmp_path / "out")]
    assert main([*where, "--ftls", "kind=cgm", "--ftls", "kind=cgm"]) == WRONG_INPUT
    assert "twice; give each once" in capsys.readouterr().err
    assert main([*where, "--ftl", "kind=fgm", "--ftls", "kind=cgm"]) == WRONG_INPUT
    assert "--ftl 'kind=cgm': kind is already set to 'fgm'; give it once" in capsys.readouterr().err


def test_evaluate__until_gc__is_a_preconditioning_like_the_others(
    grid: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def relocated(*options: str) -> list[int]:
        assert main(command(grid, tmp_path / "out", "--policy", "fifo", *options, "--json")) == 0
        results = json.loads(capsys.readouterr().out)["results"]
        return [row["metrics"]["relocated_pages"] for row in results]

    by_option = relocated("--preconditioning", "until_gc")
    assert by_option != relocated("--preconditioning", "none")
    grid.write_text(EXPERIMENT + "preconditioning: until_gc\n")
    assert relocated() == by_option


def test_evaluate__another_grid_in_the_same_folder_says_what_it_leaves_out(
    grid: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(command(grid, tmp_path / "out")) == 0
    assert main(command(grid, tmp_path / "out", "--seeds", "3-4")) == 0
    told = capsys.readouterr().err
    assert "4 of 8 runs are finished already" in told
    assert "8 finished runs belong to another grid; they are kept, not reported" in told


def test_evaluate__a_failed_run_is_told_and_the_others_are_there(
    grid: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    short = tmp_path / "short.csv"
    short.write_text("128166372003061629,hm,0,Write,0,4096,100\n")
    options = ["--workload", "uniform", "--workload", str(short), "--seeds", "1", "--preconditioning", "none"]
    out = tmp_path / "out"
    assert main(command(grid, out, *options, "--policy", "greedy")) == SOME_FAILED
    told = capsys.readouterr()
    assert f"failed: greedy on {short} (tiny, seed 1): the workload ended after" in told.err
    assert "1 of 2 runs failed" in told.err and "Traceback" not in told.err
    assert [result.workload for result in read_results(out / "results.csv")] == ["uniform"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("polices: [greedy]\n", "grid.yaml: field polices is unknown"),
        ("warmup: -1\n", "grid.yaml: field warmup must be greater than or equal to 0"),
        ("vary: {geometry.colour: [1]}\n", "field geometry.colour is unknown"),
        ("agents: [no-such.zip]\n", "no-such.zip: there is no such agent"),
    ],
)
def test_wrong_experiments__are_refused_before_anything_runs(
    grid: Path, tmp_path: Path, change: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    grid.write_text(EXPERIMENT + change)
    assert main(command(grid, tmp_path / "out")) == WRONG_INPUT
    told = capsys.readouterr()
    assert said in told.err and told.err.count("\n") == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--policy", "gredy"], "did you mean greedy"),
        (["--seeds", "9-1"], "--seeds '9-1': ranges from low to high"),
        (["--address", "127.0.0.1:1"], "a cluster at 127.0.0.1:1 has its own; leave --workers out"),
    ],
)
def test_wrong_options__are_refused_before_anything_runs(
    grid: Path, tmp_path: Path, options: list[str], said: str, refusal: Callable[..., str]
) -> None:
    assert said in refusal(*command(grid, tmp_path / "out", *options))
    assert not (tmp_path / "out").exists()


def test_evaluate__a_folder_of_something_else_is_left_alone(
    grid: Path, tmp_path: Path, refusal: Callable[..., str]
) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "diary.txt").write_text("")
    assert "holds diary.txt and no runs.sqlite" in refusal(*command(grid, tmp_path / "out"))


def test_evaluate__a_damaged_store_is_one_sentence(
    grid: Path, tmp_path: Path, refusal: Callable[..., str]
) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / STORE_NAME).write_bytes(b"garbage" * 1000)
    assert "runs.sqlite: is damaged" in refusal(*command(grid, tmp_path / "out"))


def test_evaluate__a_full_disk_loses_nothing_that_is_finished(
    grid: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("ssdgym.files.os.fsync", full)
        assert main(command(grid, tmp_path / "out")) == WRONG_INPUT
    assert "No space left on device" in capsys.readouterr().err
    assert main(command(grid, tmp_path / "out")) == 0
    assert f"{RUNS} of {RUNS} runs are finished already" in capsys.readouterr().err


def test_interrupt__says_how_to_go_on(
    grid: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from ssdgym.experiments.runs import evaluate as workers

    ran = 0

    def run_five(runs: list[object]) -> object:
        nonlocal ran
        ran += 1
        if ran > 5:
            raise KeyboardInterrupt
        return run_job(runs)

    run_job = workers.run_job
    with monkeypatch.context() as patch:
        patch.setattr(workers, "run_job", run_five)
        assert main(command(grid, tmp_path / "out")) == INTERRUPTED
    told = capsys.readouterr().err
    assert f"interrupted: 5 of {RUNS} runs are finished and kept in {tmp_path / 'out'}" in told
    assert main(command(grid, tmp_path / "out")) == 0
    assert f"5 of {RUNS} runs are finished already" in capsys.readouterr().err


def test_replay__reproduces_a_result_and_catches_an_edited_one(
    grid: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert main(command(grid, out)) == 0
    where = ["--where", "policy=greedy,workload=zipf99,seed=2"]
    assert main(["replay", str(out), *where]) == 0
    assert "reproduces: all" in capsys.readouterr().out

    table = out / "results.csv"
    (written,) = {result.metric("host_pages_written") for result in read_results(table)}
    header, *rows = csv.reader(table.read_text().splitlines())
    edited = [header.index(f"metrics/{name}") for name in ("host_pages_written", "requests")]
    for row in rows:
        for column in edited:
            row[column] = str(int(written) - 1)
    with table.open("w", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    assert main(["replay", str(table), *where]) == DIFFERENT
    told = capsys.readouterr().out
    assert "does not reproduce: 2 columns differ" in told
    assert all(name in told for name in ("metrics/host_pages_written", "metrics/requests", "999", "1000"))


def test_replay__of_a_sample__says_of_every_result_whether_it_reproduces(
    grid: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert main(command(grid, out)) == 0
    capsys.readouterr()
    assert main(["replay", str(out), "--sample", "4", "--workers", "1"]) == 0
    assert f"4 of 4 results reproduce, out of {RUNS}" in capsys.readouterr().out

    table = out / "results.csv"
    header, *rows = table.read_text().splitlines(keepends=True)
    column = header.split(",").index("metrics/host_reads") - len(header.split(","))
    cells = rows[3].split(",")
    cells[column] = "17"
    table.write_text("".join([header, *rows[:3], ",".join(cells), *rows[4:]]))
    assert main(["replay", str(table), "--sample", "99", "--workers", "1", "--json"]) == DIFFERENT
    replayed = json.loads(capsys.readouterr().out)["replayed"]
    assert [row["row"] for row in replayed if not row["reproduces"]] == [4]
    assert replayed[3]["differences"] == [{"column": "metrics/host_reads", "stored": 17, "measured": 0}]


@pytest.mark.parametrize("named", [(), ("--row", "1")])
def test_replay__of_a_damaged_file_is_one_sentence(
    named: tuple[str, ...], tmp_path: Path, refusal: Callable[..., str]
) -> None:
    (tmp_path / "results.parquet").write_bytes(b"garbage")
    assert "not a readable Parquet file" in refusal("replay", str(tmp_path), *named)
    assert main(["replay", str(tmp_path / "missing"), *named]) == WRONG_INPUT


def test_replay__of_one_and_of_a_sample__is_refused(
    grid: Path, tmp_path: Path, refusal: Callable[..., str]
) -> None:
    assert main(command(grid, tmp_path / "out")) == 0
    assert "give one of the three" in refusal("replay", str(tmp_path / "out"), "--row", "1", "--sample", "2")


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
def test_interrupt__ctrl_c_in_the_terminal_ends_every_process_and_says_how_to_go_on(
    grid: Path, tmp_path: Path
) -> None:
    grid.write_text(EXPERIMENT.replace("host_pages: 1000", "host_pages: 100000000"))
    process = start(grid, tmp_path / "out")
    while not (tmp_path / "out" / STORE_NAME).is_file():
        time.sleep(0.05)
    time.sleep(2.0)
    os.killpg(process.pid, signal.SIGINT)
    _, told = process.communicate(timeout=30)
    assert process.returncode == INTERRUPTED
    assert f"interrupted: 0 of {RUNS} runs" in told and "Traceback" not in told
    assert ends(process.pid)


OWN_AGENT_OPTIONS = """
    --device tiny --workload zipf99 --policy greedy --seeds 1-2 --host-pages 800 --ftl timing=none --workers 1
"""


def own_agent_command(agent: str, out: Path, *more: str) -> list[str]:
    return ["evaluate", *OWN_AGENT_OPTIONS.split(), "--agent", agent, "--out", str(out), *more]


def test_evaluate__agent_of_ones_own__beside_policies_and_random_actions(
    own_module: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    agent = f"{own_module}:MostInvalid(feature=log_benefit)"
    assert main(own_agent_command(agent, out, "--agent", "random_action")) == 0
    shown = capsys.readouterr().out
    assert f"{agent} " in shown and "random_action does not beat" not in shown
    results = read_results(out / "results.csv")
    assert {result.policy for result in results} == {agent, "greedy", "random_action"}
    assert main(["replay", str(out), "--where", f"policy={agent},seed=1"]) == WRONG_INPUT
    assert main(["replay", str(out), "--where", f"policy={agent},seed=1", "--trust"]) == 0
    assert main(["replay", str(out), "--where", "policy=random_action,seed=1"]) == 0


def test_evaluate__agent_of_ones_own__in_another_environment(own_module: str, tmp_path: Path) -> None:
    more = ["--environment", "ssdgym/ParallelErase-v0", "--env-arg", "candidates=5"]
    more += ["--env-arg", "objective={wear: 1.0}"]
    assert main(own_agent_command(f"{own_module}:MostInvalid", tmp_path / "out", *more)) == 0


def test_evaluate__agent_named_by_a_file__needs_trust(
    own_module: str, grid: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    grid.write_text(f"{EXPERIMENT}agents: ['{own_module}:MostInvalid']\n")
    assert main(command(grid, tmp_path / "out")) == WRONG_INPUT
    assert "give --trust" in capsys.readouterr().err
    assert main(command(grid, tmp_path / "out", "--trust")) == 0


def test_evaluate__zip_of_stable_baselines3__with_trust(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
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
    assert main(zipped) == WRONG_INPUT
    assert "executes pickles in it" in capsys.readouterr().err
    assert main([*zipped, "--trust"]) == SOME_FAILED  # 16 candidates
    assert "name the environment it was trained in" in capsys.readouterr().err
    assert main([*zipped, "--trust", "--env-arg", "candidates=6"]) == 0


@pytest.mark.parametrize(
    ("device", "first"), [("tiny", ["random", "fifo", "greedy"]), ("pen-tiny", ["merge", "mmerge_fixed"])]
)
def test_evaluate__without_policies__compares_those_that_the_device_takes(
    device: str, first: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = {"device": device, "workload": "uniform", "seeds": "1", "host-pages": "200", "warmup": "0"}
    given = [word for name, value in options.items() for word in (f"--{name}", value)]
    out = tmp_path / "out"
    assert main(["evaluate", *given, "--ftl", "timing=none", "--workers", "1", "--out", str(out)]) == 0
    played = [result.policy for result in read_results(out / "results.parquet")]
    assert played[: len(first)] == first


def test_evaluate__merge_rule_of_ones_own__by_its_module(
    own_rules: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rule = f"{own_rules}:last(most=5)"
    run = ["-d", "pen-tiny", "-w", "uniform", "--ftl", "timing=none", "--preconditioning", "fill"]
    length = ["--seeds", "1-2", "--host-pages", "2000", "--warmup", "0", "--workers", "2"]
    out = str(tmp_path / "out")
    assert main(["evaluate", *run, *length, "-p", "merge", "-p", rule, "--out", out]) == 0
    assert rule in capsys.readouterr().out
    merges = {one.policy: one.metrics["m_merges"] for one in read_results(tmp_path / "out" / "results.csv")}
    assert merges["merge"] == 0 < merges[rule]
    assert main(["replay", out, "--row", "3"]) == 0
    one = ["run", "-d", "pen-tiny", "-w", "uniform", "-p", rule, "--host-pages", "2000", "--timing", "none"]
    assert main([*one, "--json"]) == 0


def test_evaluate__rule_named_by_a_file__needs_trust(
    own_rules: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "grid.yaml"
    path.write_text(
        f"{{devices: [pen-tiny], workloads: [uniform], policies: ['{own_rules}:last'], seeds: [1],"
        " host_pages: 500, ftls: [{timing: none}], preconditioning: fill}",
        encoding="utf-8",
    )
    assert main(command(path, tmp_path / "out")) == WRONG_INPUT
    assert "executes code of the module it names" in capsys.readouterr().err
    assert own_rules not in sys.modules
    assert main(command(path, tmp_path / "out", "--trust")) == 0
