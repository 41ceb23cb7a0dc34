"""Policies that are refused: each in one sentence, which says what is wrong and what to do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ssdgym.errors import SsdgymError
from ssdgym.policy import get_policy

#: Policies as they are written, and what the error says; behind " ..." it goes on.
ROWS = [
    line.split(" | ") for line in Path(__file__).with_name("refusals.txt").read_text("utf-8").splitlines()
]


def refusal(action: Any, *arguments: Any, **named: Any) -> str:
    """Return the one sentence of an error."""
    with pytest.raises(SsdgymError) as caught:
        action(*arguments, **named)
    text = str(caught.value)
    assert "\n" not in text and text.endswith((".", "?"))
    return text


@pytest.mark.parametrize(("policy", "sentence"), ROWS, ids=[policy for policy, _ in ROWS])
def test_get__what_makes_no_sense__refused_in_a_sentence(policy: str, sentence: str) -> None:
    text = refusal(get_policy, policy)
    begun = sentence.removesuffix(" ...")
    assert text == sentence if begun == sentence else text.startswith(begun)
