"""`ssdgym reproduce`: every claim, and the second time nothing is run again."""

from __future__ import annotations

from pathlib import Path

import pytest

from ssdgym.cli import main


@pytest.mark.slow
def test_command__prints_every_claim_and_goes_on_where_it_was(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["reproduce", "block-size", "--figure", "3", "--scale", "smoke", "--out", str(tmp_path / "out")]
    assert main(command) == 0
    first = capsys.readouterr()
    assert "| paper at least -80.0% | here " in first.out
    assert "assumed of fin1: " in first.out
    assert "footprint of fin1 on shin-3d1, shin-3d2, shin-3d3, shin-3d4, shin-3d5, shin-3d6: " in first.out
    assert main(command) == 0
    again = capsys.readouterr()
    assert again.out == first.out
    assert "6 of 6 runs are finished already" in again.err
