"""Registries of their own for tests that register policies."""

from __future__ import annotations

import pytest

from ssdgym.policy import available_policies, registry


@pytest.fixture(autouse=True)
def own_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test registers is forgotten after it."""
    available_policies()
    for table in ("_RULES", "_ALIASES"):
        monkeypatch.setattr(registry, table, dict(getattr(registry, table)))
