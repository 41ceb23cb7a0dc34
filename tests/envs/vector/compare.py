"""Equality of what environments return, and the part of one environment in it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ssdgym.unread import Unread

#: What single environments show as plain numbers, and vector ones as arrays of their own types.
_PLAIN = ("episode_seed", "proposed")


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value


def assert_same(ours: Any, theirs: Any, place: str = "") -> None:
    """Compare values, types and shapes all the way down; what is not read yet is a dictionary."""
    ours, theirs = (dict(one) if isinstance(one, Unread) else one for one in (ours, theirs))
    assert type(ours) is type(theirs), place
    if isinstance(ours, dict):
        assert set(ours) == set(theirs), place
        for key in ours:
            if key in _PLAIN and f"_{key}" in ours:
                rows = np.flatnonzero(ours[f"_{key}"])
                assert [_plain(ours[key][i]) for i in rows] == [_plain(theirs[key][i]) for i in rows], place
            elif key in _PLAIN:
                assert _plain(ours[key]) == _plain(theirs[key]), place
            else:
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
