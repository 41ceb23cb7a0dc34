"""Equality of what environments return, and the part of one environment in it."""

from __future__ import annotations

from typing import Any

import numpy as np


def assert_same(ours: Any, theirs: Any, place: str = "") -> None:
    """Compare values, types and shapes all the way down."""
    assert type(ours) is type(theirs), place
    if isinstance(ours, dict):
        assert set(ours) == set(theirs), place
        for key in ours:
            assert_same(ours[key], theirs[key], f"{place}/{key}")
    elif isinstance(ours, (tuple, list)):
        for k, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            assert_same(one, other, f"{place}/{k}")
    elif isinstance(ours, np.ndarray):
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape), place
        if ours.dtype == object:
            assert_same(list(ours), list(theirs), place)
        else:
            np.testing.assert_array_equal(ours, theirs, place)
    else:
        assert ours == theirs, place


def row(infos: dict[str, Any], i: int) -> dict[str, Any]:
    """What environment `i` has of infos with masks."""
    found = {}
    for key, value in infos.items():
        if f"_{key}" in infos and infos[f"_{key}"][i]:
            found[key] = row(value, i) if isinstance(value, dict) else value[i]
    return found
