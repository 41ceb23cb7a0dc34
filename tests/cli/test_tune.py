"""`ssdgym tune`: errors before any work, a sweep to its end, and one that is killed on the way."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import yaml

from ssdgym.cli import WRONG_INPUT, main
from ssdgym.cli.console import FAILED
from ssdgym.experiments.results import read_results
from tests.cli.conftest import Run

ray = pytest.importorskip("ray")

AGENT = {
    "trial": {
        "kind": "agent",
        "agent": "ppo-smoke",
        "changes": {
            "environment.kwargs": {"device": "tiny", "ftl": {"timing": "none"}, "horizon": 128},
            "n_envs": 2,
            "total_decisions": 1024,
            "checkpoint_decisions": 128,
            "ppo.rollout_steps": 32,
            "ppo.batch_decisions": 32,
            "evaluation.episodes": 1,
        },
    },
    "space": {"ppo.learning_rate": {"loguniform": [0.001, 0.1]}},
    "evaluation": {"workloads": ["zipf80"], "seeds": 2, "host_pages": 256},
    "trials": 2,
    "concurrent": 1,
}


@pytest.fixture
def write_sweep(tmp_path: Path) -> Any:
    """Write a sweep to a file and return its path; keyword arguments replace fields of `AGENT`."""

    def write(**fields: Any) -> str:
        path = tmp_path / "sweep.yaml"
        path.write_text(yaml.safe_dump({**AGENT, **fields}))
        return str(path)

    return write


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    """A local Ray for all tests of this process."""
    import ssdgym.experiments.sweeps.tuner  # noqa: F401  (sets what Ray reads as it is imported)

    ray.init("local", num_cpus=1, include_dashboard=False, log_to_driver=False, logging_level="CRITICAL")
    yield
    ray.shutdown()


def rows_in(folder: Path) -> list[dict[str, str]]:
    with (folder / "trials.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def refused(run: Run, *words: object) -> str:
    """Return the sentence of a command that has said before how many trials there are to be."""
    output = run(["tune", *words], WRONG_INPUT)
    announced, sentence = output.err.splitlines()
    assert "trials, " in announced and output.out == ""
    return sentence


def test_wrong_input__resume_without_a_sweep(tmp_path: Path, run: Run) -> None:
    assert "nothing: holds no sweep to go on with" in refused(
        run, "gc-threshold", "--resume", tmp_path / "nothing"
    )
    assert not list(tmp_path.iterdir())


def test_wrong_input__folder_with_a_sweep__says_how_to_go_on(
    write_sweep: Any, tmp_path: Path, run: Run
) -> None:
    (tmp_path / "sweep.json").write_text("{}")
    assert f"go on with it by --resume {tmp_path}" in refused(run, write_sweep(), "--out", tmp_path)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('{"metric": "erases"}', "holds a sweep with another trial"),
        ('"text"', "not the record of a sweep"),
        ("[", "not the record of a sweep"),
    ],
)
def test_wrong_input__resume_of_another_sweep(
    content: str, said: str, write_sweep: Any, tmp_path: Path, run: Run
) -> None:
    (tmp_path / "sweep.json").write_text(content)
    assert said in refused(run, write_sweep(), "--resume", tmp_path)


@pytest.mark.parametrize(
    ("package", "fields", "said"),
    [
        ("ray", {}, "ssdgym: a sweep needs the package ray"),
        ("optuna", {"search": {"kind": "optuna"}}, "ssdgym: search optuna needs the package optuna"),
    ],
)
def test_package__missing__says_what_to_install_before_any_work(
    package: str,
    fields: dict[str, Any],
    said: str,
    write_sweep: Any,
    tmp_path: Path,
    run: Run,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tuner = import_module("ssdgym.experiments.sweeps.tuner").__name__
    monkeypatch.setitem(sys.modules, package, None)
    if package == "ray":  # which is looked for where the module is imported
        monkeypatch.delitem(sys.modules, tuner)
    output = run(["tune", write_sweep(**fields), "--out", tmp_path / "out"], WRONG_INPUT)
    assert output.err.splitlines()[-1] == f"{said}: install it with pip install 'ssdgym[tune]'"
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_tune__one_trial_fails__the_others_end_and_the_best_agent_can_be_evaluated(
    cluster: None, write_sweep: Any, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    broken = tmp_path / "broken.yaml"
    broken.write_text(f"kind: trace\npath: {tmp_path / 'broken.csv'}\nformat: msr\n")
    (tmp_path / "broken.csv").write_text("no trace\n")
    space = {"environment.kwargs.workload": {"grid": ["zipf99", str(broken)]}}
    out = tmp_path / "out"
    assert main(["tune", write_sweep(space=space, trials=1), "--out", str(out), "--json"]) == FAILED
    output = capfd.readouterr()
    found = json.loads(output.out)
    assert "2 of 2 trials: trial 1 (" in output.err and ") failed: " in output.err
    assert [trial["state"] for trial in found["trials"]] == ["finished", "failed"]
    assert "broken.csv: line 1" in found["trials"][1]["error"]
    assert "in _run_trial" in next(out.glob("ray/*/error.txt")).read_text()
    assert found["best"] == 0 and found["agent"] == str(out / "best/agent.zip")
    assert len(read_results(out / "results.parquet")) == 2
    arguments = ["evaluate", "--agent", found["agent"], "--policy", "greedy", "--device", "tiny"]
    arguments += ["--ftl", "timing=none", "--seeds", "7-8", "--host-pages", "256", "--warmup", "0"]
    assert main([*arguments, "--workload", "zipf80", "--workers", "1", "--out", str(tmp_path / "e")]) == 0


@pytest.mark.slow
def test_tune__asha_and_heuristics__every_trial_ends_and_the_best_ran_to_its_end(
    cluster: None, write_sweep: Any, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = write_sweep(
        trial={"kind": "policy", "policy": "greedy", "device": "tiny", "ftl": {"timing": "none"}},
        space={"ftl.gc.free_blocks": {"grid": [2, 4, 3, 5]}},
        evaluation={"workloads": ["zipf99"], "seeds": 5, "host_pages": 2000},
        scheduler={"kind": "asha", "grace_percent": 20, "reduction_factor": 2},
        trials=1,
    )
    assert main(["tune", path, "--out", str(tmp_path / "out"), "--json"]) == 0
    found = json.loads(capfd.readouterr().out)
    states = [trial["state"] for trial in found["trials"]]
    # one at a time, and each of them worse than the first: that one is finished, and others are stopped
    assert (
        states[0] == "finished" and "stopped early" in states and set(states) <= {"finished", "stopped early"}
    )
    assert found["best"] == 0 and "--ftl gc.free_blocks=2" in found["command"]


@pytest.mark.slow
def test_tune__killed_and_resumed__equals_a_sweep_that_was_not(
    write_sweep: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TUNE_GLOBAL_CHECKPOINT_S", "0.1")
    # a search, since of all sweeps its trials depend the most on what has been before
    sweep = write_sweep(search={"kind": "optuna", "startup_trials": 1})
    command = [sys.executable, "-m", "ssdgym", "tune", sweep]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    subprocess.run([*command, "--out", str(whole)], check=True, **quiet)
    process = subprocess.Popen([*command, "--out", str(killed)], **quiet)
    # the first trial has finished, and the second is under way
    _wait_for(lambda: len(list((killed / "agents").glob("*.zip"))) == 2, process)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    first = min((killed / "agents").iterdir(), key=lambda path: path.stat().st_mtime_ns)
    written = first.stat().st_mtime_ns

    subprocess.run([*command, "--resume", str(killed)], check=True, **quiet)

    assert first.stat().st_mtime_ns == written, "a finished trial was repeated"
    assert rows_in(killed) == rows_in(whole)
    assert [row["state"] for row in rows_in(killed)] == ["finished"] * 2


def _wait_for(done: Callable[[], bool], process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 180
    while not done():
        assert process.poll() is None and time.monotonic() < deadline, "nothing came"
        time.sleep(0.1)
