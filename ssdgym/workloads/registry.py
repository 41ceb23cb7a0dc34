"""Registry of things by name: those of ssdgym, and those of installed packages."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Generic, TypeVar

from ssdgym.errors import SsdgymError

ThingT = TypeVar("ThingT")


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
        self._things: dict[str, ThingT] = {}
        self._origins: dict[str, str] = {}
        self._is_complete = False

    def register(self, name: str, thing: ThingT, *, origin: str) -> None:
        """Make a thing known by a name.

        Args:
            name: by which it is looked up.
            thing: what is registered.
            origin: where it is defined; what is defined there again, as in a notebook, takes its place.

        Raises:
            SsdgymError: a thing from elsewhere has the name.
        """
        if self._origins.setdefault(name, origin) != origin:
            raise SsdgymError(f"the {self._what} {name} is registered already; choose another name.")
        self._things[name] = thing

    def origin(self, name: str) -> str:
        """Return where the thing of that name is defined; empty without such a thing."""
        return self._origins.get(name, "")

    def by_name(self) -> dict[str, ThingT]:
        """Return all things, sorted by name."""
        if not self._is_complete:
            self._is_complete = True
            for plugin in entry_points(group=self._group):
                plugin.load()
        return dict(sorted(self._things.items()))
