"""Sentences of errors: long values in them are cut, and values without a text are named by their type."""

from __future__ import annotations

import pickle

import pytest

from ssdgym.errors import SsdgymError, shown


@pytest.mark.parametrize("value", ["x" * 5000, "'" + "some words " * 500 + "'", '"' + "a b " * 900 + '"'])
def test_long_value__loses_its_middle(value: str) -> None:
    text = str(SsdgymError(f"device.yaml: field name must be short, not {value}; shorten it."))
    assert text.startswith("device.yaml: field name must be short, not ")
    assert text.endswith("; shorten it.")
    assert len(text) < 300


def test_short_sentence__is_left_alone() -> None:
    sentence = "device tiny: 'one' thing, and \"another\"; choose."
    assert str(SsdgymError(sentence)) == sentence
    assert str(pickle.loads(pickle.dumps(SsdgymError(sentence)))) == sentence


def test_sentence_of_many_words__loses_its_middle() -> None:
    assert len(str(SsdgymError("word " * 5000))) < 1600


def test_shown__cuts_a_value__and_names_one_that_cannot_be_printed() -> None:
    assert shown("a" * 100, 10) == "'aaaaaaaaa"
    assert shown(1 << 20000) == "a value of type int that is too large to be printed"
