"""Nested fields and their dotted names."""

from __future__ import annotations

import pytest

from ssdgym.config.fields import dotted, with_changes
from ssdgym.errors import SsdgymError


def test_with_changes__replaces_dotted_fields_and_leaves_the_original() -> None:
    fields = {"a": {"b": 1, "c": 2}, "d": 3}
    assert with_changes(fields, {"a.b": 9, "e.f": 4}) == {"a": {"b": 9, "c": 2}, "d": 3, "e": {"f": 4}}
    assert fields == {"a": {"b": 1, "c": 2}, "d": 3}
    with pytest.raises(SsdgymError, match=r"d\.x does not exist"):
        with_changes(fields, {"d.x": 1})


def test_dotted__is_the_inverse() -> None:
    fields = {"gc": {"mode": "barrier", "free_blocks": 3}, "placement": "single"}
    pairs = dotted(fields)
    assert pairs == (("gc.free_blocks", 3), ("gc.mode", "barrier"), ("placement", "single"))
    assert with_changes({}, dict(pairs)) == fields
