"""The README is a door: short, its picture there, code that fits a hand. Its examples run in `tests/docs`."""

from __future__ import annotations

import re

import pytest

from tests.docs.pages import PAGES, README, ROOT, blocks, words

TEXT = README.read_text(encoding="utf-8")


#: The most words of README and `docs`, without code and generated tables. The number only falls.
MOST_WORDS = 25_000


def test_pages__do_not_grow() -> None:
    written = sum(words(page) for page in PAGES if page.name != "CONTRIBUTING.md")
    assert written <= MOST_WORDS, "say it once, where it is looked for; remove what repeats"


def test_readme__is_short() -> None:
    assert len(TEXT.splitlines()) <= 126


@pytest.mark.parametrize("code", blocks("python", README), ids=lambda code: code.splitlines()[0])
def test_example__has_twelve_lines_of_code_at_most(code: str) -> None:
    assert len([line for line in code.splitlines() if line and not line.startswith("#")]) <= 12


def test_picture__is_there_in_both_looks() -> None:
    pictures = re.findall(r'(?:src|srcset)="([^"]+)"', TEXT)
    assert len(pictures) == 4
    assert all((ROOT / name).exists() for name in pictures)


def test_table_that_bench_writes__stands_on_its_page() -> None:
    assert [page.name for page in PAGES if "\n<!-- bench -->\n" in page.read_text("utf-8")] == [
        "performance.md"
    ]


def test_map__names_every_package_and_no_folder_that_is_not_there() -> None:
    (shown,) = blocks("text", ROOT / "CONTRIBUTING.md")
    entries = shown.splitlines()
    top = [line.split("/")[0] for line in entries if not line.startswith(" ")]
    inner = {match[1] for line in entries if (match := re.match(r"  (\w+)/", line))}
    assert all((ROOT / name).is_dir() for name in top)
    assert inner == {path.parent.name for path in (ROOT / "ssdgym").glob("*/__init__.py")}
