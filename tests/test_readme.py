"""What the README shows works: its Python runs, its commands exist and accept what they are given."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from ssdgym.cli import main
from ssdgym.config.device import load_device
from ssdgym.config.workload import load_workload

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
#: Commands that take longer than a test may; of these only the options are checked.
LONG = {"train", "demo", "bench", "evaluate", "replay", "validate", "report", "reproduce", "tune"}


def blocks(language: str) -> list[str]:
    """The fenced blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)


def commands() -> list[list[str]]:
    """The arguments of every ``ssdgym`` line in the console blocks."""
    lines = [line for block in blocks("console") for line in block.splitlines()]
    return [shlex.split(line)[1:] for line in lines if line.startswith("ssdgym ")]


def test_there_are_examples_to_hold() -> None:
    assert len(blocks("python")) >= 5 and len(commands()) >= 5


@pytest.mark.parametrize("code", blocks("python"), ids=lambda code: code.strip().splitlines()[0])
def test_python__runs_and_prints_what_its_comments_say(code: str, tmp_path: Path) -> None:
    if "sb3_contrib" in code:
        pytest.importorskip("sb3_contrib")
    script = tmp_path / "example.py"
    script.write_text(code, encoding="utf-8")
    found = subprocess.run(
        [sys.executable, script.name],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
    )
    assert found.returncode == 0, found.stderr
    said = re.findall(r"^(?:# |print\(.*\)  # )(.+)$", code, re.MULTILINE)
    for line in said:
        assert line in found.stdout.splitlines()


@pytest.mark.parametrize("arguments", commands(), ids=" ".join)
def test_command__accepts_its_options(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    shown = [*arguments, "--help"] if arguments[0] in LONG else arguments
    assert main(shown) == 0
    assert capsys.readouterr().out


@pytest.mark.parametrize("text", blocks("yaml"), ids=lambda text: text.splitlines()[0])
def test_yaml__is_a_device_or_a_workload(text: str) -> None:
    data = yaml.safe_load(text)
    assert load_device(data) if "geometry" in data else load_workload(data)


@pytest.mark.parametrize("target", re.findall(r"\]\(([^)#:]+)\)", README))
def test_link__leads_to_a_file(target: str) -> None:
    assert (ROOT / target).exists()
