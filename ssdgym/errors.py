"""The one exception type that is meant for people, and how values are quoted in its sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

#: Longest value that is quoted in full, and longest sentence.
_LONGEST_VALUE = 200
_LONGEST_SENTENCE = 1500
#: What a value looks like in a sentence: between quotation marks, or without a space.
_LONG_VALUES = re.compile(
    rf"'[^']{{{_LONGEST_VALUE},}}'|\"[^\"]{{{_LONGEST_VALUE},}}\"|\S{{{_LONGEST_VALUE},}}"
)


class SsdgymError(Exception):
    """One sentence that names the file, line, field or action, and says what to do.

    The command line prints it without a traceback and exits with code 2. Long values in it are cut.
    """

    def __init__(self, sentence: str = "") -> None:
        super().__init__(with_short_values(sentence))


def with_short_values(sentence: str) -> str:
    """Return a sentence with the middle of each long value, and of a long sentence, left out."""
    sentence = _LONG_VALUES.sub(lambda match: _without_middle(match[0], _LONGEST_VALUE), sentence)
    return _without_middle(sentence, _LONGEST_SENTENCE)


def _without_middle(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    return f"{text[: most * 2 // 3]} ... {text[len(text) - most // 3 :]}"


@contextmanager
def needing(extra: str, who: str) -> Iterator[None]:
    """Say where an import lacks a package which one, and which extra of ssdgym has it; `who` needs it."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise SsdgymError(
            f"{who} the package {error.name}: install it with pip install 'ssdgym[{extra}]'"
        ) from error


def shown(value: Any, most: int = 60) -> str:
    """Return a value as errors quote it.

    Args:
        value: anything, also what has no text: a number of more digits than Python prints.
        most: characters that are shown.
    """
    try:
        return f"{value!r:.{most}}"
    except (ValueError, RecursionError):
        return f"a value of type {type(value).__name__} that is too large to be printed"
