"""Pictures of the environments: one for each that is registered, in both looks, as drawn."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import gymnasium
import pytest

from ssdgym import registration
from tests.docs.pages import ROOT


def test_pictures__one_for_each_environment_as_drawn(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.syspath_prepend(ROOT / "docs" / "examples")
    script = import_module("environments")
    ids = {f"ssdgym/{name}-v0" for name in script.DRAWN}
    tasks = {f"ssdgym/{name}" for name in registration.tasks()}
    assert ids == {name for name in gymnasium.registry if name.startswith("ssdgym/")} - tasks
    page = (ROOT / "docs" / "environments.md").read_text(encoding="utf-8")
    for path in script.draw(tmp_path):
        shown = ROOT / "docs" / "pictures" / "environments" / path.name
        assert path.read_bytes() == shown.read_bytes(), "draw it again: make figures"
        look = path.stem.split("-")[1]
        assert f"pictures/environments/{path.name}#gh-{look}-mode-only" in page  # on GitHub and on the site
