"""Find words in docstrings, comments and pages that `docs/style.md` excludes: `python -m tests.prose`."""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCES = ("ssdgym", "agents", "baselines")
PAGES = ("README.md", "CONTRIBUTING.md", "docs/**/*.md")

#: Code is no person.
PERSONS = re.compile(r"\b(?:told|tells?|asks?|knows?|wants?|nobody|whoever)\b(?!:)", re.IGNORECASE)
#: Names and messages in code are no persons either.
NAMES = re.compile(r"\b(?:told|tells|asks|asked|knows|wants|nobody|whoever)\b", re.IGNORECASE)
#: An argument is described by itself, not by the line above.
LEANING = re.compile(r"\bof it\b|\blikewise\b", re.IGNORECASE)
CODE = re.compile(r"```.*?```|`[^`]*`", re.DOTALL)
ARGUMENTS = re.compile(r"^( *)Args:\n((?:\1 +.*\n|\n)*)", re.MULTILINE)


def in_text(text: str) -> Iterator[tuple[int, str]]:
    """Yield the line, from 0 up, and the word of each finding in a page or docstring."""
    plain = CODE.sub(lambda code: re.sub(r"[^\n]", " ", code.group()), text)
    for word in PERSONS.finditer(plain):
        yield plain.count("\n", 0, word.start()), word.group()
    for section in ARGUMENTS.finditer(plain + "\n"):
        for word in LEANING.finditer(section.group(2)):
            yield plain.count("\n", 0, section.start(2) + word.start()), f"{word.group()} in Args"


def in_source(source: str) -> Iterator[tuple[int, str]]:
    """Yield the line, from 0 up, and the word of each finding in a module."""
    for line, text in enumerate(source.splitlines()):
        yield from ((line, word.group()) for word in NAMES.finditer(text))
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node, clean=False) or ""
            yield from ((node.body[0].lineno - 1 + line, word) for line, word in in_text(text))
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield from ((token.start[0] - 1, word) for _, word in in_text(token.string))


def findings() -> Iterator[str]:
    """Yield every finding in sources and pages, as `file:line: word`."""
    for folder in SOURCES:
        for path in sorted((ROOT / folder).rglob("*.py")):
            for line, word in sorted(set(in_source(path.read_text(encoding="utf-8")))):
                yield f"{path.relative_to(ROOT)}:{line + 1}: {word}"
    for pattern in PAGES:
        for path in sorted(ROOT.glob(pattern)):
            for line, word in in_text(path.read_text(encoding="utf-8")):
                yield f"{path.relative_to(ROOT)}:{line + 1}: {word}"


def main() -> int:
    """Print the findings; return 1 if there are any."""
    found = list(findings())
    for one in found:
        print(one)
    if found:
        print(f"{len(found)} words that docs/style.md (rule 3) excludes: say what the code does instead.")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
