"""The life of a device whose cells wear out: how long it is, how it ends, and that nothing is lost."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from ssdgym.config.device import DeviceConfig
from ssdgym.engine.core.records import RETIRED
from ssdgym.engine.core.status import END_OF_LIFE, ERASE_DECISION
from ssdgym.policy.registry import registered_rules
from ssdgym.simulator import Recording, Simulator
from ssdgym.simulator.cells import drawn_limits
from tests.engine.audit import NO_FAULT, first_fault
from tests.engine.devices import device, full_device, mixed_requests, random_writes

MORTAL = {"endurance": {"mean": 30, "spread": 0.2}}
VARIANT = {**MORTAL, "capacity": "variant"}
BOTH = pytest.mark.parametrize("timing", ["none", "event"])


def lived(config: DeviceConfig, policy: str = "greedy", seed: int = 0) -> tuple[Simulator, dict[str, Any]]:
    """A filled device after random writes to its end."""
    sim = Simulator(config, policy=policy, seed=seed, recording=Recording(1, 1))
    sim.fill()
    return sim, sim.run(random_writes(100_000, sim.logical_pages))


def test_equal_endurance__levelled_wear__the_host_writes_all_of_it_by_the_write_amplification() -> None:
    config = device(
        {"channels": 1, "blocks_per_plane": 64},
        {"placement": "single"},
        cells={"endurance": {"mean": 200}},
        over_provisioning=0.5,
    )
    sim, metrics = lived(config, "fifo")
    life, endured = metrics["lifetime"], 200 * config.geometry.physical_pages
    assert metrics["end_of_life"] and life["host_pages_written"] == metrics["host_pages_written"]
    assert life["host_pages_written"] == pytest.approx(endured / metrics["write_amplification"], rel=0.01)
    assert life["endurance_used"] == pytest.approx(1, abs=0.01)
    assert life["endurance_per_host_page"] == endured / life["host_pages_written"]
    assert life["max_erases"] == 200 and metrics["lost_pages"] == 0
    assert first_fault(sim.arrays, 0) == NO_FAULT


@BOTH
@pytest.mark.parametrize("cells", [MORTAL, VARIANT], ids=["fixed", "variant"])
def test_end_of_life__nothing_is_lost_and_nothing_goes_on(cells: dict[str, Any], timing: str) -> None:
    sim, metrics = lived(device(ftl={"timing": timing}, cells=cells))
    assert metrics["end_of_life"] and metrics["lost_pages"] == 0
    assert metrics["lifetime"]["retired_blocks"] == (sim.state.block["status"] & RETIRED != 0).sum() > 0
    assert first_fault(sim.arrays, 0) == NO_FAULT
    before = sim.snapshot()
    again = sim.run(random_writes(100, sim.logical_pages), host_pages=50)
    assert again["host_pages_written"] == metrics["host_pages_written"] and sim.advance() == END_OF_LIFE
    other = Simulator(sim.device, recording=Recording(1, 1))
    other.restore(before)
    assert other.metrics()["end_of_life"]


@BOTH
def test_variant_capacity__lives_longer_and_gives_up_the_last_pages(timing: str) -> None:
    (_, fixed), (sim, variant) = (
        lived(device(ftl={"timing": timing}, cells=cells)) for cells in (MORTAL, VARIANT)
    )
    left = variant["lifetime"]["logical_pages_left"]
    assert variant["lifetime"]["host_pages_written"] > fixed["lifetime"]["host_pages_written"]
    assert sim.logical_pages / 2 <= left < sim.logical_pages == fixed["lifetime"]["logical_pages_left"]
    blocks = sim.device.geometry.planes * sim.device.geometry.blocks_per_plane
    kept = 1 - variant["lifetime"]["retired_blocks"] / blocks
    assert left / sim.logical_pages <= kept + sim.device.geometry.planes / sim.logical_pages
    assert (sim.state.logical["ppn"][0, left:] == -1).all()
    assert (sim.state.logical["ppn"][0, :left] >= 0).mean() > 0.9


def test_variant_capacity__dynamic_allocation__keeps_every_page_until_a_block_is_lost() -> None:
    cells = {"endurance": {"mean": 30}, "capacity": "variant"}
    sim = Simulator(
        device({"planes_per_die": 2}, {"allocation": "dynamic"}, cells=cells), recording=Recording(1, 1)
    )
    life = sim.run(random_writes(5 * sim.logical_pages, sim.logical_pages))["lifetime"]
    assert life["max_erases"] > 0 == life["retired_blocks"]
    assert life["logical_pages_left"] == sim.logical_pages


#: What the placements are called whose memory rules use; others take any.
PLACEMENTS = {
    "chain": "midas",
    "future_benefit": "oracle_k",
    "rate_benefit": "oracle_rate",
}
SCATTER, MOST_STREAMS = ("hot_to_victims", "hotness_groups"), "hints_isolated"
#: Rules with which wear is levelled within few erases.
EAGER = {"progressive": "progressive(endurance=60)", "rejuvenator": "rejuvenator(tau=2)", "swl": "swl(k=1)"}


def every_policy() -> list[tuple[str, str]]:
    """Every rule, with the timing that it runs in; those that level wear beside others, by turns."""
    opening, levelling = (itertools.cycle(registered_rules(kind)) for kind in ("allocation", "levelling"))

    def levelled(policy: str) -> str:
        rule = next(levelling)
        return f"{policy}+{next(opening)}+{EAGER.get(rule, f'{rule}(threshold=2)')}"

    victims = [f"{rule}+{PLACEMENTS.get(rule, 'sep_gc')}" for rule in registered_rules("victim")]
    placements = set(registered_rules("placement")) - set(PLACEMENTS.values()) - {*SCATTER, MOST_STREAMS}
    return [
        *((policy, "none") for policy in [*victims, f"greedy+{MOST_STREAMS}"]),
        *((f"gsm+{rule}", "none") for rule in SCATTER),
        *((levelled(f"greedy+{rule}"), "none") for rule in sorted(placements)),
        *((levelled(f"cost_benefit+sep_gc+{rule}"), "event") for rule in registered_rules("idle")),
    ]


@pytest.mark.parametrize(("policy", "timing"), every_policy())
def test_every_policy__twenty_device_writes_after_the_first_retired_block(policy: str, timing: str) -> None:
    victims = policy.split("+")[0]
    scatters = policy.endswith(SCATTER)
    cells = VARIANT | {"endurance": {"mean": 60, "spread": 0.3}, "least_capacity": 0.2}
    config = device(
        {
            "planes_per_die": 2,
            "sub_blocks_per_block": 2,
            "blocks_per_plane": 96 if scatters else 48,
            "pages_per_block": 4,
        },
        {"timing": timing},
        cells=cells,
        erase_unit={"gsm": "sub_block_run", "pb": "sub_block_set"}.get(victims, "block"),
        multi_plane="relaxed" if victims == "parallel_gc" else "none",
        over_provisioning=1.5,
    )
    sim = Simulator(config, policy=policy, recording=Recording(1, 1))
    written, pages = 0, sim.logical_pages
    sim.run(np.concatenate([random_writes(pages, pages), mixed_requests(20 * pages, pages)]))
    while written < 20 and not sim.metrics()["end_of_life"]:
        retired = sim.metrics()["lifetime"]["retired_blocks"] > 0
        sim.run(mixed_requests(pages, pages, seed=written))
        written += retired
        assert first_fault(sim.arrays, 0) == NO_FAULT
    assert written == 20 and sim.metrics()["lost_pages"] == 0
    assert "threshold=" not in policy or sim.metrics()["levelling_rounds"] > 0


@BOTH
def test_caller_decides__to_the_end_of_life(timing: str) -> None:
    """A caller may choose what has no room: the block with most invalid pages stands for it."""
    sim = Simulator(full_device(ftl={"timing": timing}, cells=MORTAL), policy=None)
    rng = np.random.default_rng(0)
    sim.feed(random_writes(50_000, sim.logical_pages))
    while (kind := sim.advance()) == ERASE_DECISION:
        plane, blocks = int(sim.state.control["decision_plane"][0, 0]), sim.device.geometry.blocks_per_plane
        own = np.arange(plane * blocks, (plane + 1) * blocks)
        record = sim.state.block[0][own]
        legal = own[(record["status"] & 2 != 0) & (record["invalid"] > 0)]
        sim.apply(int(rng.choice(legal)))
    assert kind == END_OF_LIFE and sim.metrics()["lost_pages"] == 0
    assert first_fault(sim.arrays, 0) == NO_FAULT


def test_preconditioning__wears_nothing_out_and_another_seed_has_other_limits() -> None:
    config = device(cells={"endurance": {"mean": 4, "spread": 0.3}})
    states = []
    for seed in (1, 1, 2):
        sim = Simulator(config, seed=seed)
        sim.precondition("uniform")
        life = sim.metrics()["lifetime"]
        assert life["host_pages_written"] == life["pages_programmed"] == life["max_erases"] == 0
        assert sim.state.sub_block["erases"][0].max() > 4 and not sim.metrics()["end_of_life"]
        states.append((sim.state.endurance["last"] - sim.state.endurance["first"])[0].tolist())
    assert states[0] == states[1] != states[2]


def test_first_retirement__is_counted_from_the_end_of_preconditioning() -> None:
    sim = Simulator(device(cells={"endurance": {"mean": 4, "spread": 0.3}}), seed=1)
    sim.precondition("uniform")
    life = sim.metrics()["lifetime"]
    while life["retired_blocks"] == 0:
        sim.run(random_writes(1, sim.logical_pages, seed=life["host_pages_written"]))
        life = sim.metrics()["lifetime"]
    assert life["host_pages_written"] - life["host_pages_at_first_retirement"] in (0, 1)


def test_limits__have_the_mean_and_the_spread() -> None:
    cells = {"endurance": {"mean": 1000, "spread": 0.15}}
    limits = drawn_limits(device(cells=cells).cells.endurance, 7, 100_000)  # type: ignore[union-attr]
    assert limits.mean() == pytest.approx(1000, rel=0.005)
    assert limits.std() / limits.mean() == pytest.approx(0.15, rel=0.02)
