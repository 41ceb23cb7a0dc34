"""The zoo: agents that come with ssdgym. `victim-v1` names the file `victim-v1.zip` of this folder."""

from __future__ import annotations

from pathlib import Path

_FOLDER = Path(__file__).parent
#: First part of the name of a rule that is an agent, such as `agent:victim-v1`.
PREFIX = "agent:"


def zoo_agents() -> dict[str, Path]:
    """Return the files of all agents in the zoo, by name, sorted by name."""
    return {path.stem: path for path in sorted(_FOLDER.glob("*.zip"))}


def find_agent(name: str) -> Path:
    """Return the file of an agent of the zoo, or `name` as a path if the zoo has no such agent."""
    return zoo_agents().get(name, Path(name).expanduser())
