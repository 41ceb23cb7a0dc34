"""Tables that commands have printed: each linked by one page, and whole."""

from __future__ import annotations

import csv
import re
from importlib import import_module
from pathlib import Path

import pytest

from tests.docs.pages import PAGES, ROOT

TABLES = sorted((ROOT / "docs").rglob("*.csv"))
LINK = re.compile(r"^\[.+\]\((\S+)\) <!-- table -->$", re.MULTILINE)


def test_tables__each_is_linked_once() -> None:
    linked = [
        (page.parent / target).resolve()
        for page in PAGES
        for target in LINK.findall(page.read_text(encoding="utf-8"))
    ]
    assert sorted(linked) == TABLES and TABLES


@pytest.mark.parametrize("path", TABLES, ids=lambda path: path.stem)
def test_table__has_the_same_columns_in_every_row(path: Path) -> None:
    with path.open(encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file)
    assert rows and {len(row) for row in rows} == {len(head)}
    assert all("|" not in cell for row in rows for cell in row)


def test_site__shows_a_table_in_the_place_of_its_link(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("mkdocs")
    monkeypatch.syspath_prepend(ROOT / "docs")
    hooks = import_module("hooks")
    page = ROOT / "docs" / "results.md"
    shown = hooks.with_tables(page.read_text(encoding="utf-8"), page.parent)
    assert "<!-- table -->" not in shown and "| `midas` | 2.580 [2.577, 2.583] | 10.75 |" in shown
