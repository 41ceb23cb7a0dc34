"""Things that register themselves by name: those of ssdgym, and those of installed packages."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Generic, TypeVar

from ssdgym.errors import SsdgymError

ThingT = TypeVar("ThingT")


class Registry(Generic[ThingT]):
    """Things by name.

    Args:
        what: what a thing is called in errors.
        group: entry points of installed packages; loading one has to register its things.
    """

    def __init__(self, what: str, group: str) -> None:
        self._what = what
        self._group = group
        self._things: dict[str, ThingT] = {}
        self._is_complete = False

    def register(self, name: str, thing: ThingT, *, replace: bool = False) -> None:
        """Make a thing known by a name.

        Args:
            name: by which it is looked up.
            thing: what is registered.
            replace: take the place of another thing of that name.

        Raises:
            SsdgymError: another thing has the name.
        """
        if not replace and self._things.get(name, thing) is not thing:
            raise SsdgymError(f"the {self._what} {name} is registered already; choose another name.")
        self._things[name] = thing

    def registered(self, name: str) -> ThingT | None:
        """Return the thing of that name, if there is one already; entry points are not loaded for it."""
        return self._things.get(name)

    def by_name(self) -> dict[str, ThingT]:
        """Return all things, sorted by name."""
        if not self._is_complete:
            self._is_complete = True
            for plugin in entry_points(group=self._group):
                plugin.load()
        return dict(sorted(self._things.items()))
