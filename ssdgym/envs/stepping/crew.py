"""Threads that work on the steps of a batch."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from typing import Any


def threads_for(devices: int) -> int:
    """Return how many threads some devices are worth: the cores this process may use, 8 devices for each."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(min(cores, devices // 8), 1)


class Crew:
    """Threads that help the one that steps devices; each sleeps where there has been no step for a while.

    Nobody waits for a thread that sleeps or has not begun: the others take its devices.

    Args:
        helpers: of a `Stepper`.
        give_up: of that.

    Attributes:
        errors: what the threads have raised.
    """

    def __init__(self, helpers: Sequence[Callable[[], None]], give_up: Callable[[int], None]) -> None:
        self.errors: list[Exception] = []
        self._asleep: list[Any] = []
        self._over = False
        for number, work in enumerate(helpers, 1):
            run = (work, give_up, number)
            threading.Thread(target=self._help, args=run, name=f"ssdgym-{number}", daemon=True).start()

    def wake(self) -> None:
        """Let the threads look for steps again."""
        while self._asleep:
            self._asleep.pop().release()

    def dismiss(self) -> None:
        """Let the threads end."""
        self._over = True
        self.wake()

    def _help(self, work: Callable[[], None], give_up: Callable[[int], None], number: int) -> None:
        while not self._over:
            try:
                work()
            except Exception as error:  # noqa: BLE001 - whatever code of a user raises is raised by the step
                self.errors.append(error)
                give_up(number)
            self._sleep()

    def _sleep(self) -> None:
        gate = threading.Lock()
        gate.acquire()
        self._asleep.append(gate)
        if not self._over:
            gate.acquire()
