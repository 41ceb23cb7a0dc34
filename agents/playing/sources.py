"""Find out where an agent comes from: a name, a callable of one's own, or a file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from gymnasium.vector import VectorEnv

from ssdgym.agents.playing.callables import CallableSource, names_callable
from ssdgym.agents.playing.files import SB3Source, TrainedSource, is_sb3_zip
from ssdgym.agents.playing.protocol import Agent
from ssdgym.agents.playing.random_action import RandomAction
from ssdgym.agents.playing.source import Source
from ssdgym.errors import SsdgymError

#: Agents that are known by a name; they learn nothing, others are measured against them.
BASELINES: dict[str, Callable[[], Agent]] = {"random_action": RandomAction}


class BaselineSource(Source):
    """One of `BASELINES`."""

    learns = False

    def digest(self) -> str:
        """Return nothing: the baselines are code of ssdgym."""
        return ""

    def build(self, env: VectorEnv) -> Agent:
        """Make the agent.

        Args:
            env: not looked at.
        """
        return BASELINES[self.text]()


def source_of(agent: str | Path, *, trust: bool = False) -> Source:
    """Return where an agent comes from.

    Args:
        agent: name of a baseline, `module:callable`, or path of a file.
        trust: whether code that comes with it may be executed.

    Raises:
        SsdgymError: it is of no such form, or it would execute code without trust.
    """
    source = untrusted_source_of(agent)
    if source.executes and not trust:
        raise SsdgymError(
            f"agent {source.text}: loading it executes {source.executes}; if you trust it, give --trust "
            "(in Python: trust=True)."
        )
    return source


def untrusted_source_of(agent: str | Path) -> Source:
    """Return where an agent comes from, to look at and not to build: nothing of it is executed.

    Args:
        agent: as for `source_of`.

    Raises:
        SsdgymError: it is of no such form.
    """
    text = str(agent)
    if text in BASELINES:
        return BaselineSource(text)
    if names_callable(text):
        return CallableSource(text)
    return SB3Source(text) if is_sb3_zip(Path(text)) else TrainedSource(text)
