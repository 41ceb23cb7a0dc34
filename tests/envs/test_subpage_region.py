"""`ssdgym/SubpageRegion-v0`: what its docs promise beside the contract of all environments."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

from ssdgym.envs import EraseVictimEnv, SubpageRegionEnv, SubpageRegionVectorEnv
from ssdgym.envs.features import feature
from ssdgym.errors import SsdgymError
from ssdgym.requests import SYNC, WRITE
from tests.engine.devices import device, requests
from tests.envs import cases
from tests.envs.cases import always, play, proposal, valid
from tests.simulator.test_subpage import PAGE_NS, PROGRAM_NS, READ_NS, SUBPAGE_NS, SUBPROGRAM_NS, tiny

options = partial(cases.options, "SubpageRegion")


ERASE_NS = 5_000_000


@pytest.mark.parametrize("timing", ["none", "event"])
def test_flush__goes_where_it_is_said(timing: str) -> None:
    found = {}
    for answer in (0, 1):
        env = SubpageRegionEnv(**options(device=tiny(timing=timing), decides="flushes", workload="varmail"))
        found[answer] = play(env, 1, always(answer)).metrics
    assert found[0]["subpage_programs"] == 0 and found[0]["rmw_count"] > 200
    assert found[1]["subpage_programs"] > 200 and found[1]["request_waf"] < 2 < found[0]["request_waf"]


@pytest.mark.parametrize("timing", ["none", "event"])
def test_collected__is_kept_up_to_three_quarters_of_a_block_or_evicted(timing: str) -> None:
    found = {}
    for answer in (0, 1):
        model = tiny(timing=timing)
        env = SubpageRegionEnv(
            **options(device=model, decides="collected", workload="zipf99", horizon=3000, features="all")
        )
        observation, _ = env.reset(seed=1)
        kept = env.metadata["features"]["context"].index("collection_kept")
        over = False
        while not over:
            assert observation["context"][kept] < 1
            observation, _, _, over, info = env.step(answer)
        found[answer] = info["metrics"]
    assert found[0]["region_moves"] == 0 < found[0]["evictions"]
    collections = found[1]["region_collections"]
    assert 0 < found[1]["region_moves"] <= collections * 12  # of blocks of 16 pages


def test_proposed__the_region_for_all_that_leaves__and_what_was_updated_stays() -> None:
    env = SubpageRegionEnv(**options(horizon=1500, features="all"))
    observation, info = env.reset(seed=1)
    names = env.metadata["features"]
    asks, updated = (names["context"].index(name) for name in ("asks_collected", "sector_updated"))
    mark = names["candidates"].index("proposed_by_region_rule")
    seen, over = set(), False
    while not over:
        proposed = int(info["proposed"][0])
        expected = observation["context"][updated] if observation["context"][asks] else 1
        assert proposed == expected
        assert observation["candidates"][:, mark].tolist() == [proposed == 0, proposed == 1]
        seen.add((observation["context"][asks], proposed))
        observation, _, _, over, info = env.step(proposed)
    assert seen == {(0, 1), (1, 0), (1, 1)}


class Looked:
    """What a decision is about, from the arrays of the device."""

    def __init__(self, env: SubpageRegionEnv) -> None:
        state = env.episodes.state
        buffer, self.lpn = state.buffer[0, 0], int(state.control["decision_subject"][0, 0])
        self.collected = bool(buffer["collected_plane"] >= 0)
        first = self.lpn // 4 * 4
        leaving = 1 << (self.lpn - first) if self.collected else int(buffer["leaving"])
        self.asked = [first + s for s in range(4) if leaving >> s & 1]
        slots = {lpn: int(state.logical["ppn"][0, lpn]) for lpn in range(first, first + 4)}
        self.others = [slot // 4 for lpn, slot in slots.items() if slot >= 0 and lpn not in self.asked]
        own = [slots[self.lpn] // 4] if self.collected else []
        self.read = {*self.others, *own}
        in_region = state.region_block["in_region"][0]
        self.others_in_region = sum(int(in_region[page // 16]) for page in self.others)
        self.in_region = [slots[lpn] >= 0 and bool(in_region[slots[lpn] // 64]) for lpn in self.asked]
        self.updated = float(state.updated[0, self.lpn]) if self.collected else float(np.mean(self.in_region))
        self.writes = np.mean([state.logical["version"][0, k] + state.in_flight[0, k] for k in self.asked])
        self.mean_writes = state.control["clock"][0, 0] / state.params["logical_pages"][0, 0]
        self.small_bytes = int(state.tally["small_write_bytes"][0, 0])
        passes = state.region_block["passes"][0][in_region > 0].reshape(2, -1)  # by plane
        self.passes = 1 - passes.mean(axis=1) / 4


def test_columns__are_what_the_arrays_of_the_device_say() -> None:
    env = SubpageRegionEnv(**options(horizon=6000, features="all"))
    observation, _ = env.reset(seed=2)
    names, rng = env.metadata["features"], np.random.default_rng(1)
    checked = {False: 0, True: 0}
    leaves, before, over = 0, Looked(env).small_bytes, False
    while not over:
        seen = Looked(env)
        assert seen.small_bytes == before + leaves * 4096
        way = dict(zip(names["candidates"], observation["candidates"].T.astype(float), strict=True))
        data = dict(zip(names["context"], observation["context"].tolist(), strict=True))
        page_ns, part_ns = PAGE_NS + PROGRAM_NS, SUBPAGE_NS + SUBPROGRAM_NS
        move_ns = part_ns + SUBPAGE_NS + READ_NS
        region_ns = move_ns if seen.collected else len(seen.asked) * part_ns
        main_ns = len(seen.read) * (READ_NS + PAGE_NS) + page_ns
        assert way["way_time"] * PROGRAM_NS == pytest.approx([main_ns, region_ns], rel=1e-6)
        assert way["way_reads"].tolist() == [len(seen.read) / 4, seen.collected / 4]
        assert way["way_bytes"].tolist() == [1, len(seen.asked) / 4]
        assert data["asks_collected"] == seen.collected
        assert data["sector_leaving"] == (0 if seen.collected else len(seen.asked) / 4)
        assert data["sector_in_region"] == seen.others_in_region / 4
        assert data["sector_updated"] == pytest.approx(seen.updated)
        writes = np.log2((seen.writes + 1) / (seen.mean_writes + 1)) / 2
        assert data["sector_writes"] == pytest.approx(writes, abs=1e-5)
        assert np.abs(2 * seen.passes - 1 - data["region_passes"]).min() < 1e-6
        assert not seen.collected or seen.in_region == [True]
        checked[seen.collected] += 1
        leaves, before = (0 if seen.collected else len(seen.asked)), seen.small_bytes
        observation, _, _, over, _ = env.step(int(rng.integers(2)))
    assert min(checked.values()) > 200


@pytest.mark.usefixtures("own_registrations")
def test_own_features__of_the_places_and_of_the_data() -> None:
    @feature(high=1e6)
    def left(view, way, sector):
        return way.room

    @feature(high=1e6)
    def kept(view, sector):
        return sector.kept

    env = SubpageRegionEnv(**options(features=["default", "left", "kept"]))
    observation, _ = env.reset(seed=1)
    names = env.metadata["features"]
    assert (observation["candidates"][:, names["candidates"].index("left")] <= 16).all()
    assert names["context"][-1] == "kept"


@pytest.mark.parametrize("timing", ["none", "event"])
def test_return__of_each_term__is_what_the_metrics_say(timing: str) -> None:
    objective = {
        "flash_time": 1.0,
        "amplification": 0.0,
        "small_writes": 0.0,
        "relocations": 0.0,
        "wear": 0.0,
    }
    env = SubpageRegionEnv(
        **options(device=tiny(timing=timing), objective=objective, warmup=200, horizon=1500)
    )
    played = play(env, 4, valid(env, np.random.default_rng(0)))
    m, terms = played.metrics, played.terms
    flash_ns = (
        m["full_programs"] * (PAGE_NS + PROGRAM_NS)
        + m["subpage_programs"] * (SUBPAGE_NS + SUBPROGRAM_NS)
        + (m["flash_reads"] - m["advances"] - m["region_moves"]) * (READ_NS + PAGE_NS)
        + (m["advances"] + m["region_moves"]) * (READ_NS + SUBPAGE_NS)
        + m["erases"] * ERASE_NS
    )
    assert played.total == pytest.approx(terms["flash_time"]) == pytest.approx(-flash_ns / PROGRAM_NS)
    written = m["host_pages_written"]
    assert terms["amplification"] == pytest.approx(-(m["write_amplification"] - 1) * written / 4)
    assert terms["small_writes"] == pytest.approx(-m["small_flash_bytes"] / 16384)
    assert terms["relocations"] == pytest.approx(-m["relocated_pages"] / 64)
    assert terms["wear"] == -m["erases"] < 0


def test_default_reward__of_the_rule_by_itself__is_about_0_per_host_page() -> None:
    env = SubpageRegionEnv(device="subftl-tiny", workload="small_mixed", horizon=6000)
    rule, main = (play(env, 0, choose).total / 6000 for choose in (proposal(0), always(0)))
    assert abs(rule) < 0.01 < abs(main - rule)


def test_terms__of_this_family_on_others__and_the_reverse__refused() -> None:
    with pytest.raises(SsdgymError, match="flash_time counts 'full_programs'; devices of ftl.mapping page"):
        EraseVictimEnv(device=device(), objective={"flash_time": 1.0})
    with pytest.raises(SsdgymError, match=r"do not count for whom they program; choose flash_time"):
        SubpageRegionEnv(**options(objective={"energy": 1.0}))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"device": device()},
            "ftl.mapping page never waits for the decision of this environment",
        ),
        ({"device": tiny("cgm")}, "ftl.kind cgm decides nothing about a region of small writes"),
        ({"device": [tiny(), tiny("sector_log")]}, "ftl.kind sector_log decides nothing about a region"),
        ({"decides": "all"}, "decides must be one of flushes, collected, both, not 'all'"),
        ({"victims": "greedy+single"}, "give a compiled victim rule alone"),
        ({"features": ["log_benefit"]}, "features name log_benefit, a feature of a candidate"),
        (
            {"features": ["way_time", "utilisation"]},
            "name utilisation, which means nothing on devices",
        ),
        ({"features": ["sector_writes"]}, "give at least one, such as 'way_number'"),
        ({"features": ["proposed_by_greedy"]}, "which is no proposer; there are region_rule"),
    ],
    ids=str,
)
@pytest.mark.parametrize("make", [SubpageRegionEnv, SubpageRegionVectorEnv], ids=["single", "vector"])
def test_arguments__that_do_not_fit__said_so(make: Any, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(SsdgymError, match=message):
        make(**options(**changes))


def test_features__by_the_questions_that_are_asked() -> None:
    def context(**changes: Any) -> set[str]:
        return set(SubpageRegionEnv(**options(**changes)).metadata["features"]["context"])

    both, flushes, collected = context(), context(decides="flushes"), context(decides="collected")
    assert both - flushes == {"asks_collected", "collection_kept", "collection_left"}
    assert both - collected == {"asks_collected", "sector_leaving"}
    assert context(device=[tiny(), tiny(region_share=0.15)]) - both == {"log_region_pages"}


def test_render__says_what_is_chosen_and_the_amplification_in_bytes() -> None:
    env = SubpageRegionEnv(**options(render_mode="ansi"))
    env.reset(seed=1)
    for _ in range(50):
        env.step(0)
    lines = env.render().splitlines()
    ratio = env.metrics()["write_amplification"]
    assert lines[0].endswith(f"host pages written, write amplification {ratio:.3f}")
    assert lines[1] == "2 places offered for part of a page"


def test_sync_writes_of_an_array__are_asked_for_one_by_one() -> None:
    """Every part that leaves at once asks, and the horizon cuts none."""
    writes = requests(*((WRITE, 8 * k, 2, SYNC) for k in range(300)))
    env = SubpageRegionEnv(**options(workload=writes, horizon=101, decides="flushes"))
    played = play(env, 0, always(1))
    assert len(played.rewards) == 51 and played.metrics["host_pages_written"] == 102
