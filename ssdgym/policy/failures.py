"""Errors of rules: which policy it was, what it did, and in which line."""

import traceback
from collections.abc import Iterable
from pathlib import Path

from ssdgym.engine.compiler.checking import MOST_ROUNDS, EndlessLoop
from ssdgym.engine.core.kernel import is_own
from ssdgym.errors import SsdgymError
from ssdgym.policy.rules import Rule


def rule_error(error: Exception, rules: Iterable[Rule]) -> Exception:
    """Return the error for what was raised while some rules ran: a sentence that names the policy, or itself.

    Compiled code does not say which index was out of range, nor where; a rule in plain Python does.
    """
    rules = [rule for rule in rules if rule.function is not None]
    frames = traceback.extract_tb(error.__traceback__)
    places = {(frame.filename, frame.name) for frame in frames}
    suspects = [rule for rule in rules if places & _places_of(rule)]
    suspects = suspects or [rule for rule in rules if rule.function and not is_own(rule.function)]
    if isinstance(error, SsdgymError) or not suspects:
        return error
    names = " or ".join(dict.fromkeys(rule.name for rule in suspects))
    if isinstance(error, EndlessLoop):
        reason = f"its loops go round more than {MOST_ROUNDS:,} times in one call"
        return SsdgymError(f"policy {names} does not end: {reason}; correct it.")
    reason = f"{type(error).__name__}, {error}" if str(error) else type(error).__name__
    files = {file for rule in suspects for file, _ in _places_of(rule)}
    if lines := [frame for frame in frames if frame.filename in files]:
        file, text = Path(lines[-1].filename).name, lines[-1].line
        reason += f" ({file}, line {lines[-1].lineno}{f': `{text:.60}`' if text else ''})"
    plain = not lines and any(rule.kind in ("victim", "merge") for rule in suspects)
    remedy = "; registered with compiled=False it fails with index and line" if plain else ""
    return SsdgymError(f"policy {names} failed: {reason}; correct it{remedy}.")


def _places_of(rule: Rule) -> set[tuple[str, str]]:
    """Return file and name of the functions of a rule."""
    functions = (function for function in (rule.function, *rule.hooks.values()) if function is not None)
    codes = [getattr(function, "py_func", function).__code__ for function in functions]
    return {(code.co_filename, code.co_name) for code in codes}
