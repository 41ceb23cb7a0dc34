"""`ssdgym/BackgroundGC-v0`: rules played through it, and what its docs promise beside the contract."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from ssdgym.envs import BackgroundGCEnv
from ssdgym.errors import SsdgymError
from tests.engine.devices import device, differences
from tests.envs import cases
from tests.envs.cases import BURSTS, compiled_run, idle_device, play, proposal

options = partial(cases.options, "BackgroundGC")
#: What a device notes of the questions it is asked outside; nothing follows from it.
ASKED = {"control.decision_kind", "control.decision_subject"}


@pytest.mark.parametrize("preemptible", [False, True])
@pytest.mark.parametrize("idle", ["blocking", "threshold(blocks=6)"])
def test_idle_rule__played_by_its_proposals__leaves_the_device_that_it_leaves(
    idle: str, preemptible: bool
) -> None:
    arguments = options(device=idle_device(preemptible, idle), horizon=700, warmup=100, reward="plain")
    env = BackgroundGCEnv(**arguments)
    play(env, 11, proposal(0))
    sim = compiled_run(env.episodes.devices[0], "greedy", BURSTS, 11, 700, 100)
    assert sim.metrics()["relocated_pages"] > 50
    assert set(differences(env.episodes.state, 0, sim.state, 0)) <= ASKED


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"ftl": {"timing": "none"}}, "has no idle time; set ftl.timing to event"),
        ({"device": idle_device(idle="oracle_gap")}, "oracle_gap uses the future"),
        ({"victims": "greedy+single"}, "give a compiled victim rule alone"),
        ({"victims": "greedy+threshold"}, "give a compiled victim rule alone"),
        ({"features": ["log_benefit"]}, "features name log_benefit, a feature of a candidate"),
        ({"features": ["idle_room"]}, "give at least one, such as 'answer_number'"),
    ],
    ids=str,
)
def test_arguments__that_do_not_fit__said_so(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(SsdgymError, match=message):
        BackgroundGCEnv(**options(**changes))


def test_background_share__proposed_as_a_threshold() -> None:
    model = device({}, {"timing": "event", "gc": {"free_blocks": 2, "background_fraction": 0.2}})
    env = BackgroundGCEnv(device=model, workload=BURSTS, horizon=100)
    env.reset(seed=0)
    assert env.episodes.devices[0].ftl.gc.idle == "threshold(blocks=4, share=0.2)"


def test_future__is_not_told() -> None:
    env = BackgroundGCEnv(**options())
    env.reset(seed=0)
    for _ in range(20):
        env.step(1)
    assert env.episodes.state.control["next_arrival_ns"][0, 0] == 0
