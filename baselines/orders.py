"""Sorted orders of blocks in rules: the fields that they need, and hooks that mark changed blocks."""

from typing import Any

from ssdgym.policy import blocks_of, kernel


def fields_of(*orders: Any) -> dict[str, Any]:
    """Return the fields that a rule with orders declares per block and per stream."""
    return {part: sum((getattr(one, part) for one in orders), []) for part in ("block", "stream")}


def both(one: Any, other: Any) -> Any:
    """Return a kernel (view, block) that calls both given kernels."""

    @kernel
    def touch(view, block):
        one(view, block)
        other(view, block)

    return touch


def follow(rule: Any, touch: Any, *more: str) -> None:
    """Let a rule call `touch` for every block at the start, and for each block that an event changes."""

    def changed(view, plane, block, parameters):
        touch(view, block)

    for event in ("opened", "closed", "scattered", "collected", "recycled", *more):
        rule.on(event)(changed)

    @rule.on("attached")
    def attached(view, plane, block, parameters):
        for number in blocks_of(view, plane):
            touch(view, number)
