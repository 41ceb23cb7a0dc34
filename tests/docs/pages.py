"""The pages that readers see, and what is in them."""

from __future__ import annotations

import re
from pathlib import Path

import matplotlib

ROOT = Path(__file__).parents[2]
#: Whether pictures are drawn here by the matplotlib that drew those of the pages.
PINNED = f"matplotlib=={matplotlib.__version__}\n" in (ROOT / "constraints.txt").read_text(encoding="utf-8")
README = ROOT / "README.md"
#: What commands have written into a page.
GENERATED = re.compile(r"^<!-- ([^\n]+) -->$.*?^<!-- /\1 -->$", re.MULTILINE | re.DOTALL)
#: The recipes need the files they write: see `test_extending.py`.
RECIPES = ROOT / "docs" / "extending.md"
PAGES = (README, ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md")))
#: Pages that are followed from the first block to the last: see `test_walk.py`.
TUTORIAL = sorted((ROOT / "docs" / "tutorial").glob("*.md"))


def words(page: Path) -> int:
    """Return how many words of a page people have written: without code and without what commands write."""
    text = re.sub(
        r"^```.*?^```$", "", GENERATED.sub("", page.read_text("utf-8")), flags=re.DOTALL | re.MULTILINE
    )
    return sum(bool(re.search(r"\w", word)) for word in text.split())


def fenced(page: Path) -> list[tuple[str, str]]:
    """Return language and content of every fenced block of a page, without those of its reference.

    A command that goes on in the next line is one line.
    """
    text = re.sub(r" \\\n +", " ", GENERATED.sub("", page.read_text(encoding="utf-8")))
    return re.findall(r"^```(\w+)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def blocks(language: str, page: Path) -> list[str]:
    """Return the fenced blocks of a language."""
    return [content for found, content in fenced(page) if found == language]


def blocks_of_all_pages(language: str) -> list[str]:
    """Return the blocks of every page but those that are followed as a whole, equal ones once."""
    pages = [page for page in PAGES if page not in (README, RECIPES, *TUTORIAL)]
    return list(dict.fromkeys(block for page in pages for block in blocks(language, page)))
