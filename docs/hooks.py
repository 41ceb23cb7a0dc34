"""Hook of mkdocs: give the API pages the source tree as it is installed."""

from __future__ import annotations

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from mkdocs.plugins import event_priority

_ROOT = Path(__file__).parents[1]
_SOURCES = TemporaryDirectory(prefix="ssdgym-docs-")


@event_priority(100)  # before mkdocstrings reads its paths
def on_config(config: Any) -> Any:
    """Copy the sources into the layout of an installation, with `agents` and `baselines` inside `ssdgym`."""
    package = Path(_SOURCES.name) / "ssdgym"
    shutil.copytree(_ROOT / "ssdgym", package, dirs_exist_ok=True)
    for folder in ("agents", "baselines"):
        shutil.copytree(_ROOT / folder, package / folder, dirs_exist_ok=True)
    config.plugins["mkdocstrings"].config.handlers["python"]["paths"] = [_SOURCES.name]
    return config
