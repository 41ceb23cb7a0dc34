"""Agents that come with ssdgym, found by name: `victim-v1` is the file `victim-v1.zip` of this folder."""

from __future__ import annotations

from pathlib import Path

_FOLDER = Path(__file__).parent
#: Begins the names of rules that agents are.
PREFIX = "agent:"


def zoo_agents() -> dict[str, Path]:
    """Return the files of all agents by name, sorted."""
    return {path.stem: path for path in sorted(_FOLDER.glob("*.zip"))}


def find_agent(name: str) -> Path:
    """Return the file of an agent of the zoo, or the path that the name is."""
    return zoo_agents().get(name, Path(name).expanduser())
