"""Reads that have errors: what makes them more, what a retry costs, and what refresh wins and costs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ssdgym.config.device import DeviceConfig
from ssdgym.errors import SsdgymError
from ssdgym.requests import READ
from ssdgym.simulator import Recording, Simulator
from tests.engine.audit import NO_FAULT, first_fault
from tests.engine.devices import device, mixed_requests, random_writes, writes

ERRORS: dict[str, Any] = {
    "base": 5e-4,
    "wear": {"factor": 1e-6, "cycles": 1.0},
    "retention": {"factor": 1e-4, "cycles": 0.2, "time": 0.5},
    "disturb": {"factor": 1e-6, "cycles": 0.2, "reads": 1.0},
    "time_unit": "day",
    "reads_of": "block",
    "cycles_before": 100,
    "limits": [1e-3, 2e-3, 3e-3],
}
BOTH = pytest.mark.parametrize("timing", ["none", "event"])


def aging(timing: str = "none", ftl: dict[str, Any] | None = None, **errors: Any) -> DeviceConfig:
    return device(ftl={"timing": timing, **(ftl or {})}, bit_errors=ERRORS | errors)


def filled(config: DeviceConfig) -> Simulator:
    sim = Simulator(config, recording=Recording(1 << 12, 1))
    sim.fill()
    return sim


def reads(pages: Any) -> np.ndarray:
    return writes(pages, op=READ)


def max_rate(sim: Simulator) -> float:
    return float(sim.metrics()["max_bit_error_rate"])


def test_rate__grows_with_each_of_wear_time_and_reads() -> None:
    sim = filled(aging())
    rates = [max_rate(sim)]
    for days in (1, 10):
        sim.pass_days(days)
        rates.append(max_rate(sim))
    for _ in range(2):
        sim.run(reads([0] * 50))
        rates.append(max_rate(sim))
    worn = filled(aging(cycles_before=1000))
    assert rates == sorted(set(rates)) and max_rate(worn) > rates[0]


def test_rate__of_a_block_by_hand() -> None:
    """A fourth of a year, 20 reads and 100 cycles: of the block that holds page 0 and of no other."""
    sim = filled(aging())
    sim.pass_days(81)
    sim.run(reads([0] * 20))
    cycles = 100**0.2
    assert max_rate(sim) == pytest.approx(5e-4 + 1e-4 + 1e-4 * cycles * 9 + 1e-6 * cycles * 20)
    assert sim.metrics()["mean_bit_error_rate"] < max_rate(sim)


@BOTH
def test_no_cycles__no_days_and_no_reads__no_retries(timing: str) -> None:
    sim = filled(aging(timing, cycles_before=0, wear={"factor": 0.0, "cycles": 1.0}))
    metrics = sim.run(reads(range(sim.logical_pages)))
    assert metrics["flash_reads"] == sim.logical_pages
    assert metrics["read_retries"] == metrics["uncorrectable_reads"] == 0
    assert max_rate(sim) == 5e-4


@BOTH
@pytest.mark.parametrize(("base", "retries"), [(9e-4, 0), (1.5e-3, 1), (2.5e-3, 2), (3.5e-3, 2)])
def test_retries__by_the_limits__each_takes_as_long_as_a_read(timing: str, base: float, retries: int) -> None:
    sim = filled(aging(timing, base=base, cycles_before=0, wear={"factor": 0.0, "cycles": 1.0}))
    metrics = sim.run(reads([0, 0, 0]))
    assert metrics["read_retries"] == 3 * retries
    assert metrics["uncorrectable_reads"] == (3 if base > 3e-3 else 0)
    assert metrics["lost_pages"] == 0
    if timing == "event":
        timing_of = sim.device.timing
        each = timing_of.read_ns * (1 + retries) + sim.device.transfer_ns
        assert sim.now_ns == 3 * each and metrics["read_latency_ns"]["max"] == 3 * each


def test_retries__of_one_block__in_closed_form() -> None:
    """Without wear and time, read `r` of a block has the rate `base + factor * r`."""
    sim = filled(aging(cycles_before=1, wear={"factor": 0.0, "cycles": 1.0}))
    count = 3000
    metrics = sim.run(reads([0] * count))
    over = [sum(5e-4 + 1e-6 * r > limit for r in range(1, count + 1)) for limit in ERRORS["limits"]]
    assert over == [2500, 1500, 500]
    assert metrics["read_retries"] == pytest.approx(over[0] + over[1], abs=2)
    assert metrics["uncorrectable_reads"] == pytest.approx(over[2], abs=1)


@BOTH
def test_moves__take_longer_where_pages_are_retried(timing: str) -> None:
    times = []
    for base in (9e-4, 1.5e-3):
        errors = ERRORS | {"base": base, "cycles_before": 0, "wear": {"factor": 0.0, "cycles": 1.0}}
        sim = filled(device({"channels": 1}, {"timing": timing}, bit_errors=errors))
        metrics = sim.run(random_writes(600, sim.logical_pages))
        assert metrics["read_retries"] == (0 if base < 1e-3 else metrics["flash_reads"])
        times.append((metrics["relocated_pages"], metrics["gc_time_ns"]))
    (moved, fast), (moved_too, slow) = times
    assert moved == moved_too > 100
    if timing == "event":
        assert slow - fast == moved * sim.device.timing.read_ns


def lived(timing: str, refresh_above: float | None) -> dict[str, Any]:
    """Half a year in which little is written and all is read again and again."""
    sim = filled(
        aging(
            timing,
            retention={"factor": 2.5e-4, "cycles": 0.2, "time": 0.5},
            limits=[1e-3, 3e-3],
            refresh_above=refresh_above,
        )
    )
    for week in range(26):
        sim.pass_days(7)
        sim.run(mixed_requests(60, sim.logical_pages // 4, seed=week))
        sim.run(reads(range(sim.logical_pages)))
        assert first_fault(sim.arrays, 0) == NO_FAULT
    metrics = sim.metrics()
    assert metrics["lost_pages"] == 0
    return metrics


@BOTH
def test_refresh__lowers_uncorrectable_reads_and_costs_writes(timing: str) -> None:
    never, late, soon = (lived(timing, limit) for limit in (None, 2.5e-3, 1.5e-3))
    assert never["refreshes"] == never["refreshed_pages"] == 0 < late["refreshes"] < soon["refreshes"]
    assert never["uncorrectable_reads"] > late["uncorrectable_reads"] == soon["uncorrectable_reads"] == 0
    assert never["mean_bit_error_rate"] > late["mean_bit_error_rate"] > soon["mean_bit_error_rate"]
    assert never["write_amplification"] < late["write_amplification"] < soon["write_amplification"]
    assert soon["refreshed_pages"] <= soon["relocated_pages"]


@BOTH
def test_refresh__of_what_is_read_too_often(timing: str) -> None:
    sim = filled(aging(timing, refresh_above=1e-3, disturb={"factor": 1e-5, "cycles": 0.2, "reads": 1.0}))
    metrics = sim.run(reads([0] * 200))
    assert metrics["refreshes"] > 0 and metrics["lost_pages"] == 0
    assert max_rate(sim) < 2e-3


def test_refresh__where_wear_alone_is_above_the_limit__does_nothing() -> None:
    sim = filled(aging(cycles_before=2000, refresh_above=1e-3))
    sim.pass_days(30)
    metrics = sim.run(reads(range(sim.logical_pages)))
    assert metrics["refreshes"] == 0 < metrics["read_retries"]


def test_pass_days__in_time__moves_in_no_time_and_leaves_rounds_under_way() -> None:
    sim = filled(aging("event", refresh_above=1e-3))
    sim.run(mixed_requests(300, sim.logical_pages), host_pages=200)
    before = sim.now_ns
    sim.pass_days(60)
    assert sim.now_ns == before and sim.metrics()["refreshes"] > 0
    metrics = sim.run(mixed_requests(300, sim.logical_pages, seed=1))
    assert metrics["lost_pages"] == 0 and first_fault(sim.arrays, 0) == NO_FAULT


def test_life__begins_behind_preconditioning() -> None:
    sim = Simulator(aging(cycles_before=0))
    sim.precondition("uniform")
    assert sim.state.sub_block["erases"][0].max() > 1
    assert sim.metrics()["read_retries"] == 0 and max_rate(sim) == 5e-4


def test_snapshot__restores_ages() -> None:
    sim = filled(aging())
    sim.pass_days(50)
    saved, before = sim.snapshot(), max_rate(sim)
    sim.pass_days(50)
    assert max_rate(sim) > before
    sim.restore(saved)
    assert max_rate(sim) == before


def test_without_bit_errors__as_with_reads_that_never_have_any() -> None:
    """All else is as without them: only what counts errors differs."""
    requests = mixed_requests(2000, device().logical_pages)
    for timing in ("none", "event"):
        never = aging(timing, base=0.0, wear={"factor": 0.0, "cycles": 1.0}, cycles_before=0)
        sims = [Simulator(config) for config in (device(ftl={"timing": timing}), never)]
        plain, aged = (sim.run(requests) for sim in sims)
        assert {name: aged[name] for name in plain} == plain
        assert sims[0].state.physical.tobytes() == sims[1].state.physical.tobytes()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (
            {"ftl": {"placement": "hot_to_victims"}, "erase_unit": "sub_block_run"},
            "needs an ftl.placement in",
        ),
        ({"ftl": {"gc": {"copyback": True, "free_blocks": 2}}}, "needs ftl.gc.copyback false"),
    ],
)
def test_bit_errors__that_do_not_go_with_the_ftl__are_refused(change: dict[str, Any], reason: str) -> None:
    geometry = {"sub_blocks_per_block": 4} if "erase_unit" in change else {}
    with pytest.raises(SsdgymError, match=f"bit_errors {reason}"):
        Simulator(device(geometry, bit_errors=ERRORS, **change))


@pytest.mark.parametrize("base", ["subftl-tiny", "pen-tiny"])
def test_bit_errors__in_other_families__are_refused(base: str) -> None:
    with pytest.raises(SsdgymError, match=r"reads have no errors with ftl\.mapping .*; leave bit_errors out"):
        Simulator({"base": base, "bit_errors": ERRORS})


def test_days__more_than_can_be_counted__are_refused() -> None:
    sim = filled(aging())
    sim.arrays.aging["passed_ns"][0, 0] = 36_500 * 86_400 * 10**9
    with pytest.raises(SsdgymError, match="36500 days have passed, which is the most"):
        sim.pass_days(1)
