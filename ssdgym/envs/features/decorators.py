"""Decorators that register functions as features, one for each kind."""

from __future__ import annotations

from collections.abc import Callable

from ssdgym.envs.features.registry import Function, Setting, When, register
from ssdgym.types import Feature

#: The watcher of ssdgym: what has happened to each page, and what went to each stream.
PAGE_HISTORY = "page_history"


def _never(setting: Setting) -> bool:
    return False


def candidate_feature(
    name: str,
    meaning: str,
    *,
    unit: str = "share",
    low: float = 0.0,
    high: float = 1.0,
    default: When = _never,
    samples_pages: bool = False,
) -> Callable[[Function], Function]:
    """Register the decorated function as a feature of every candidate.

    It is called with `(view, candidate, decision)`: what a victim rule sees, and records of
    `ssdgym.engine.core.observed`, CANDIDATE and DECISION.

    Args:
        name: by which environments and agents have it.
        meaning: what it says, as a phrase.
        unit: of its values.
        low: smallest value.
        high: largest value.
        default: in which settings it is observed without being named; never, unless said.
        samples_pages: whether it reads `sampled`, `updates`, `neighbours` or `neighbour_updates`.

    Returns:
        The decorator; the function stays as it is.

    Raises:
        SsdgymError: another module has registered a feature of this name, or the bounds are wrong.
    """
    return register(Feature(name, meaning, unit, low, high), "candidate", default, samples_pages)


def decision_feature(
    name: str,
    meaning: str,
    *,
    unit: str = "share",
    low: float = 0.0,
    high: float = 1.0,
    default: When = _never,
) -> Callable[[Function], Function]:
    """Register the decorated function as an entry of the context that changes from decision to decision.

    It is called with `(view, decision)`.

    Args:
        name: by which environments and agents have it.
        meaning: what it says, as a phrase.
        unit: of its values.
        low: smallest value.
        high: largest value.
        default: in which settings it is observed without being named; never, unless said.

    Returns:
        The decorator; the function stays as it is.

    Raises:
        SsdgymError: another module has registered a feature of this name, or the bounds are wrong.
    """
    return register(Feature(name, meaning, unit, low, high), "decision", default)


def device_feature(
    name: str,
    meaning: str,
    *,
    unit: str = "share",
    low: float = 0.0,
    high: float = 1.0,
    default: When = _never,
) -> Callable[[Function], Function]:
    """Register the decorated function as an entry of the context that tells devices apart.

    It is called with `(view)`.

    Args:
        name: by which environments and agents have it.
        meaning: what it says, as a phrase.
        unit: of its values.
        low: smallest value.
        high: largest value.
        default: in which settings it is observed without being named; never, unless said.

    Returns:
        The decorator; the function stays as it is.

    Raises:
        SsdgymError: another module has registered a feature of this name, or the bounds are wrong.
    """
    return register(Feature(name, meaning, unit, low, high), "device", default)


def stream_feature(
    name: str,
    meaning: str,
    *,
    unit: str = "share",
    low: float = 0.0,
    high: float = 1.0,
    default: When = _never,
    watcher: str = PAGE_HISTORY,
) -> Callable[[Function], Function]:
    """Register the decorated function as a feature of every write stream that a page can go to.

    It is called with `(view, stream, page)`: what rules see, with the records of the watcher, and records of
    `ssdgym.engine.core.observed`, STREAM_SEEN and PAGE_SEEN.

    Args:
        name: by which environments and agents have it.
        meaning: what it says, as a phrase.
        unit: of its values.
        low: smallest value.
        high: largest value.
        default: in which settings it is observed without being named; never, unless said.
        watcher: the rule whose records it reads; environments have it watch.

    Returns:
        The decorator; the function stays as it is.

    Raises:
        SsdgymError: another module has registered a feature of this name, or the bounds are wrong.
    """
    return register(Feature(name, meaning, unit, low, high), "stream", default, watcher=watcher)


def page_feature(
    name: str,
    meaning: str,
    *,
    unit: str = "share",
    low: float = 0.0,
    high: float = 1.0,
    default: When = _never,
    watcher: str = PAGE_HISTORY,
) -> Callable[[Function], Function]:
    """Register the decorated function as an entry of the context that tells about the page that is placed.

    It is called with `(view, page)`: what rules see, with the records of the watcher, and a record of
    `ssdgym.engine.core.observed`, PAGE_SEEN.

    Args:
        name: by which environments and agents have it.
        meaning: what it says, as a phrase.
        unit: of its values.
        low: smallest value.
        high: largest value.
        default: in which settings it is observed without being named; never, unless said.
        watcher: the rule whose records it reads; environments have it watch.

    Returns:
        The decorator; the function stays as it is.

    Raises:
        SsdgymError: another module has registered a feature of this name, or the bounds are wrong.
    """
    return register(Feature(name, meaning, unit, low, high), "page", default, watcher=watcher)


def answer_feature(
    name: str,
    meaning: str,
    *,
    unit: str = "share",
    low: float = 0.0,
    high: float = 1.0,
    default: When = _never,
) -> Callable[[Function], Function]:
    """Register the decorated function as a feature of how far an idle die may go.

    It is called with `(view, answer, die)`: what rules see, and records of `ssdgym.engine.core.observed`,
    ANSWER_SEEN and DIE_SEEN.

    Args:
        name: by which environments and agents have it.
        meaning: what it says, as a phrase.
        unit: of its values.
        low: smallest value.
        high: largest value.
        default: in which settings it is observed without being named; never, unless said.

    Returns:
        The decorator; the function stays as it is.

    Raises:
        SsdgymError: another module has registered a feature of this name, or the bounds are wrong.
    """
    return register(Feature(name, meaning, unit, low, high), "answer", default)


def die_feature(
    name: str,
    meaning: str,
    *,
    unit: str = "share",
    low: float = 0.0,
    high: float = 1.0,
    default: When = _never,
) -> Callable[[Function], Function]:
    """Register the decorated function as an entry of the context that tells about the die that is idle.

    It is called with `(view, die)`: what rules see, and records of `ssdgym.engine.core.observed`,
    DIE_SEEN.

    Args:
        name: by which environments and agents have it.
        meaning: what it says, as a phrase.
        unit: of its values.
        low: smallest value.
        high: largest value.
        default: in which settings it is observed without being named; never, unless said.

    Returns:
        The decorator; the function stays as it is.

    Raises:
        SsdgymError: another module has registered a feature of this name, or the bounds are wrong.
    """
    return register(Feature(name, meaning, unit, low, high), "die", default)
