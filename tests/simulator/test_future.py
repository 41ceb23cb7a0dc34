"""The future of a run, and the placements that know it."""

from __future__ import annotations

import numpy as np
import pytest

from ssdgym.envs import EraseVictimEnv
from ssdgym.errors import SsdgymError
from ssdgym.requests import READ, REQUEST, TRIM, WRITE
from ssdgym.simulator import Simulator
from ssdgym.simulator.future import deaths_after, foresee, look_ahead
from tests.engine.devices import device, random_writes, requests, writes

DEVICE = device({"blocks_per_plane": 64}, {"timing": "none"})


def mixed(count: int, seed: int) -> np.ndarray:
    """Writes, reads and trims of up to three of 32 pages."""
    rng = np.random.default_rng(seed)
    made = np.zeros(count, REQUEST)
    made["op"] = rng.choice([READ, WRITE, TRIM], count, p=[0.2, 0.7, 0.1])
    made["lpn"], made["pages"] = rng.integers(0, 30, count), rng.integers(1, 4, count)
    return made


def test_foresee__data_dies_when_its_page_is_written_again_or_trimmed() -> None:
    first = requests((WRITE, 0, 2), (READ, 1, 1), (WRITE, 0, 1))
    second = requests((TRIM, 1, 2), (WRITE, 0, 1), (WRITE, 1, 1))
    future = foresee([first, second], 4, clock=10)
    # The clock at each write: 0 and 1 at 10 and 11, 0 at 12, then 0 at 13 and 1 at 14; the trim is at 13.
    end = 10 + 5 + 4 * 4
    assert future.start == 10
    assert future.deaths.tolist() == [12, 13, 13, end, end]
    assert future.first.tolist() == [10, 11, 13, end]
    assert future.writes.tolist() == [3, 2, 0, 0]


def test_foresee__against_a_search_from_each_write_on() -> None:
    given = mixed(300, seed=5)
    future = foresee([given[:100], given[100:]], 40, clock=0)
    events = [(int(r["lpn"]) + k, int(r["op"])) for r in given for k in range(r["pages"]) if r["op"] != READ]
    clock, times = 0, []
    for _, op in events:
        times.append(clock)
        clock += op == WRITE
    deaths = []
    for k, (lpn, op) in enumerate(events):
        later = [times[j] for j in range(k + 1, len(events)) if events[j][0] == lpn]
        if op == WRITE:
            deaths.append(later[0] if later else clock + 4 * 40)
    assert future.deaths.tolist() == deaths


def test_deaths_after__are_what_foresee_says_of_the_pages_that_the_host_writes() -> None:
    given = mixed(400, seed=6)
    future = foresee([given], 40, clock=7)
    written = given[given["op"] == WRITE]
    lpn = np.concatenate([np.arange(r["lpn"], r["lpn"] + r["pages"]) for r in written]).astype(np.int64)
    clock = 7 + np.arange(len(lpn))
    deaths = deaths_after([given], 7, lpn, clock, np.ones(len(lpn), bool))
    seen = deaths < 2**62
    assert 300 < seen.sum() < len(lpn)
    assert np.array_equal(deaths[seen], future.deaths[seen])
    assert (future.deaths[~seen] == 7 + len(lpn) + 4 * 40).all()


def test_deaths_after__of_a_page_that_is_relocated_as_the_host_writes_it__are_that_write() -> None:
    given = writes([3, 3, 4])
    lpn, clock = np.array([3, 3, 4, 5]), np.array([11, 12, 10, 10])
    deaths = deaths_after([given], 10, lpn, clock, np.zeros(4, bool))
    assert deaths.tolist() == [11, 2**62, 12, 2**62]


def test_look_ahead__stops_four_logical_spaces_behind_the_run() -> None:
    endless = (random_writes(10, 20) for _ in iter(int, 1))
    drawn = look_ahead(endless, 50, 20)
    written = sum(int(chunk["pages"].sum()) for chunk in drawn)
    assert 50 + 80 <= written < 50 + 80 + 40
    assert next(endless) is not None


def test_oracle__nearly_no_relocations_where_all_deaths_are_known() -> None:
    rates = {}
    for policy in ("greedy+single", "cost_benefit+sep_gc", "future_benefit+oracle_k"):
        sim = Simulator(
            device({"blocks_per_plane": 128, "pages_per_block": 32}, {"timing": "none"}), policy=policy
        )
        sim.fill()
        pages = sim.logical_pages
        rates[policy] = sim.run("zipf99", warmup=3 * pages, host_pages=3 * pages, seed=2)[
            "write_amplification"
        ]
    assert rates["future_benefit+oracle_k"] < 0.7 * rates["cost_benefit+sep_gc"] < rates["greedy+single"]


def test_oracle__after_a_run_is_over__knows_nothing_of_what_follows() -> None:
    sims = [Simulator(DEVICE, policy="cost_benefit+oracle_k") for _ in range(2)]
    requests = random_writes(3000, sims[0].logical_pages)
    for sim in sims:
        sim.fill()
        sim.run(requests[:2000])
    sims[0].feed(requests[2000:])
    sims[0].advance()
    sims[1].run(requests[2000:])
    relocated = [sim.metrics()["relocated_pages"] for sim in sims]
    assert relocated[0] > relocated[1]


@pytest.mark.parametrize("placement", ["oracle_k", "oracle_rate"])
def test_oracle__in_time_or_in_an_environment__refused(placement: str) -> None:
    sim = Simulator(DEVICE, ftl={"timing": "event"}, policy=f"greedy+{placement}")
    with pytest.raises(SsdgymError, match=f"{placement} uses the future, which is known in untimed"):
        sim.run(random_writes(10, sim.logical_pages))
    with pytest.raises(SsdgymError, match=f"{placement} uses the future, which environments do not"):
        EraseVictimEnv(device={"base": "tiny", "ftl.placement": placement, "ftl.timing": "none"})


def test_future_benefit__without_its_placement__refused() -> None:
    with pytest.raises(SsdgymError, match="future_benefit uses the memory of the placement oracle_k"):
        Simulator(DEVICE, policy="future_benefit+sepbit")
