"""A policy is written with `ssdgym.policy`, its neighbours, and nothing else of ssdgym."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

BASELINES = Path(__file__).parents[2] / "baselines"
FILES = sorted(path for path in BASELINES.rglob("*.py") if path.name != "__init__.py")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_policies__import_ssdgym_policy_and_each_other_only(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += ["." * node.level + (node.module or "")] if isinstance(node, ast.ImportFrom) else []
        for name in names:
            own = name == "ssdgym.policy" or name.startswith("ssdgym.baselines.")
            assert own or name.partition(".")[0] not in ("ssdgym", ""), name
