"""The trace of the small figure."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.experiments.papers.made import PAGES


@pytest.fixture
def traces(tmp_path: Path, own_cache: Path) -> Path:
    """A folder with the trace `made`: pages 0..799 in order, then every third of them three times over."""
    lines = [f"{1000 + at},h,0,Write,{page * 4096},4096,1" for at, page in enumerate(PAGES)]
    (tmp_path / "made.csv").write_text("\n".join(lines) + "\n")
    return tmp_path
