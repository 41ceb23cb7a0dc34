"""What the pages show works: their Python runs, their commands exist and accept what they are given."""

from __future__ import annotations

import re
import runpy
import shlex
import sys
from pathlib import Path

import pytest
import yaml

from ssdgym.cli import main
from ssdgym.config.device import load_device
from ssdgym.config.loading import load_config
from ssdgym.experiments.leaderboard.suites import load_suite
from ssdgym.experiments.runs.config import ExperimentConfig
from ssdgym.workloads.stream import load_workload
from tests.docs.pages import PAGES, ROOT, blocks_of_all_pages

#: Commands that take longer than a test may; of these only the options are checked.
LONG = {
    *("train", "demo", "evaluate", "replay", "report", "reproduce", "tune"),
    "leaderboard",
    "zoo",  # a data set, or of an agent that a test has not trained
}
CODE = blocks_of_all_pages("python")


def commands() -> list[list[str]]:
    """Return the arguments of every `ssdgym` line in the console blocks."""
    lines = [line for block in blocks_of_all_pages("console") for line in block.splitlines()]
    return [shlex.split(line)[1:] for line in dict.fromkeys(lines) if line.startswith("ssdgym ")]


def accepts(data: object) -> bool:
    """Return whether a mapping is a device, an experiment, a suite or a workload; a wrong field raises."""
    assert isinstance(data, dict)
    if "splits" in data:
        return load_suite(data) is not None
    if "geometry" in data or "base" in data:
        return load_device(data) is not None
    if "policies" in data:
        return load_config(ExperimentConfig, data, "experiments") is not None
    return load_workload(data) is not None


def test_there_are_examples_to_hold() -> None:
    assert len(CODE) >= 5 and len(commands()) >= 15


@pytest.mark.usefixtures("own_registrations")
@pytest.mark.parametrize("code", CODE, ids=lambda code: code.strip().splitlines()[0])
def test_python__runs_and_prints_what_its_comments_say(
    code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if "sb3_contrib" in code:
        pytest.importorskip("sb3_contrib")
    # For those that play a trace: 4,000 writes of the MSR Cambridge format.
    writes = (f"{1000 + n},h,0,Write,{n * n % 997 * 4096},4096,1\n" for n in range(4000))
    (tmp_path / "trace.csv").write_text("".join(writes), encoding="utf-8")
    # For those that read what `ssdgym reproduce` has written.
    claims = tmp_path / "results" / "reproduce" / "pen" / "small" / "claims.csv"
    claims.parent.mkdir(parents=True)
    claims.write_text("ours,verdict\nFalse,holds\n", encoding="utf-8")
    (tmp_path / "example.py").write_text(code, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    # In this process ssdgym has been imported before.
    assert '"ssdgym/' not in code or re.search("^(import|from) ssdgym", code, re.MULTILINE)
    runpy.run_path("example.py", run_name="__main__")
    printed = capsys.readouterr().out.splitlines()
    # A comment that is the name of a file says where the code goes.
    for line in re.findall(r"^(?:# (?!\w+\.py$)|print\(.*\)  # )(.+)$", code, re.MULTILINE):
        assert line in printed


@pytest.mark.parametrize("arguments", commands(), ids=" ".join)
def test_command__accepts_its_options(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    a_trace = any(re.search(r"\.(gz|zst)$|^synthetic:", argument) for argument in arguments)
    shown = [*arguments, "--help"] if arguments[0] in LONG or a_trace else arguments
    assert main(shown) == 0
    assert capsys.readouterr().out


@pytest.mark.parametrize("text", blocks_of_all_pages("yaml"), ids=lambda text: text.splitlines()[0])
def test_yaml__is_a_device_a_workload_or_an_experiment(text: str) -> None:
    assert accepts(yaml.safe_load(text))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links__lead_to_files(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_paths__named_in_the_text_are_there(page: Path) -> None:
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    tops = "ssdgym|tests|docs|configs|baselines|agents|notebooks"
    # Capitals stand for names of one's own, and are in ids of environments.
    for name in re.findall(rf"`((?:{tops})/[a-z0-9_./-]*)`", text):
        assert any((ROOT / f"{name}{ending}").exists() for ending in ("", ".py", ".yaml")), name
