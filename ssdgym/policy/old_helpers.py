"""Helpers of victim rules as they were called before; `ssdgym.policy` serves them with a warning."""

from __future__ import annotations

from typing import Any

from ssdgym.engine.blocks.index import most_invalid_block, next_by_invalid
from ssdgym.engine.core.kernel import helper


@helper
def fullest_block(view: Any, params: Any, plane: Any) -> Any:
    """Do as `most_invalid_block`."""
    return most_invalid_block(view, plane)


@helper
def next_fullest(view: Any, params: Any, plane: Any, block: Any) -> Any:
    """Do as `next_by_invalid`."""
    return next_by_invalid(view, plane, block)
