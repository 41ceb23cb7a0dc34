"""Choices: their words in configurations, their codes in the engine."""

from __future__ import annotations

import json

import pytest

from ssdgym import enums
from ssdgym.enums import Choice, EraseUnit

CHOICES = Choice.__subclasses__()


@pytest.mark.parametrize("choices", CHOICES, ids=lambda choices: choices.__name__)
def test_choices__have_codes_from_0_and_meanings(choices: type[Choice]) -> None:
    assert [choice.code for choice in choices] == list(range(len(choices)))
    assert all(f"{choice}: {choice.meaning}" in choices.described() for choice in choices)


def test_choice__is_its_word() -> None:
    run = EraseUnit("sub_block_run")
    assert run == "sub_block_run" and f"{run}" == str(run) == "sub_block_run"
    assert json.dumps([run]) == '["sub_block_run"]' and {run: 1}["sub_block_run"] == 1
    assert enums.EraseUnit.SUB_BLOCK_RUN is run
