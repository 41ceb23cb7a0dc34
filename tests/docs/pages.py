"""The pages that readers see, and what is in them."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
#: The recipes need the files they write: see `test_extending.py`.
RECIPES = ROOT / "docs" / "extending.md"
PAGES = (README, ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md")))


def blocks(language: str, page: Path) -> list[str]:
    """Return the fenced blocks of a language."""
    text = page.read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def blocks_of_all_pages(language: str) -> list[str]:
    """Return the blocks of every page but the recipes, equal ones once."""
    pages = [page for page in PAGES if page != RECIPES]
    return list(dict.fromkeys(block for page in pages for block in blocks(language, page)))
