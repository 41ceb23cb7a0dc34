"""Agents of one's own: `module:callable`."""

from __future__ import annotations

import hashlib
import importlib
import inspect
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from gymnasium.vector import VectorEnv

from ssdgym.agents.playing.protocol import Agent
from ssdgym.agents.playing.source import Source
from ssdgym.config.yaml_text import parse_value
from ssdgym.errors import SsdgymError
from ssdgym.files import file_hash
from ssdgym.own_code import find_module

_CALL = re.compile(r"(?P<module>[A-Za-z_][\w.]*):(?P<name>[A-Za-z_][\w.]*)\s*(?:\((?P<inner>.*)\))?")


def names_callable(text: str) -> bool:
    """Tell whether a text is `module:callable`, with parameters in brackets or without."""
    return _CALL.fullmatch(text) is not None


class CallableSource(Source):
    """`module:callable`, or `module:callable(name=value, ...)`: a function or class that makes the agent.

    The module is imported as Python would, or from the present folder. A parameter called `env` is given the
    vector environment.
    """

    executes = "code of the module it names"

    def __init__(self, text: str) -> None:
        super().__init__(text)
        match = _CALL.fullmatch(text)
        assert match is not None
        self.module, self.name = match["module"], match["name"]
        self.parameters = read_parameters(f"agent {text}", (match["inner"] or "").split(","))

    def digest(self) -> str:
        """Return a hash of the module's source and of the files that parameters name.

        Raises:
            SsdgymError: there is no such module.
        """
        spec = find_module(self.module, f"agent {self.text}")
        files = [Path(spec.origin)] if spec.origin and Path(spec.origin).is_file() else []
        files += [Path(v) for v in self.parameters.values() if isinstance(v, str) and Path(v).is_file()]
        return hashlib.sha256("".join(map(file_hash, files)).encode()).hexdigest()

    def build(self, env: VectorEnv) -> Agent:
        """Call the callable.

        Args:
            env: that the agent is to act in.

        Raises:
            SsdgymError: there is no such callable, it does not take the parameters, or makes no agent.
        """
        make = self._callable()
        try:
            taken = inspect.signature(make).parameters
            given = {**self.parameters, **({"env": env} if "env" in taken else {})}
            inspect.signature(make).bind(**given)
        except (TypeError, ValueError) as error:
            raise SsdgymError(f"agent {self.text}: {self.name} cannot be called so: {error}.") from error
        agent = make(**given)
        if not callable(getattr(agent, "act", None)):
            raise SsdgymError(
                f"agent {self.text}: made a {type(agent).__name__}, which has no method "
                "act(observation, mask, rng)."
            )
        return agent

    def _callable(self) -> Callable[..., Any]:
        self.digest()  # tells what is missing
        found: Any = importlib.import_module(self.module)
        for part in self.name.split("."):
            found = getattr(found, part, None)
        if not callable(found):
            raise SsdgymError(f"agent {self.text}: {self.module} has no callable {self.name}; correct it.")
        return found


def read_parameters(where: str, pieces: Iterable[str]) -> dict[str, Any]:
    """Read texts such as `name=value`; values are YAML, so that `3` is a number and `a.pt` a text.

    Args:
        where: begins the sentences of errors.
        pieces: the texts; empty ones are left out.

    Raises:
        SsdgymError: one of them has another form, or a name is given twice.
    """
    found: dict[str, Any] = {}
    for piece in filter(None, map(str.strip, pieces)):
        name, equals, value = (part.strip() for part in piece.partition("="))
        if not equals or not name.isidentifier() or name in found:
            raise SsdgymError(f"{where}: {piece!r:.60} is not of the form name=value, each name once.")
        found[name] = parse_value(value, f"{where}: {name}")
    return found
