"""Orders of blocks by a rule's own key: the first is found again after any change."""

from __future__ import annotations

from importlib import import_module
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

PLANES, STREAMS = 2, 3


@pytest.mark.parametrize("blocks", [1, 2, 7, 16])
def test_first__after_any_changes__is_the_best_of_those_that_belong(
    blocks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Keys become better or worse, and blocks join and leave, several of them between two searches."""
    module = import_module("ssdgym.policy.block_order")
    monkeypatch.setattr(module, "kernel", lambda function: function)
    rng = np.random.default_rng(blocks)
    key, belongs = np.zeros(PLANES * blocks, int), np.zeros(PLANES * blocks, bool)

    def before(view: Any, a: int, b: int) -> bool:
        return (key[a], a) < (key[b], b)

    order = module.block_order("own", lambda view, block: belongs[block], before)
    view = SimpleNamespace(
        params=[SimpleNamespace(blocks=blocks, streams=STREAMS)],
        block=[SimpleNamespace(plane=block // blocks) for block in range(PLANES * blocks)],
        block_memory=np.zeros(PLANES * blocks, order.block),
        stream_memory=np.zeros(PLANES * STREAMS, order.stream),
    )
    for _ in range(400):
        for block in rng.integers(0, PLANES * blocks, rng.integers(1, 4)):
            key[block], belongs[block] = rng.integers(0, 5), rng.random() < 0.7
            order.touch(view, block)
        plane = int(rng.integers(0, PLANES))
        inside = [block for block in range(plane * blocks, (plane + 1) * blocks) if belongs[block]]
        assert order.first(view, plane) == min(inside, key=lambda block: (key[block], block), default=-1)
