"""`python -m ssdgym.bench`: all work is timed, tables show it, and two revisions run their own sources."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pandas as pd
import pytest

from ssdgym import bench
from ssdgym.bench import BEGIN, END, HEADINGS, app, write_table
from ssdgym.cli import WRONG_INPUT, main
from ssdgym.errors import SsdgymError
from tests.docs import pages

PAGES = [page for page in pages.PAGES if f"\n{BEGIN}\n" in page.read_text(encoding="utf-8")]
FOUND = pd.DataFrame(
    [("much", "pages/s", 12_345_678, 12e6, 13e6, 0.257), ("start", "s", 0.8134, 0.8, 0.9, float("nan"))],
    columns=["name", "unit", "median", "low", "high", "share"],
)
TABLE = f"""
| {" | ".join(HEADINGS)} |
| --- | ---: | ---: | ---: | ---: |
| much | 12,300,000 pages/s | 12,000,000 | 13,000,000 | 0.26 |
| start | 0.81 s | 0.80 | 0.90 | - |

"""


def test_work__is_done_once_for_every_request_and_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("REQUESTS", "TRACE_LINES"):
        monkeypatch.setattr(bench, name, 3_000)
    trace = bench.make_trace(tmp_path)
    assert bench.yardstick()() == bench.parsing(trace)() == bench.playing(trace)() == 3_000


@pytest.mark.slow
def test_measure_all__has_every_rate_beside_the_yardstick(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, count in (
        ("REQUESTS", 20_000),
        ("SINGLE_STEPS", 50),
        ("VECTOR_STEPS", 10),
        ("TRACE_LINES", 2_000),
    ):
        monkeypatch.setattr(bench, name, count)
    announced: list[str] = []
    found = bench.measure_all(1, start=False, announce=announced.append)
    assert announced == found["name"].tolist() == list(bench.rates(Path()))
    assert (found["low"] <= found["median"]).all() and (found["share"] > 0).all()


def test_write_table__changes_nothing_but_what_is_between_the_marks(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n\n{BEGIN}\nold\n{END}\n\nafter\n")
    for _ in range(2):
        write_table(page, FOUND)
        assert page.read_text() == f"before\n\n{BEGIN}\n{TABLE}{END}\n\nafter\n"


def test_write_table__without_marks__refused(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"{END}\n{BEGIN}\n")
    with pytest.raises(SsdgymError, match="needs the lines"):
        write_table(page, FOUND)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_page__shows_a_table_of_measurements(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    shown = text[text.index(BEGIN) + len(BEGIN) : text.index(END)].splitlines()
    assert shown[:2] == ["", ""] and shown[2:4] == TABLE.splitlines()[1:3] and shown[-1] == ""
    number = r"[\d,]+(\.\d+)?"
    row = re.compile(rf"\| (.*) \| {number} [\w /]+ \| {number} \| {number} \| ({number}|-) \|")
    names = [match[1] for line in shown[4:-1] if (match := row.fullmatch(line))]
    assert len(names) == len(shown[4:-1]) > 0
    assert set(names) <= {*bench.rates(Path()), *(f"{start}, to the first step" for start in bench.STARTS)}


# Two revisions.

#: Stands for the sources of a revision: reports a measurement that all have, and one of its own.
PROGRAM = """
import json, sys
from ssdgym.agents import RATE
assert sys.argv[1:] == ["--repeats", "1", "--no-start", "--json"]
print(json.dumps([{"name": name, "median": RATE, "unit": "s"} for name in ("it", f"only {RATE}")]))
"""


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository of three commits: without bench, at a rate of 2 and at one of 6."""
    package = tmp_path / "ssdgym"
    package.mkdir()
    (tmp_path / "agents").mkdir()
    (package / "__init__.py").touch()
    git(tmp_path, "init", "--quiet")
    commit(tmp_path, "empty")
    (package / "bench.py").write_text(PROGRAM)
    for rate in ("2", "6"):
        (tmp_path / "agents" / "__init__.py").write_text(f"RATE = {rate}")
        commit(tmp_path, rate)
    (package / "agents").symlink_to(tmp_path / "agents")
    monkeypatch.setattr(bench, "_PACKAGE", package)
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
    found = bench.measure_against("rate-2", 2, start=False, announce=said.append)
    (row,) = found.to_dict("records")
    assert (row["name"], row["other"], row["own"], row["median"]) == ("it", 2, 6, 3)
    assert row["slower"]  # it takes 6 s in place of 2
    turns = ["rate-2, turn 1 of 2", "the sources here, turn 1 of 2"]
    assert said[:2] == turns and len(said) == 6
    assert said[4:] == ["nothing to compare with: only 2", "nothing to compare with: only 6"]
    assert git(repository, "worktree", "list").count("\n") == 1


def test_command__prints_both_and_the_ratio(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--against", "rate-2", "--no-start", "--repeats", "1"], app) == 0
    shown = capsys.readouterr()
    assert "it, s" in shown.out and "3.000" in shown.out
    assert "nothing to compare with: only 2" in shown.err


def refusal(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Return the one sentence with which a bench refuses its options."""
    assert main(arguments, app) == WRONG_INPUT
    shown = capsys.readouterr()
    assert shown.out == "" and shown.err.count("\n") == 1
    return shown.err


@pytest.mark.parametrize(
    ("revision", "reason"),
    [
        ("nothing", "has no such revision"),
        ("--all", "has no such revision"),
        ("rate-empty", "has no ssdgym/bench.py"),
    ],
)
def test_command__a_revision_that_cannot_be_measured__refused(
    repository: Path, capsys: pytest.CaptureFixture[str], revision: str, reason: str
) -> None:
    assert reason in refusal(capsys, f"--against={revision}")


def test_command__no_repository__refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bench, "_PACKAGE", tmp_path / "ssdgym")
    assert "is of no git repository" in refusal(capsys, "--against", "main")


def test_command__sources_that_fail__refused(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (repository / "agents" / "__init__.py").write_text("raise RuntimeError('broken')")
    said = refusal(capsys, "--against", "rate-2", "--no-start", "--json")
    assert "the sources here cannot be measured (RuntimeError: broken)" in said


def test_command__two_tables_at_once__refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert "give one of them" in refusal(capsys, "--against", "main", "--update", "README.md")
