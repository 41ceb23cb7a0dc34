"""The command line: helpful help, one sentence for wrong input, JSON that scripts can rely on."""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import ssdgym
from ssdgym.agents.agent import Agent
from ssdgym.agents.training.config import TrainConfig
from ssdgym.cli import INTERRUPTED, WRONG_INPUT, main
from ssdgym.cli.options import parse_seeds
from ssdgym.config.loading import load_config
from ssdgym.errors import SsdgymError
from ssdgym.experiments.results import read_results
from ssdgym.experiments.runs.config import CLOSED_LOOP_DEPTH
from tests.cli.conftest import Run

COMMANDS = (
    "run",
    "evaluate",
    "replay",
    "report",
    "reproduce",
    "train",
    "tune",
    "doctor",
    "list",
    "demo",
    "trace info",
    "trace convert",
)
TINY = ("run", "--device", "tiny", "--host-pages", "3000")


def test_help__lists_every_command(run: Run) -> None:
    text = run(["--help"]).out
    assert all(f" {command.split()[0]} " in text for command in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_help__of_every_command_has_examples(command: str, run: Run) -> None:
    text = run([*command.split(), "--help"]).out
    assert "Examples" in text and text.count(f"ssdgym {command}") >= 2


def test_help__loads_none_of_the_heavy_packages() -> None:
    code = (
        "import sys, ssdgym.cli\n"
        "heavy = {'numba', 'torch', 'matplotlib', 'pyarrow', 'pydantic'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_environments__are_imported_without_what_reads_traces() -> None:
    code = "import sys, ssdgym.envs; print(sorted({'pyarrow', 'torch', 'matplotlib'} & set(sys.modules)))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


@pytest.mark.slow
def test_doctor_compile__again__compiles_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        capfd.readouterr()
        assert main(["doctor", "--compile"]) == 0
    said = capfd.readouterr().err
    assert said.startswith("the engine and the environments are compiled, after ")


def test_version__is_the_package_s(run: Run) -> None:
    assert run(["--version"]).out == f"ssdgym {ssdgym.__version__}\n"


@pytest.mark.parametrize("command", ["run", "evaluate", "train", "demo"])
def test_wrong_input__an_unwritable_folder_is_refused_before_any_work(
    command: str, tmp_path: Path, refusal: Callable[..., str]
) -> None:
    (tmp_path / "taken").write_text("")
    assert "taken/results: cannot be written" in refusal(
        command, "--out", str(tmp_path / "taken" / "results")
    )
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]


def test_wrong_input__shows_no_traceback_in_a_process_of_its_own() -> None:
    command = [sys.executable, "-m", "ssdgym", "run", "--device", "no-such-device"]
    found = subprocess.run(command, capture_output=True, text=True)
    assert found.returncode == WRONG_INPUT
    assert found.stderr.startswith("ssdgym: there is no device") and "Traceback" not in found.stderr


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, INTERRUPTED), (signal.SIGTERM, 143)])
def test_interrupt__exits_with_128_and_the_signal(
    number: signal.Signals, status: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    usual = signal.getsignal(number)
    monkeypatch.setattr(import_module("ssdgym.cli.doctor"), "check_all", partial(signal.raise_signal, number))
    assert main(["doctor"]) == status
    assert signal.getsignal(number) is usual and capsys.readouterr().err == "ssdgym: interrupted\n"


def test_interrupt__of_a_training__says_how_to_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    def stop(config: object, out: Path, *_: object, **__: object) -> None:
        (out / "checkpoint.pt").touch()
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(import_module("ssdgym.agents.training.train"), "train", stop)
    said = run(["train", "ppo-smoke", "--out", tmp_path], INTERRUPTED).err
    assert f"ssdgym train --out {tmp_path} --resume" in said


def test_run__json_has_the_metrics_and_loses_nothing(run: Run) -> None:
    output = run([*TINY, "--json"])
    found = json.loads(output.out)
    metrics = found["metrics"]
    assert metrics["host_pages_written"] == 3_000 and metrics["lost_pages"] == 0
    assert metrics["write_amplification"] == 1 + metrics["relocated_pages"] / 3_000
    assert {"erases", "gc_invocations", "energy_uj", "wear"} <= set(metrics)
    for operation in ("read", "write"):
        summary = metrics[f"{operation}_latency_ns"]
        assert {"mean", "p50", "p95", "p99", "p99.9", "p99.99", "max"} <= set(summary)
    assert found["ftl"] == f"queue_depth={CLOSED_LOOP_DEPTH}"
    assert found["engine_hash"] and found["version"] == ssdgym.__version__
    assert output.err == ""


def test_run__same_seed_same_metrics_other_seed_others(printed: Callable[..., Any]) -> None:
    one, same, other = (printed(*TINY, "--seed", seed)["metrics"] for seed in (1, 1, 2))
    assert one == same != other


def test_run__writes_the_files_it_names(tmp_path: Path, run: Run) -> None:
    printed = run([*TINY, "--out", tmp_path / "new", "--timing", "none"]).out
    for name in ("run.parquet", "run.csv"):
        assert str(tmp_path / "new" / name) in printed and (tmp_path / "new" / name).exists()
    assert [result.ftl for result in read_results(tmp_path / "new" / "run.parquet")] == ["timing=none"]


def test_doctor__reports_every_check_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    main(["doctor", "--json"])
    findings = {finding["check"]: finding for finding in json.loads(capsys.readouterr().out)}
    assert {"python", "numba", "compile cache", "compiler", "cores", "traces"} <= set(findings)
    assert findings["compiler"]["status"] == "ok"


def test_doctor__a_check_that_refuses_is_a_finding__and_brackets_stay(
    monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    def refuse() -> None:
        raise SsdgymError("numba is too old: pip install 'ssdgym[agents]'")

    monkeypatch.setattr(import_module("ssdgym.cli.doctor"), "CHECKS", {"numba": refuse})
    text = run(["doctor"], 1).out
    assert "failed" in text and "'ssdgym[agents]'" in text


def alone(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run Python code in a process with only these variables of the environment."""
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)


DOCTOR = "import sys; from ssdgym.cli import main; sys.exit(main(['doctor', '--json']))"


def test_doctor__a_check_that_ends_in_a_traceback_is_a_finding(
    monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    def break_down() -> None:
        raise ImportError("libLLVM.so: not found")

    monkeypatch.setattr(import_module("ssdgym.cli.doctor"), "CHECKS", {"compiler": break_down})
    assert "ImportError: libLLVM.so: not found" in run(["doctor", "--json"], 1).out


def test_doctor__a_user_without_home_folder_and_entry(tmp_path: Path) -> None:
    nobody = "import pwd; pwd.getpwuid = lambda uid: {}[uid]; "
    done = alone(nobody + DOCTOR, TMPDIR=str(tmp_path))
    findings = {finding["check"]: finding for finding in json.loads(done.stdout)}
    assert done.returncode == 0, done.stdout
    assert findings["compile cache"]["message"].startswith(str(tmp_path))
    assert "there is no home folder" in done.stderr and "set SSDGYM_CACHE_DIR" in done.stderr


def test_numba_without_compiler__one_sentence(tmp_path: Path) -> None:
    variables = {"NUMBA_DISABLE_JIT": "1", "SSDGYM_CACHE_DIR": str(tmp_path)}
    done = alone("import sys; from ssdgym.cli import main; sys.exit(main(['run']))", **variables)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("ssdgym: NUMBA_DISABLE_JIT is set") and done.stderr.count("\n") == 1
    findings = json.loads(alone(DOCTOR, **variables).stdout)
    messages = {finding["message"] for finding in findings if finding["status"] == "failed"}
    assert len(messages) == 1 and messages.pop().startswith("NUMBA_DISABLE_JIT is set")


@pytest.mark.parametrize("variables", [{"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "C"}])
def test_stdout__an_encoding_that_lacks_letters__all_is_printed(
    variables: dict[str, str], tmp_path: Path
) -> None:
    trace = tmp_path / "größe.csv"
    trace.write_text("1,host,0,Read,0,4096,0\n20,host,0,Write,4096,4096,0\n")
    code = f"import sys; from ssdgym.cli import main; sys.exit(main(['trace', 'info', {str(trace)!r}]))"
    done = alone(code, SSDGYM_CACHE_DIR=str(tmp_path), **variables)
    assert (done.returncode, done.stderr) == (0, "")
    assert ("größe" if "PYTHONIOENCODING" not in variables else r"gr\xf6\xdfe") in done.stdout


def test_doctor__exits_with_1_when_a_check_fails(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, run: Run
) -> None:
    monkeypatch.setenv("SSDGYM_TRACES", str(tmp_path / "missing"))
    assert "which is not a folder" in run(["doctor", "--json"], 1).out


@pytest.mark.parametrize(
    ("text", "seeds"), [("5", (5,)), ("1,2,9", (1, 2, 9)), ("100-102", (100, 101, 102)), ("7,1-2", (7, 1, 2))]
)
def test_seeds__are_read_as_numbers_lists_and_ranges(text: str, seeds: tuple[int, ...]) -> None:
    assert parse_seeds(text) == seeds


def test_warning__is_one_line_without_a_place_in_the_code() -> None:
    code = (
        "import warnings; from ssdgym import cli\n"
        "cli.command_tree = lambda _: lambda **_: warnings.warn('a\\nb')\ncli.main([])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert found.stderr == "ssdgym: a b\n"


def test_run__days__pass_behind_the_warm_up(printed: Callable[..., Any], refusal: Callable[..., str]) -> None:
    options = ["--host-pages", "100", "--days", "16"]
    found = printed("run", "--device", "subftl-tiny", "--workload", "sysbench", "--warmup", "300", *options)
    assert found["metrics"]["retention_evictions"] > 0
    assert "data does not age with ftl.mapping page" in refusal("run", "--device", "tiny", *options)


def test_run__a_device_that_fits_only_with_its_ftl__is_run_and_replayed(
    tmp_path: Path, run: Run, refusal: Callable[..., str]
) -> None:
    device = tmp_path / "eight.yaml"
    device.write_text("{base: subftl-tiny, name: eight, geometry: {subpages_per_page: 8}}", encoding="utf-8")
    command = ["run", "--device", device, "--workload", "sysbench", "--host-pages", "100"]
    run([*command, "--ftl", "kind=fgm", "--out", tmp_path / "out"])
    run(["replay", tmp_path / "out", "--row", "1"])
    assert "ftl.retention_days has 4 entries" in refusal(*command)


def test_run__pages_that_overflow__says_that_the_result_is_about_space(run: Run) -> None:
    options = ["run", "--device", "demo-placement", "--ftl", "timing=none", "--workload", "hot90"]
    much = run([*options, "--policy", "greedy+sfs", "--host-pages", "30000", "--warmup", "10000"]).out
    assert "greedy+sfs: up to 1.3% of the relocated pages" in much
    assert "about space" not in run([*options, "--policy", "greedy+sep_gc", "--host-pages", "3000"]).out


def test_run__on_a_half_full_device__says_that_nothing_was_erased(run: Run) -> None:
    options = ["run", "--device", "tiny", "--timing", "none", "--host-pages", "50"]
    said = "greedy: at least one measured run erased no block"
    half = run([*options, "--preconditioning", "fill(share=0.5)"]).out
    assert said in half and "precondition with workload" in half
    assert said not in run([*options, "--preconditioning", "workload", "--host-pages", "3000"]).out


def test_train__resumed_without_a_configuration__takes_that_of_the_run(
    tmp_path: Path, printed: Callable[..., Any]
) -> None:
    began = printed("train", "ppo-smoke", "--out", tmp_path, "--seed", 3, "--decisions", 256)["config"]
    config = printed("train", "--out", tmp_path, "--resume", "--decisions", 512)["config"]
    assert config == {**began, "total_decisions": 512}
    card = Agent.load(tmp_path / "agent-last.zip").card
    assert card.decisions == 512
    assert shlex.split(card.command)[2:] == [
        *("ppo-smoke", "--seed", "3", "--set=total_decisions=256", "--set=total_decisions=512")
    ]


def test_train__options_replace_what_is_configured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, printed: Callable[..., Any]
) -> None:
    commands: list[str] = []

    def learn(*_: Any, about: dict[str, str], **__: Any) -> Path:
        commands.append(about["command"])
        return tmp_path / "agent.zip"

    monkeypatch.setattr("ssdgym.agents.training.train.train", learn)
    own = load_config(TrainConfig, "ppo-smoke", "training").model_dump(mode="json")
    command = ["train", "ppo-smoke", "--out", tmp_path]
    assert printed(*command)["config"] == own
    changed = printed(*command, "--seed", 7, "--decisions", 512, "--set", "environment.kwargs.device=tiny")[
        "config"
    ]
    environment = own["environment"]
    kwargs = {**environment["kwargs"], "device": "tiny"}
    assert changed == {
        **own,
        "seed": 7,
        "total_decisions": 512,
        "environment": {**environment, "kwargs": kwargs},
    }
    assert shlex.split(commands[1])[2:] == [
        *("ppo-smoke", "--seed", "7"),
        *('--set=environment.kwargs.device="tiny"', "--set=total_decisions=512"),
    ]
    assert printed(*shlex.split(commands[1])[1:], "--out", tmp_path)["config"] == changed
