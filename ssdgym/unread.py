"""Dictionaries that are filled when they are first read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Unread(dict[str, Any]):
    """A dictionary whose entries are computed at the first access; copies and pickles are plain dictionaries.

    Args:
        read: function that returns the entries. It is called at most once.
    """

    __slots__ = ("__weakref__", "_read")

    def __init__(self, read: Callable[[], dict[str, Any]]) -> None:
        # json's encoder calls no method of an empty dictionary, so there has to be an entry.
        super().__init__(unread=None)
        self._read: Callable[[], dict[str, Any]] | None = read

    def read(self) -> None:
        """Fill the dictionary if it is not yet filled."""
        if self._read is not None:
            read, self._read = self._read, None
            super().clear()
            super().update(read())

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Copy and pickle as a plain dictionary."""
        return dict, (dict(self),)


def _filled(name: str) -> Callable[..., Any]:
    method = getattr(dict, name)

    def call(self: Unread, *args: Any, **kwargs: Any) -> Any:
        self.read()
        return method(self, *args, **kwargs)

    call.__name__, call.__doc__ = name, method.__doc__
    return call


for _name in (
    *("__contains__", "__delitem__", "__eq__", "__getitem__", "__ior__", "__iter__", "__len__", "__ne__"),
    *("__or__", "__repr__", "__reversed__", "__ror__", "__setitem__", "clear", "copy", "get", "items"),
    *("keys", "pop", "popitem", "setdefault", "update", "values"),
):
    setattr(Unread, _name, _filled(_name))
