"""The reference in the pages: that of the code, whole, and each part on one page."""

from __future__ import annotations

import csv
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import get_args

import pytest

from docs import reference
from ssdgym.config.device import PRECONDITIONING, PreconditioningKind
from ssdgym.experiments.leaderboard.text import _COLUMNS, MEANINGS
from ssdgym.experiments.papers import claims
from ssdgym.experiments.sweeps import config
from tests.docs.pages import PAGES, ROOT

#: Tables from which `docs/scores.py` makes sections.
READ = ("sound", "tuned-reached")
FILES = [
    path
    for path in (ROOT / "docs").rglob("*.*")
    if (path.suffix == ".csv" and path.stem not in READ) or path.parent.name in ("my_lab", "leaderboard")
]


def test_pages__have_the_reference_of_the_code() -> None:
    """In a process of its own, as other tests register policies."""
    check = (
        "from docs.reference import written; from tests.docs.pages import PAGES; "
        "print([page.name for page in PAGES if written(page) != page.read_text(encoding='utf-8')])"
    )
    stale = subprocess.run(
        [sys.executable, "-c", check], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout
    assert stale == "[]\n", "write them anew: python -m docs.reference"


def test_reference__each_part_stands_on_one_page() -> None:
    found = [
        (page.parent / name).resolve() if "/" in name else name
        for page in PAGES
        for name in reference.BLOCK.findall(page.read_text(encoding="utf-8"))
    ]
    assert {name: Counter(found)[name] for name in [*reference.REFERENCE, *FILES]} == dict.fromkeys(
        [*reference.REFERENCE, *FILES], 1
    )


@pytest.mark.parametrize("path", sorted((ROOT / "docs" / "tables").glob("*.csv")), ids=lambda path: path.stem)
def test_table__has_the_same_columns_in_every_row(path: Path) -> None:
    with path.open(encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file)
    assert rows and {len(row) for row in rows} == {len(head)}


def test_meanings__every_verdict_has_one_and_every_column_of_standings() -> None:
    assert set(claims.VERDICTS) == set(get_args(claims.Verdict))
    assert list(PRECONDITIONING) == list(get_args(PreconditioningKind))
    headings = [heading.removesuffix(" [95 %]") for heading, _ in _COLUMNS]
    assert list(MEANINGS) == headings[1:]  # policy says it itself


def test_fields__are_those_of_all_models_within() -> None:
    names = set(re.findall(r"\w+", " ".join(re.findall("`([^`]*)`", reference.REFERENCE["sweep fields"]()))))
    models = [config.SweepConfig, config.HeldOutConfig, config.SpaceConfig]
    models += [config.AgentTrialConfig, config.PolicyTrialConfig, config.AshaConfig, config.OptunaConfig]
    assert {name for model in models for name in model.model_fields} <= names
    assert all("| `gc.copyback` |" in reference.REFERENCE[f"{name} fields"]() for name in ("page", "block"))


def test_commands__each_has_its_options_and_examples() -> None:
    text = reference.REFERENCE["commands"]()
    sections = dict(re.findall(r"^### (ssdgym [\w ]+)\n(.*?)(?=^### |\Z)", text, re.DOTALL | re.MULTILINE))
    assert {"ssdgym run", "ssdgym evaluate", "ssdgym trace info", "ssdgym list"} <= set(sections)
    assert "`--policy`, `-p`" in sections["ssdgym run"] and "ssdgym run --" in sections["ssdgym run"]
