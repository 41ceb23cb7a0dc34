"""The compiled block FTLs and the naive reference agree on every page, counter and nanosecond."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import strategies as st

from tests.engine.blocks import KINDS, OUTSIDE, RULES, Both, configs
from tests.engine.comparing import explore, with_examples
from tests.engine.drawing import request_lists
from tests.reference.block.config import BlockConfig


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
@with_examples(quick=10, thorough=500)
def test_engine__cells_wear_out__agrees_with_the_reference(
    kind: str, timing: str, rules: tuple[str, ...], examples: int
) -> None:
    explore(
        examples,
        lambda data: agrees(data, rules=rules, lengths=(300, 900), kind=kind, timing=timing, wears_out=True),
    )


#: After the last of them the write of a page is overtaken, which leaves a transaction free for the next page;
#: then its die needs a merge.
OVERTAKEN = [
    *[(27, 100, 1, 1, 3, 1), (34, 113, 4, 1, 1, 3), (57, 124, 4, 1, 2, 3), (71, 99, 2, 1, 3, 0)],
    *[(86, 105, 2, 1, 3, 6), (88, 114, 1, 1, 0, 4), (103, 105, 3, 1, 0, 6), (110, 58, 1, 1, 2, 3)],
    *[(146, 110, 2, 1, 1, 0), (146, 125, 2, 1, 3, 4), (186, 100, 4, 1, 3, 1), (213, 121, 2, 1, 2, 0)],
    *[(250, 113, 1, 1, 3, 3), (272, 125, 2, 1, 1, 4), (311, 109, 4, 1, 0, 10), (315, 0, 1, 1, 2, 0)],
    *[(321, 115, 2, 1, 3, 5), (327, 88, 2, 1, 1, 0), (333, 118, 4, 1, 1, 8), (341, 108, 4, 1, 0, 9)],
    *[(350, 93, 4, 1, 3, 5), (371, 126, 1, 1, 3, 5), (381, 59, 2, 1, 3, 4), (415, 97, 3, 1, 3, 9)],
    *[(418, 101, 1, 1, 1, 2), (422, 0, 0, 3, 0), (423, 88, 2, 1, 2, 0), (425, 94, 3, 1, 2, 6)],
    *[(426, 0, 0, 3, 0), (430, 92, 4, 0, 3, 4), (431, 46, 3, 1, 1, 2), (435, 58, 2, 0, 3, 3)],
    *[(436, 115, 1, 0, 1, 5), (437, 48, 1, 2, 0, 4), (437, 0, 4, 1, 1, 0), (439, 124, 4, 1, 3, 3)],
]


def test_die_that_waited_for_an_answer__goes_on_before_a_page_is_admitted() -> None:
    config = BlockConfig(
        kind="superblock",
        logical_blocks=2,
        physical_blocks=3,
        free_share=0.0,
        mmerge_limit=100,
        disturb_care=False,
        channels=2,
        blocks_per_plane=12,
        pages_per_block=8,
        logical_pages=128,
        gc_priority="after_reads",
        timing="event",
        read_ns=1,
        program_ns=1,
        window_pages=5,
    )
    both = Both(config, OUTSIDE)
    both.run(OVERTAKEN, [], None)
    both.check()
