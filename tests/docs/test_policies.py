"""The page of policies names every one there is."""

from __future__ import annotations

from ssdgym.policy import available_policies
from tests.docs.pages import ROOT

PAGE = (ROOT / "docs" / "policies.md").read_text(encoding="utf-8")


def test_page__names_every_composition() -> None:
    for name, policy in available_policies().items():
        if policy.alias_of:
            assert f"| `{name}` | `{policy.alias_of}` |" in PAGE
