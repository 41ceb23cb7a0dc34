"""The table of FTLs side by side is what its command prints."""

from __future__ import annotations

from pathlib import Path

import pytest

from ssdgym.cli import main
from tests.docs.pages import ROOT, blocks


def test_evaluate_families__prints_the_table_of_the_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(tmp_path / "out")
    assert main(["evaluate", "families", "--out", out]) == 0
    printed = "\n".join(line.rstrip() for line in capsys.readouterr().out.split(out)[0].splitlines())
    (shown,) = blocks("text", ROOT / "docs" / "subpage.md")
    assert shown.strip() == printed.strip()
