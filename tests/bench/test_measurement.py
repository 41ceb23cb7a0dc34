"""The table of measurements: how pages show it, and that those here show what is measured."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ssdgym.bench.engine import NAMES
from ssdgym.bench.measurement import BEGIN, END, HEADINGS, Measurement, write_table
from ssdgym.errors import SsdgymError
from tests.docs import pages

PAGES = [page for page in pages.PAGES if f"\n{BEGIN}\n" in page.read_text(encoding="utf-8")]
FOUND = [
    Measurement("much", 12_345_678, 12e6, 13e6, "pages/s", None, 48e6),
    Measurement("few", 987.6, 900, 1_000, "steps/s", None, 0.5e6),
    Measurement("start", 0.8134, 0.8, 0.9, "s", 1.0),
]
TABLE = f"""
| {" | ".join(HEADINGS)} |
| --- | ---: | ---: | ---: |
| much | 12.3 M pages/s | 12.0 to 13.0 | 0.26 |
| few | 988 steps/s | 900 to 1,000 | 0.0020 |
| start | 0.81 s | 0.80 to 0.90 | - |

"""


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
    heading = TABLE.splitlines()[1:3]
    assert shown[:2] == ["", ""] and shown[2:4] == heading and shown[-1] == ""
    number = r"[\d,]+(\.\d+)?"
    names = []
    for row in shown[4:-1]:
        match = re.fullmatch(
            rf"\| (.*) \| {number} (M )?[\w /]+ \| {number} to {number} \| ({number}|-) \|", row
        )
        assert match, row
        names.append(match[1])
    assert names == [name for name in NAMES if name in names] != []
