"""Objects that only one thread may use at a time."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any, TypeVar, cast

from ssdgym.errors import SsdgymError

MethodT = TypeVar("MethodT", bound=Callable[..., Any])
_LOCK = "_in_use"


class OneThread:
    """Base of classes whose methods marked `exclusive` raise if two threads call them at the same time.

    Copies and pickles do not include the lock.
    """

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes without the lock."""
        return {name: value for name, value in vars(self).items() if name != _LOCK}


def exclusive(method: MethodT) -> MethodT:
    """Make a method raise SsdgymError while another thread runs an exclusive method of the same object."""

    @functools.wraps(method)
    def guarded(self: OneThread, *arguments: Any, **named: Any) -> Any:
        # setdefault is atomic, so two threads cannot make two locks.
        lock = self.__dict__.get(_LOCK) or self.__dict__.setdefault(_LOCK, threading.RLock())
        if not lock.acquire(blocking=False):
            raise SsdgymError(
                f"this {type(self).__name__} is in use by another thread; make one for each thread."
            )
        try:
            return method(self, *arguments, **named)
        finally:
            lock.release()

    return cast(MethodT, guarded)
