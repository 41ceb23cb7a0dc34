"""What the page on sub-pages says of its commands: the table of FTLs side by side, and what is collected."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from ssdgym.cli import main
from tests.docs.pages import ROOT, blocks

PAGE = ROOT / "docs" / "subpage.md"


def test_evaluate_families__prints_the_table_of_the_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(tmp_path / "out")
    assert main(["evaluate", "families", "--workers", "1", "--out", out]) == 0
    printed = "\n".join(line.rstrip() for line in capsys.readouterr().out.split(out)[0].splitlines())
    (shown,) = blocks("text", PAGE)
    assert shown.strip() == printed.strip()


def test_runs__collect_as_much_as_the_page_says(capsys: pytest.CaptureFixture[str]) -> None:
    runs = []
    for line in blocks("console", PAGE)[0].splitlines():
        assert main([*shlex.split(line)[1:], "--json"]) == 0
        runs.append(json.loads(capsys.readouterr().out)["metrics"])
    assert [metrics["erases"] for metrics in runs[:2]] == [240, 48]
    assert runs[1]["region_collections"] == 48 and runs[2]["retention_evictions"] == 172
