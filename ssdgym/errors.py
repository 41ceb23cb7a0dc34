"""The exception for mistakes of users, and functions that quote values in its message."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

#: Longest value and longest sentence that an error shows in full, in characters.
_LONGEST_VALUE = 200
_LONGEST_SENTENCE = 1500
#: Matches the long values in a sentence: texts in quotation marks, and words.
_LONG_VALUES = re.compile(
    rf"'[^']{{{_LONGEST_VALUE},}}'|\"[^\"]{{{_LONGEST_VALUE},}}\"|\S{{{_LONGEST_VALUE},}}"
)


class SsdgymError(Exception):
    """An error whose sentence names the file, line, field or action, and says what to do.

    The command line prints the sentence without a traceback and exits with code 2. Long values are shortened.
    """

    def __init__(self, sentence: str = "") -> None:
        super().__init__(with_short_values(sentence))


def with_short_values(sentence: str) -> str:
    """Leave out the middle of each long value; if the sentence is still too long, also its middle."""
    sentence = _LONG_VALUES.sub(lambda match: _without_middle(match[0], _LONGEST_VALUE), sentence)
    return _without_middle(sentence, _LONGEST_SENTENCE)


def _without_middle(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    return f"{text[: most * 2 // 3]} ... {text[len(text) - most // 3 :]}"


@contextmanager
def needing(extra: str, who: str) -> Iterator[None]:
    """Turn a failed import into an error: `who` (as "agents need") the package, which `extra` installs."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise SsdgymError(
            f"{who} the package {error.name}: install it with pip install 'ssdgym[{extra}]'"
        ) from error


def shown(value: Any, most: int = 60) -> str:
    """Return the text of a value for error messages: its `repr`, cut off after `most` characters.

    Args:
        value: any value, even one that Python cannot print, such as a number with too many digits.
        most: largest number of characters of the text.
    """
    try:
        return f"{value!r:.{most}}"
    except (ValueError, RecursionError):
        return f"a value of type {type(value).__name__} that is too large to be printed"


def in_words(problem: str) -> str:
    """Return a message of pydantic as the predicate of a sentence, such as `must be a whole number`."""
    short = problem.replace("Value error, ", "").replace(", unable to parse string as an integer", "")
    return short.replace("Input should", "must").replace("a valid integer", "a whole number")
