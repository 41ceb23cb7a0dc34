"""Objects that one thread may use at a time."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any, TypeVar, cast

from ssdgym.errors import SsdgymError

MethodT = TypeVar("MethodT", bound=Callable[..., Any])
_LOCK = "_in_use"


class OneThread:
    """Base of classes whose methods marked `exclusive` refuse a second thread while one is in them.

    The lock is no part of copies and pickles.
    """

    def __getstate__(self) -> dict[str, Any]:
        """Leave the lock behind."""
        return {name: value for name, value in vars(self).items() if name != _LOCK}


def exclusive(method: MethodT) -> MethodT:
    """Let a method of a `OneThread` raise an SsdgymError while another thread is in one of these methods."""

    @functools.wraps(method)
    def guarded(self: OneThread, *arguments: Any, **named: Any) -> Any:
        # setdefault is one step, so that two threads cannot make a lock each.
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
