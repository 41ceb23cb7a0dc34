"""The README is a door: short, code in the first screen, a map that is true. Its examples: `tests/docs`."""

from __future__ import annotations

import re

from ssdgym.bench import measurement
from ssdgym.experiments.leaderboard import text
from tests.docs.pages import README, ROOT

LINES = README.read_text(encoding="utf-8").splitlines()
#: Lines of a first screen.
SCREEN = 40


def test_readme__is_short__but_for_the_tables_that_commands_write() -> None:
    tables = sum(LINES.index(writer.END) - LINES.index(writer.BEGIN) + 1 for writer in (text, measurement))
    assert len(LINES) - tables <= 150


def test_readme__shows_python_in_the_first_screen() -> None:
    first = LINES.index("```python")
    assert LINES.index("```", first) < SCREEN


def test_map__names_every_package_and_no_folder_that_is_not_there() -> None:
    start = LINES.index("```text")
    entries = LINES[start + 1 : LINES.index("```", start)]
    top = [line.split("/")[0] for line in entries if not line.startswith(" ")]
    inner = {match[1] for line in entries if (match := re.match(r"  (\w+)/", line))}
    assert all((ROOT / name).is_dir() for name in top)
    assert inner == {path.parent.name for path in (ROOT / "ssdgym").glob("*/__init__.py")}
