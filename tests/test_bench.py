"""`python -m ssdgym.bench`: all work is timed, and tables show it and compare it."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pandas as pd
import pytest

from ssdgym import bench
from ssdgym.bench import app, markdown
from ssdgym.cli import WRONG_INPUT, main
from tests.docs import pages

#: Around the table in a page.
BEGIN, END = "<!-- bench -->", "<!-- /bench -->"
PAGES = [page for page in pages.PAGES if f"\n{BEGIN}\n" in page.read_text(encoding="utf-8")]
FOUND = pd.DataFrame(
    [("much", "pages/s", 12_345_678, 12e6, 13e6), ("start", "s", 0.8134, 0.8, 0.9)],
    columns=["name", "unit", "median", "low", "high"],
)


@pytest.mark.slow
def test_measure__has_every_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, count in (
        ("REQUESTS", 20_000),
        ("SINGLE_STEPS", 50),
        ("VECTOR_STEPS", 10),
        ("TRACE_LINES", 2_000),
    ):
        monkeypatch.setattr(bench, name, count)
    announced: list[str] = []
    found = bench.measure(1, start=False, announce=announced.append)
    assert announced == found["name"].tolist() == list(bench.rates(Path()))
    assert (found["low"] > 0).all() and (found["low"] <= found["median"]).all()


def test_markdown__numbers_have_three_digits() -> None:
    assert markdown(FOUND).splitlines() == [
        "| name | unit | median | low | high |",
        "| --- | --- | ---: | ---: | ---: |",
        "| much | pages/s | 12,300,000 | 12,000,000 | 13,000,000 |",
        "| start | s | 0.813 | 0.8 | 0.9 |",
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_page__shows_a_table_of_measurements(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    shown = text[text.index(BEGIN) + len(BEGIN) : text.index(END)].splitlines()
    assert shown[:2] == ["", ""] and shown[2:4] == markdown(FOUND).splitlines()[:2] and shown[-1] == ""
    number = r"[\d,]+(\.\d+)?"
    row = re.compile(rf"\| (.*) \| [\w /]+ \| {number} \| {number} \| {number} \|")
    names = [match[1] for line in shown[4:-1] if (match := row.fullmatch(line))]
    assert len(names) == len(shown[4:-1]) > 0
    assert set(names) <= {
        *bench.rates(Path()),
        *(f"{start}, to the first step" for start in ("cold compile", "warm start")),
    }


# Against another clone.


def test_against__another_clone_in_turns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A clone whose Python prints one row; that of the sources that run prints it, too, and one more."""
    rates = tmp_path / "rates"
    rates.write_text("2 6 4 6")  # other, here, other, here

    def python(path: Path, folder: Path, *names: str) -> Path:
        path.parent.mkdir(parents=True)
        rows = [
            {"name": name, "unit": unit, "median": 0}
            for name, unit in zip(names, ["s"] * len(names), strict=True)
        ]
        path.write_text(
            f"#!{sys.executable}\nimport json, os, pathlib\n"
            f"assert os.getcwd() == {str(folder)!r}\nrates = pathlib.Path({str(rates)!r})\n"
            f"first, *rest = rates.read_text().split()\nrates.write_text(' '.join(rest))\n"
            f"print(json.dumps([{{**row, 'median': int(first)}} for row in {rows!r}]))\n"
        )
        path.chmod(0o755)
        return path

    clone, here = tmp_path / "clone", Path(bench.__file__).parents[1]
    python(clone / ".venv" / "bin" / "python", clone, "start")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bench.sys, "executable", str(python(tmp_path / "own" / "python", here, "start", "new")))
        assert main(["--against", str(tmp_path / "clone"), "--repeats", "2"], app) == 0
    head, _, row = capsys.readouterr().out.split("\n\n")[0].splitlines()
    assert head == "| name | unit | other | here | median | low | high | slower |"
    assert row == "| start | s | 3 | 6 | 2.25 | 1.5 | 3 | True |"


def test_against__what_has_no_python__refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--against", str(tmp_path)], app) == WRONG_INPUT
    said = capsys.readouterr().err
    assert f"--against {tmp_path}: " in said and "No such file or directory" in said
