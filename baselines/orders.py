"""Help rules use orders of blocks (`BlockOrder`): declare their fields, and hook the events of blocks."""

from typing import Any

from ssdgym.policy import blocks_of, kernel


def fields_of(*orders: Any) -> dict[str, Any]:
    """Return the arguments `block` and `stream` for the decorator of a rule that uses these orders."""
    return {part: sum((getattr(one, part) for one in orders), []) for part in ("block", "stream")}


def both(one: Any, other: Any) -> Any:
    """Return a kernel (view, block) that calls both given kernels."""

    @kernel
    def touch(view, block):
        one(view, block)
        other(view, block)

    return touch


def follow(rule: Any, touch: Any, *more: str) -> None:
    """Make a rule call `touch(view, block)` for all blocks at the start, and in hooks that change a block."""

    def changed(view, plane, block, parameters):
        touch(view, block)

    for event in ("opened", "closed", "scattered", "collected", "recycled", *more):
        rule.on(event)(changed)

    @rule.on("attached")
    def attached(view, plane, block, parameters):
        for number in blocks_of(view, plane):
            touch(view, number)
