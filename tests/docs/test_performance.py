"""The script that draws where the time of a step goes."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

import pytest


def test_step_time__tells_all_parts_and_draws_them(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "docs" / "examples")
    script = import_module("step_time")
    monkeypatch.setattr(sys, "argv", ["step_time.py", "--steps", "400", "--out", str(tmp_path / "step.svg")])
    script.main()
    *rows, path = capsys.readouterr().out.splitlines()
    assert [part for row in rows for part in script.PARTS if part in row] == 2 * list(script.PARTS)
    assert sum(float(row.split()[-2]) for row in rows) > 0
    assert Path(path).stat().st_size > 5_000
