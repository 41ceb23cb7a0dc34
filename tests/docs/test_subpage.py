"""What the page on sub-pages says of its commands: the table of FTLs side by side, and what is collected."""

from __future__ import annotations

import csv
import json
import shlex
from pathlib import Path

import pytest

from ssdgym.cli import main
from tests.docs.pages import ROOT, blocks

PAGE = ROOT / "docs" / "subpage.md"


def test_evaluate_families__writes_and_prints_the_table_of_the_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["evaluate", "families", "--workers", "1", "--out", str(tmp_path / "out")]) == 0
    printed = capsys.readouterr().out
    lines = (tmp_path / "out" / "results.md").read_text(encoding="utf-8").splitlines()
    head, _, *rows = [line.strip("| ").split(" | ") for line in lines if line.startswith("|")]
    with (ROOT / "docs" / "tables" / "sysbench.csv").open(encoding="utf-8", newline="") as file:
        assert [head, *rows] == list(csv.reader(file))
    assert all(cell.replace(" / ", "/") in printed for row in rows for cell in row)


def test_runs__collect_as_much_as_the_page_says(capsys: pytest.CaptureFixture[str]) -> None:
    runs = []
    for line in blocks("console", PAGE)[0].splitlines():
        assert main([*shlex.split(line)[1:], "--json"]) == 0
        runs.append(json.loads(capsys.readouterr().out)["metrics"])
    assert [metrics["erases"] for metrics in runs[:2]] == [240, 48]
    assert runs[1]["region_collections"] == 48 and runs[2]["retention_evictions"] == 166
