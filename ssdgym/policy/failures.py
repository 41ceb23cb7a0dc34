"""Errors of rules: which policy it was, what it did, and in which line."""

import linecache
import traceback
from collections.abc import Iterable, Iterator
from types import CodeType

from ssdgym.engine.compiler.checking import MOST_ROUNDS, EndlessLoop
from ssdgym.engine.core.kernel import is_own
from ssdgym.errors import SsdgymError
from ssdgym.policy.rules import Rule


def rule_error(error: Exception, rules: Iterable[Rule]) -> Exception:
    """Return the error for what was raised while some rules ran: a sentence that names the policy, or itself.

    Compiled code does not say which index was out of range, nor where; a rule in plain Python does.
    """
    suspects = _suspects(error, [rule for rule in rules if rule.function is not None])
    if isinstance(error, SsdgymError) or not suspects:
        return error
    if isinstance(error, EndlessLoop):
        reason = f"its loops go round more than {MOST_ROUNDS:,} times in one call"
        return SsdgymError(f"policy {_names(suspects)} does not end: {reason}; correct it.")
    reason = f"{type(error).__name__}, {error}" if str(error) else type(error).__name__
    place = _place(error, suspects)
    plain = not place and any(rule.kind in ("victim", "merge") for rule in suspects)
    remedy = (
        "correct it; registered with compiled=False it fails with index and line" if plain else "correct it"
    )
    return SsdgymError(f"policy {_names(suspects)} failed: {reason}{place}; {remedy}.")


def _codes(rule: Rule) -> Iterator[CodeType]:
    for function in (rule.function, *rule.hooks.values()):
        if function is not None:
            yield getattr(function, "py_func", function).__code__


def _suspects(error: Exception, rules: list[Rule]) -> list[Rule]:
    """Return the rules in whose functions an error was raised, or all that are not ssdgym's own."""
    places = {(frame.filename, frame.name) for frame in traceback.extract_tb(error.__traceback__)}
    found = [
        rule for rule in rules if any((code.co_filename, code.co_name) in places for code in _codes(rule))
    ]
    return found or [rule for rule in rules if rule.function is not None and not is_own(rule.function)]


def _names(rules: list[Rule]) -> str:
    return " or ".join(dict.fromkeys(rule.name for rule in rules))


def _place(error: Exception, rules: list[Rule]) -> str:
    """Return the last line that an error has passed of the files of some rules."""
    files = {code.co_filename for rule in rules for code in _codes(rule)}
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename in files]
    if not frames:
        return ""
    file, number = frames[-1].filename, frames[-1].lineno or 0
    text = linecache.getline(file, number).strip()
    return f" ({file.rpartition('/')[2]}, line {number}{f': `{text:.60}`' if text else ''})"
