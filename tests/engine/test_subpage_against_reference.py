"""The compiled sub-page FTLs and the naive reference agree on every subpage, counter and nanosecond."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import strategies as st

from tests.engine.comparing import explore, with_examples
from tests.engine.subpages import KINDS, Both, configs, request_lists
from tests.reference.subpage import SUBFTL

#: Victim rules that the family knows.
VICTIMS = ("greedy", "greedy", "fifo", "cost_benefit", "windowed_greedy(window=2)")


def agrees(data: st.DataObject, *, asks: bool = False, **fixed: Any) -> None:
    """One device, which is used, grows older, is used again up to some horizon, and grows older again."""
    config = data.draw(configs(**fixed))
    answers: dict[str, Any] = {}
    if asks:
        first, second = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 3))
        asked = data.draw(st.sampled_from([("to_region",), ("keeps",), ("to_region", "keeps")]))
        rules = {"to_region": lambda lpn: lpn % (first + 1) > 0, "keeps": lambda lpn: lpn % (second + 1) > 0}
        answers = {name: rules[name] for name in asked}
    both = Both(config, data.draw(st.sampled_from(VICTIMS)), **answers)
    length, start_ns = data.draw(st.sampled_from([30, 150])), 0
    for horizon in (None, data.draw(st.none() | st.integers(1, 200))):
        lists = request_lists(config.logical_pages, config.slots_per_page, start_ns, length)
        requests = data.draw(lists)
        start_ns = requests[-1][0]
        both.run(requests, data.draw(st.lists(st.integers(0, length), max_size=2)), horizon)
        both.check()
        both.pass_days(data.draw(st.sampled_from([1, 2, 17])))
        both.check()


@pytest.mark.parametrize("timing", ["none", "event"])
@pytest.mark.parametrize(
    ("kind", "asks"),
    [*((kind, False) for kind in KINDS), pytest.param(SUBFTL, True, id="answers from outside")],
)
@with_examples()
def test_engine__agrees_with_the_reference(kind: str, asks: bool, timing: str, examples: int) -> None:
    explore(examples, lambda data: agrees(data, asks=asks, kind=kind, timing=timing))
