"""Objects that one thread may use at a time."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any, TypeVar, cast

from ssdgym.errors import SsdgymError

MethodT = TypeVar("MethodT", bound=Callable[..., Any])


class OneThread:
    """Base of classes whose methods marked `exclusive` refuse a second thread while one is in them.

    The lock is no part of copies and pickles.
    """

    @property
    def _in_use(self) -> Any:
        # In one step, so that two threads cannot make a lock each.
        return vars(self).setdefault("_in_use", threading.RLock())

    def __getstate__(self) -> dict[str, Any]:
        """Leave the lock behind."""
        return {name: value for name, value in vars(self).items() if name != "_in_use"}


def exclusive(method: MethodT) -> MethodT:
    """Let a method of a `OneThread` raise an SsdgymError while another thread is in one of these methods."""

    @functools.wraps(method)
    def guarded(self: OneThread, *arguments: Any, **named: Any) -> Any:
        if not self._in_use.acquire(blocking=False):
            raise SsdgymError(
                f"this {type(self).__name__} is in use by another thread; make one for each thread."
            )
        try:
            return method(self, *arguments, **named)
        finally:
            self._in_use.release()

    return cast(MethodT, guarded)
