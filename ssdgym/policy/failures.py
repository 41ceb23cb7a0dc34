"""Errors of rules: which policy it was, what it did, and in which line."""

import linecache
import traceback
from collections.abc import Iterable, Iterator
from contextlib import suppress
from types import CodeType
from typing import Any

import numpy as np

from ssdgym.engine.compiler.checking import MOST_ROUNDS, EndlessLoop
from ssdgym.engine.core.family import State
from ssdgym.engine.core.kernel import is_own
from ssdgym.engine.view import view_arrays
from ssdgym.errors import SsdgymError
from ssdgym.policy.rules import MergeRule, Rule, VictimRule, merge_arguments, new_choice

#: Planes in which a decision is looked for that fails in plain Python as it has failed inside the engine.
_MOST_PLANES = 64


def rule_error(error: Exception, rules: Iterable[Rule], device: State | None = None) -> Exception:
    """Return the error for what was raised while rules ran: a sentence that names the policy, or itself.

    Args:
        error: what was raised.
        rules: that may have raised it.
        device: a copy of the device, as a batch of one. A victim or merge rule that read out of range is
            called again on it in plain Python, which names the index.
    """
    suspects = _suspects(error, [rule for rule in rules if rule.function is not None])
    if isinstance(error, SsdgymError) or not suspects:
        return error
    if isinstance(error, EndlessLoop):
        reason = f"its loops go round more than {MOST_ROUNDS:,} times in one call"
        return SsdgymError(f"policy {_names(suspects)} does not end: {reason}; correct it.")
    for rule in suspects:
        if isinstance(error, IndexError) and isinstance(rule, (VictimRule, MergeRule)) and device is not None:
            error = _play_again(rule, device, IndexError) or error
    reason = f"{type(error).__name__}, {error}" if str(error) else type(error).__name__
    return SsdgymError(f"policy {_names(suspects)} failed: {reason}{_place(error, suspects)}; correct it.")


def divides_by_zero(rule: Rule, device: State) -> str:
    """Return what to say of a compiled rule that divides by zero on a copy of the device; else nothing."""
    if not isinstance(rule, (VictimRule, MergeRule)) or is_own(rule.function):
        return ""
    with np.errstate(divide="raise", invalid="raise"):
        error = _play_again(rule, device, ArithmeticError)
    return "" if error is None else f": it divides by zero{_place(error, [rule])}"


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


def _play_again(rule: Rule, device: State, kind: type[Exception]) -> Exception | None:
    """Call a rule in plain Python as the engine may have called it; return the first error of a kind."""
    function: Any = getattr(rule.function, "py_func", rule.function)
    for arguments in _calls(rule, device):
        with suppress(Exception):  # of another kind: not what has happened inside the engine
            try:
                function(*arguments)
            except kind as error:
                return error
    return None


def _calls(rule: Rule, device: State) -> Iterator[tuple[Any, ...]]:
    """Yield arguments: those of a merge rule's last call, and those of a victim rule plane by plane."""
    if isinstance(rule, MergeRule):
        yield (*merge_arguments(device, 0), rule.values)
        return
    collecting = int(device.control["gc_plane"][0, 0])
    planes = range(min(int(device.params["planes"][0, 0]), _MOST_PLANES))
    for plane in sorted(planes, key=lambda number: number != collecting):
        yield view_arrays(device, 0, rule.memory), plane, rule.values, new_choice().view(np.recarray)
