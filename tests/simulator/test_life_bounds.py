"""How long a device can live: what level wear reaches, what limits allow, and an oracle that has them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ssdgym.simulator import Simulator
from tests.engine.audit import NO_FAULT, first_fault

HOT: dict[str, Any] = {"kind": "hot_cold", "hot_fraction": 0.1, "hot_access": 0.9}
SPREADS = pytest.mark.parametrize("spread", [0.1, 0.2, 0.3])


def limits_of(sim: Simulator) -> np.ndarray:
    """The limits of the sub-blocks, which are blocks here."""
    endurance = sim.state.endurance[0]
    return (endurance["last"] - endurance["first"]).astype(np.int64)


def lived(policy: str, workload: Any, spread: float, seed: int = 1) -> Simulator:
    """A device of one plane of 256 blocks after its life."""
    endurance = {"mean": 100, "spread": spread}
    sim = Simulator(
        {
            "base": "lifetime-small",
            "cells": {"endurance": endurance},
            "ftl.timing": "none",
            "capacity.over_provisioning": 0.28,
        },
        policy=f"cost_benefit(since_close=1)+sep_gc+{policy}",
        seed=seed,
    )
    sim.fill()
    metrics = sim.run(workload, host_pages=4_000_000, seed=seed)
    assert metrics["end_of_life"] and metrics["lost_pages"] == 0
    return sim


def expected(sim: Simulator, erases: float) -> float:
    """Host pages that so many erases of blocks are worth by the write amplification of the run."""
    return erases * sim.device.geometry.pages_per_block / float(sim.metrics()["write_amplification"])


@SPREADS
@pytest.mark.parametrize("workload", ["uniform", HOT], ids=["uniform", "hot"])
def test_level_wear__dies_with_the_weakest_blocks_that_it_cannot_lose(workload: Any, spread: float) -> None:
    sim = lived("wear_threshold(threshold=4)", workload, spread)
    limits, valid = np.sort(limits_of(sim)), sim.logical_pages
    most_valid = int(sim.state.params["valid_limit"][0, 0])
    spare = (most_valid - valid) // sim.device.geometry.pages_per_block
    level = int(np.minimum(limits, limits[spare]).sum())
    assert sim.metrics()["lifetime"]["host_pages_written"] == pytest.approx(expected(sim, level), rel=0.03)


@SPREADS
@pytest.mark.parametrize("workload", ["zipf99", HOT], ids=["zipf", "hot"])
def test_known_limits__all_that_they_allow_is_written__where_data_rests(workload: Any, spread: float) -> None:
    sim = lived("known_limits", workload, spread)
    life, limits = sim.metrics()["lifetime"], limits_of(sim)
    assert expected(sim, limits.sum()) * 0.97 < life["host_pages_written"] <= expected(sim, limits.sum())
    assert life["endurance_used"] > 0.97
    assert first_fault(sim.arrays, 0) == NO_FAULT


def test_known_limits__without_a_spread__levels_as_the_most_worn_block_would() -> None:
    used = lived("known_limits", HOT, 0.0).metrics()["lifetime"]
    assert used["endurance_used"] > 0.97


def test_cells_that_do_not_wear_out__known_limits_levels_erases() -> None:
    spreads = []
    for rule in ("first_freed", "known_limits(threshold=8)"):
        sim = Simulator("demo", ftl={"timing": "none"}, policy=f"cost_benefit(since_close=1)+{rule}")
        sim.fill()
        spreads.append(sim.run(HOT | {"hot_access": 0.99}, host_pages=100_000, seed=1)["wear"]["std_erases"])
    assert spreads[1] < 0.5 * spreads[0]
