"""`python -m ssdgym.bench`: all work is timed, and tables show it and compare it."""

from __future__ import annotations

import re
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
    assert bench.yardstick()() == bench.parsing(tmp_path)() == bench.playing(tmp_path)() == 3_000


@pytest.mark.slow
def test_measure__has_every_rate_beside_the_yardstick(monkeypatch: pytest.MonkeyPatch) -> None:
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


# Against the table of a page.

OLD = pd.DataFrame(
    [("much", "pages/s", 15e6, 13e6, 16e6, 0.3), ("start", "s", 0.8, 0.7, 0.9, float("nan"))],
    columns=["name", "unit", "median", "low", "high", "share"],
)


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A page with a table of measurements, which are made anew in no time."""
    path = tmp_path / "page.md"
    path.write_text(f"{BEGIN}\n{END}\n")
    write_table(path, OLD)
    monkeypatch.setattr(bench, "measure", lambda repeats, *, start, announce: FOUND)
    return path


def test_read_table__reads_what_was_written(page: Path) -> None:
    assert bench.read_table(page) == {name: row for name, *row in bench.table_rows(OLD)}


@pytest.mark.parametrize(
    ("unit", "value", "is_slower"),
    [
        ("pages/s", "12,999", True),
        ("pages/s", "13,000", False),
        ("s", "17,001", True),
        ("s", "17,000", False),
    ],
)
def test_slower__is_what_lies_beyond_the_spread(unit: str, value: str, is_slower: bool) -> None:
    old = [f"15,000 {unit}", "13,000", "17,000", "0.5"]
    assert bench.is_slower([f"{value} {unit}", "0", "99,999", "0.5"], old) is is_slower


def test_against__marks_what_is_slower_than_the_page(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--against", str(page)], app) == 0
    slower = {
        line.split()[0]: "slower" in line for line in capsys.readouterr().out.splitlines() if line.strip()
    }
    assert slower["much"] and not slower["start"]


@pytest.mark.parametrize(("text", "said"), [(None, "cannot be read"), ("# Page", "has no table of meas")])
def test_against__a_page_without_a_table__refused(
    text: str | None, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "page.md"
    if text:
        path.write_text(text)
    assert main(["--against", str(path)], app) == WRONG_INPUT
    shown = capsys.readouterr()
    assert shown.out == "" and shown.err.count("\n") == 1 and said in shown.err
