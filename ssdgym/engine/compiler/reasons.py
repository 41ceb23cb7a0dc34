"""Why a function cannot be compiled, in a few of the words that numba writes about it."""

from __future__ import annotations

import re

#: Lines that say nothing.
_EMPTY_LINE = re.compile(r"\s*(- Resolution failure .*|Failed in \w+ mode pipeline.*|During: .*|)")
#: The name of a type of records, which fills pages.
_RECORDS = re.compile(
    r"(unaligned |readonly |checked |read-only )*(array\()?Record\(.*?;(True|False)\)(, 1d, [CA]\))?"
)
_PLACE = re.compile(r'(?:File "|from |at )([^"\s]+)"?(?:, line | \()(\d+)')
#: What the compiler says, and what that means for a rule.
_MEANINGS = (
    (r"No conversion from (.+) to int64 for .*", r"it returns \1 and must return a whole number"),
    (r"mismatch of return type: none vs int64", r"it never returns"),
    (r"Unknown attribute '(\w+)' of type (?:checked )?view.*", r"the view has no field \1"),
    (r"Unknown attribute '(\w+)' of type Parameters\((.*)\)", r"it declares no parameter \1, but (\2)"),
    (r"(.*?)\.* Raised from \S+ \(\d+\)", r"\1"),
    (r"(.*?)\.* Raised from None", r"\1"),
)


def reason_of(error: Exception, file: str) -> str:
    """Return what is wrong with a function, and in which line.

    Args:
        error: what the compiler raised.
        file: that the function is in.
    """
    text = re.sub(r"\x1b\[[0-9;]*m", "", str(error))
    reason = f"there is no field {text}" if isinstance(error, KeyError) else _meaning(text)
    name = file.rpartition("/")[2]
    lines = [line for place, line in _PLACE.findall(text) if place.rpartition("/")[2] == name]
    return f"{reason} ({name}, line {lines[-1]})" if lines else reason


def _meaning(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if not _EMPTY_LINE.fullmatch(line)]
    first = _RECORDS.sub("records", lines[0]).rstrip(".") if lines else "the compiler does not say why"
    call = re.search(r">>> (.+)", text)
    if first.startswith("No implementation of function") and call is not None:
        if "Cannot modify readonly" in text:
            return "a rule may not change the device"
        return f"compiled code cannot do {_RECORDS.sub('records', call[1])}"
    for pattern, meaning in _MEANINGS:
        if (match := re.fullmatch(pattern, first)) is not None:
            return match.expand(meaning)
    return first
