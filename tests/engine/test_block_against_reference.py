"""The compiled block FTLs and the naive reference agree on every page, counter and nanosecond."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import strategies as st

from tests.engine.blocks import KINDS, OUTSIDE, RULES, Both, configs
from tests.engine.comparing import explore, with_examples
from tests.engine.drawing import request_lists


def agrees(
    data: st.DataObject, *, rules: tuple[str, ...], lengths: tuple[int, ...] = (40, 200), **fixed: Any
) -> None:
    """One device, which is used, and used again up to some horizon."""
    config = data.draw(configs(**fixed))
    both = Both(config, data.draw(st.sampled_from(rules)))
    length, start_ns = data.draw(st.sampled_from(lengths)), 0
    for horizon in (None, data.draw(st.none() | st.integers(1, 200))):
        drawn = data.draw(request_lists(config.logical_pages, length))
        requests = [(start_ns + request[0], *request[1:]) for request in drawn]
        start_ns = requests[-1][0]
        both.run(requests, data.draw(st.lists(st.integers(0, length), max_size=2)), horizon)
        both.check()


@pytest.mark.parametrize("rules", [tuple(RULES), (OUTSIDE,)], ids=["rules", "answers from outside"])
@pytest.mark.parametrize("timing", ["none", "event"])
@pytest.mark.parametrize("kind", KINDS)
@with_examples(thorough=750)
def test_engine__agrees_with_the_reference(
    kind: str, timing: str, rules: tuple[str, ...], examples: int
) -> None:
    explore(examples, lambda data: agrees(data, rules=rules, kind=kind, timing=timing))


@pytest.mark.parametrize("rules", [tuple(RULES), (OUTSIDE,)], ids=["rules", "answers from outside"])
@pytest.mark.parametrize("timing", ["none", "event"])
@pytest.mark.parametrize("kind", KINDS)
@with_examples(quick=20, thorough=500)
def test_engine__cells_wear_out__agrees_with_the_reference(
    kind: str, timing: str, rules: tuple[str, ...], examples: int
) -> None:
    explore(
        examples,
        lambda data: agrees(data, rules=rules, lengths=(300, 900), kind=kind, timing=timing, wears_out=True),
    )
