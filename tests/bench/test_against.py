"""`ssdgym bench --against`: two revisions are measured in turns, each by its own sources."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from ssdgym.bench import against
from ssdgym.cli import WRONG_INPUT, main

#: Stands for the sources of a revision: reports a measurement that all have, and one of its own.
PROGRAM = """
import json, sys
from ssdgym.agents import RATE
assert sys.argv[1:] == ["bench", "--repeats", "1", "--no-start", "--json"]
print(json.dumps([{"name": name, "value": RATE, "unit": "s"} for name in ("it", f"only {RATE}")]))
"""


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository of three commits: without bench, at a rate of 2 and at one of 6."""
    package = tmp_path / "ssdgym"
    (package / "cli").mkdir(parents=True)
    (tmp_path / "agents").mkdir()
    (package / "__init__.py").touch()
    git(tmp_path, "init", "--quiet")
    commit(tmp_path, "empty")
    (package / "__main__.py").write_text(PROGRAM)
    (package / "cli" / "bench.py").touch()
    for rate in ("2", "6"):
        (tmp_path / "agents" / "__init__.py").write_text(f"RATE = {rate}")
        commit(tmp_path, rate)
    (package / "agents").symlink_to(tmp_path / "agents")
    monkeypatch.setattr(against, "_PACKAGE", package)
    return tmp_path


def git(folder: Path, *arguments: str) -> str:
    """Return what git prints."""
    identity = ("-c", "user.name=a test", "-c", "user.email=test@example.org")
    command = ["git", "-C", str(folder), *identity, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def commit(folder: Path, tag: str) -> None:
    """Commit all files."""
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", tag)
    git(folder, "tag", f"rate-{tag}")


def test_measure_against__each_revision_runs_its_own_sources_and_leaves_no_worktree(repository: Path) -> None:
    said: list[str] = []
    (found,) = against.measure_against("rate-2", 2, start=False, announce=said.append)
    assert (found.name, found.other.median, found.own.median, found.ratio.median) == ("it", 2, 6, 3)
    assert found.is_slower  # it takes 6 s in place of 2
    assert not found._replace(unit="requests/s").is_slower
    turns = ["rate-2, turn 1 of 2", "the sources here, turn 1 of 2"]
    assert said[:2] == turns and len(said) == 6
    assert said[4:] == ["nothing to compare with: only 2", "nothing to compare with: only 6"]
    assert git(repository, "worktree", "list").count("\n") == 1


def test_command__prints_both_and_the_ratio(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--against", "rate-2", "--no-start", "--repeats", "1"]) == 0
    shown = capsys.readouterr()
    assert "it, s" in shown.out and "3.000" in shown.out
    assert "nothing to compare with: only 2" in shown.err


def refusal(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Return the one sentence with which a bench refuses its options."""
    assert main(["bench", *arguments]) == WRONG_INPUT
    shown = capsys.readouterr()
    assert shown.out == "" and shown.err.count("\n") == 1
    return shown.err


@pytest.mark.parametrize(
    ("revision", "reason"),
    [
        ("nothing", "has no such revision"),
        ("--all", "has no such revision"),
        ("rate-empty", "has no `ssdgym bench`"),
    ],
)
def test_command__a_revision_that_cannot_be_measured__refused(
    repository: Path, capsys: pytest.CaptureFixture[str], revision: str, reason: str
) -> None:
    assert reason in refusal(capsys, f"--against={revision}")


def test_command__no_repository__refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(against, "_PACKAGE", tmp_path / "ssdgym")
    assert "is of no git repository" in refusal(capsys, "--against", "main")


def test_command__sources_that_fail__refused(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (repository / "agents" / "__init__.py").write_text("raise RuntimeError('broken')")
    said = refusal(capsys, "--against", "rate-2", "--no-start", "--json")
    assert "the sources here cannot be measured (RuntimeError: broken)" in said


def test_command__options_of_other_measurements__refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert "leave the other options out" in refusal(capsys, "--against", "main", "--policies")
    assert "leave it out" in refusal(capsys, "--update", "README.md", "--families")
