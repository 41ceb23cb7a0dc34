"""Registry of things by name: those of ssdgym, and those of installed packages."""

from __future__ import annotations

import hashlib
import inspect
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import Generic, TypeVar

from ssdgym.errors import SsdgymError
from ssdgym.files import file_hash, is_file

ThingT = TypeVar("ThingT")

_PACKAGE = Path(__file__).parents[1]


@dataclass(frozen=True)
class Origin:
    """The code that registers a thing.

    Attributes:
        module: its name.
        file: its file; in a notebook a name that changes with the code of the cell.
    """

    module: str
    file: str

    @property
    def code_hashes(self) -> list[str]:
        """Hash of the file, in a list; nothing for a file of ssdgym."""
        path = Path(self.file)
        if path.is_relative_to(_PACKAGE):
            return []
        return [file_hash(path) if is_file(path) else hashlib.sha256(self.file.encode()).hexdigest()]


def caller() -> Origin:
    """Return the code that calls the function that calls this one."""
    frame = inspect.currentframe()
    for _ in range(2):
        assert frame is not None
        frame = frame.f_back
    assert frame is not None
    return Origin(frame.f_globals.get("__name__", ""), frame.f_code.co_filename)


class Registry(Generic[ThingT]):
    """Things by name."""

    def __init__(self, what: str, group: str) -> None:
        """Start without any thing.

        Args:
            what: name of the things in errors.
            group: entry points of installed packages; loading one has to register its things.
        """
        self._what = what
        self._group = group
        self._things: dict[str, tuple[ThingT, Origin]] = {}
        self._is_complete = False

    def register(self, name: str, thing: ThingT, origin: Origin) -> None:
        """Make a thing known by a name.

        Args:
            name: by which it is looked up.
            thing: what is registered.
            origin: the code that registers it; the same module may do so again, as a notebook does.

        Raises:
            SsdgymError: another module has registered the name.
        """
        if name in self._things and self._things[name][1].module != origin.module:
            raise SsdgymError(f"the {self._what} {name} is registered already; choose another name.")
        self._things[name] = thing, origin

    def code_hashes(self, name: str) -> list[str]:
        """Return the hashes of the code outside of ssdgym that registered a thing, if it is registered."""
        return self._things[name][1].code_hashes if name in self._things else []

    def by_name(self) -> dict[str, ThingT]:
        """Return all things, sorted by name."""
        if not self._is_complete:
            self._is_complete = True
            for plugin in entry_points(group=self._group):
                plugin.load()
        return {name: thing for name, (thing, _) in sorted(self._things.items())}
