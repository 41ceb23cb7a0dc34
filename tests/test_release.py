"""What a release has to say alike everywhere."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

import ssdgym

ROOT = Path(__file__).parents[1]


def test_version__is_the_one_of_the_citation_and_of_the_first_changes() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    (first, *_) = re.findall(r"^## (\S+)", changes, re.MULTILINE)
    assert ssdgym.__version__ == citation["version"] == first


def test_citation__has_what_zenodo_takes_from_it() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert {"title", "abstract", "authors", "keywords", "license", "type", "version"} <= citation.keys()


def test_sdist__has_the_files_that_it_names() -> None:
    words = (ROOT / "MANIFEST.in").read_text(encoding="utf-8").split()
    assert words[0] == "include" and all((ROOT / name).is_file() for name in words[1:])
