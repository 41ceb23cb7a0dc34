"""Run the engine and the naive reference on one input, and compare everything."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

from ssdgym.simulator import Simulator
from ssdgym.simulator.preconditioning import precondition
from tests.engine.audit import NO_FAULT, first_fault
from tests.engine.drawing import configs, request_lists
from tests.engine.oracle import (
    IPPBE,
    POLICIES,
    RECORDING,
    SET_POLICIES,
    assert_same,
    device_config,
    run_in_pieces,
)
from tests.reference import Reference, ReferenceConfig
from tests.reference.page.audit import check, check_accounts
from tests.reference.page.preconditioning import until_gc, until_gc_greedy

#: By name, what the reference does.
PREPARATIONS = {"until_gc": until_gc, "until_gc_greedy": until_gc_greedy}
PHASES = (Phase.explicit, Phase.generate, Phase.shrink)
QUICK = settings(max_examples=50, phases=PHASES, deadline=None, suppress_health_check=list(HealthCheck))


def with_examples(quick: int = 12, thorough: int = 1500) -> pytest.MarkDecorator:
    """Run a test with a few `examples`, others each time, and among the slow tests with many."""
    efforts = [pytest.param(quick, id="quick"), pytest.param(thorough, id="thorough", marks=pytest.mark.slow)]
    return pytest.mark.parametrize("examples", efforts)


def explore(examples: int, check: Callable[[st.DataObject], None]) -> None:
    """Let a check draw what it is about, so many times."""
    settings(QUICK, max_examples=examples)(given(st.data())(check))()


def run_both(
    config: ReferenceConfig,
    label: str,
    requests: list[Any],
    chunks: list[int],
    horizon: int | None,
    prepare: str = "none",
) -> tuple[Simulator, Reference]:
    """The same input, in the same pieces, through both, after the same preconditioning."""
    sim = Simulator(device_config(config), policy=label, seed=config.seed, recording=RECORDING)
    rules = POLICIES | IPPBE | {name: rule for name, (_, rule) in SET_POLICIES.items()}
    reference = Reference(config, rules[label])
    if prepare != "none":
        seed = config.seed % 1000
        precondition(sim, prepare, "uniform", seed)
        PREPARATIONS[prepare](reference, seed)
    run_in_pieces(sim, reference, requests, chunks, horizon, lambda _, last: sim.advance(last=last))
    return sim, reference


def can_collect_everywhere(config: ReferenceConfig) -> bool:
    """Whether random writes reach every plane sooner or later."""
    return config.allocation != "static" or config.logical_pages >= config.planes


def agrees(policy: str, data: st.DataObject, prepare: str = "none", **fixed: Any) -> None:
    """One device, one input, to its end or horizon: everything the same in both."""
    config = data.draw(configs(**fixed))
    if prepare != "none":
        assume(can_collect_everywhere(config))
    requests = data.draw(request_lists(config.logical_pages, data.draw(st.sampled_from([40, 300]))))
    chunks = data.draw(st.lists(st.integers(0, len(requests)), max_size=2))
    horizon = data.draw(st.none() | st.integers(1, 200))
    sim, reference = run_both(config, policy, requests, chunks, horizon, prepare)
    assert_same(sim, reference)
    assert first_fault(sim.arrays, 0) == NO_FAULT
    check(reference)
    if prepare == "none":
        check_accounts(reference)
