"""What is said while the engine compiles: that it does, and how long it took."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

#: Seconds from which on a compile is worth a line.
_LONG = 2.0


def _print_note(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


#: Called with each sentence; `None` for silence.
say: Callable[[str], None] | None = _print_note

_started: dict[str, float] = {}


def begin(function: str) -> None:
    """Note that the compile of an entry begins, and say so before the first one of the process."""
    if say is not None and not _started:
        say("ssdgym compiles its engine, once per machine and version: about half a minute")
    _started[function] = time.perf_counter()


def end(function: str) -> None:
    """Say how long the compile of an entry took, if that was long."""
    seconds = time.perf_counter() - _started[function]
    if say is not None and seconds >= _LONG:
        say(f"compiled {function.lstrip('_')} in {seconds:.0f} s")
