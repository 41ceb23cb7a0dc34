"""`ssdgym/MergePlan-v0`: what its docs promise beside the contract of all environments."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

from ssdgym.engine.core.status import MERGE_DECISION
from ssdgym.envs import EraseVictimEnv, MergePlanEnv, MergePlanVectorEnv
from ssdgym.envs.features import feature
from ssdgym.errors import SsdgymError
from ssdgym.policy import available_policies, merge_policy, registry
from ssdgym.simulator import Recording, Simulator
from tests.engine.devices import device, differences, writes
from tests.envs import cases
from tests.envs.cases import always, any_valid, demo, play, playing, proposal, valid

options = partial(cases.options, "MergePlan")


#: Times of pen-demo, ns: array to register, a page and its spare area on the channel, program, erase.
READ_NS, PAGE_NS, SPARE_NS, PROGRAM_NS, ERASE_NS = 70_000, 40_960, 3_200, 900_000, 10_000_000
COPY_NS = READ_NS + 2 * PAGE_NS + PROGRAM_NS


def skewed_writes(seed: int, logical_pages: int, count: int = 1000) -> np.ndarray:
    """Writes of pages, most of them among a few."""
    rng = np.random.default_rng(seed)
    hot = rng.random(count) < 0.9
    return writes(np.where(hot, rng.integers(0, 200, count), rng.integers(0, logical_pages, count)))


def test_default__both_causes() -> None:
    env = MergePlanEnv()
    assert env.action_space.n == 7
    metrics = play(env, 0, proposal(0)).metrics
    assert metrics["full_jobs"] > 20 < metrics["pool_jobs"]


@pytest.mark.parametrize("kind", ["nftl", "superblock"])
def test_mask__what_is_allowed__and_of_equal_ones_the_first(kind: str) -> None:
    env = MergePlanEnv(**options(kind, horizon=2500))
    doubles, forbidden = 0, 0
    for observation in playing(env, 1, np.random.default_rng(0)):
        figures = env.episodes.state.figure[0][: env.action_space.n]
        first: dict[Any, int] = {}
        for k, figure in enumerate(figures):
            same = first.setdefault((k == 0, *figure.tolist()), k)
            assert observation["action_mask"][k] == (bool(figure["allowed"]) and same == k)
            doubles += bool(figure["allowed"]) and same < k
            forbidden += not figure["allowed"]
    assert forbidden > 10 and (kind == "superblock" or doubles > 10)


def test_equal_candidates__leave_the_same_device() -> None:
    """The engine takes the answers that are not offered, too."""
    compared = 0
    for seed in range(8):
        devices = []
        for last in (False, True):
            sim = Simulator(demo(), policy=None, seed=seed, recording=Recording(1, 1))
            sim.fill()
            sim.feed(skewed_writes(seed, sim.logical_pages))
            while sim.advance() == MERGE_DECISION:
                figures = sim.state.figure[0][:7]
                same = [k for k in range(1, 6) if figures[k]["allowed"] and figures[k] == figures[6]]
                compared += bool(same)
                sim.apply(6 if same and last else same[0] if same else 0)
            devices.append(sim.state)
        assert set(differences(devices[0], 0, devices[1], 0)) <= {"job.answer"}
    assert compared > 20


class Looked:
    """What a decision is about, from the arrays of the device."""

    def __init__(self, env: MergePlanEnv) -> None:
        state = env.episodes.state
        case, device = state.case[0, 0], env.episodes.devices[0]
        self.case = case
        self.figures = state.figure[0][: int(case["candidates"])].copy()
        slots, leaves = int(state.merging["slots"][0, 0]), device.geometry.sub_blocks_per_block
        first = int(case["bundle"]) * slots
        held = state.member[0, first : first + slots]
        erases = state.sub_block["erases"][0].reshape(-1, leaves)
        self.blocks = int((held >= 0).sum())
        self.erases = erases[held[held >= 0]]
        of_planes = erases[: device.geometry.planes * device.geometry.blocks_per_plane]
        self.of_plane = of_planes.reshape(device.geometry.planes, -1)[int(case["plane"])]


@pytest.mark.parametrize("kind", ["nftl", "superblock"])
def test_columns__are_what_the_arrays_of_the_device_say(kind: str) -> None:
    env = MergePlanEnv(**options(kind, horizon=2000, features="all", proposers=["mmerge", "merge"]))
    observation, info = env.reset(seed=2)
    names, rng, over = env.metadata["features"], np.random.default_rng(1), False
    causes = set()
    while not over:
        seen = Looked(env)
        offered = observation["action_mask"].astype(bool)
        rows, figures = observation["candidates"][offered].T.astype(float), seen.figures[offered]
        plan = dict(zip(names["candidates"], rows, strict=True))
        data = dict(zip(names["context"], observation["context"].tolist(), strict=True))
        cost, copies = figures["cost_ns"], figures["copies"]
        assert plan["plan_cost"] == pytest.approx(np.log2(cost / PROGRAM_NS), abs=1e-4)
        assert plan["plan_cost_ratio"] == pytest.approx(np.log2(cost / cost[0]), abs=1e-4)
        assert plan["plan_copies"] == pytest.approx(copies / 64)
        assert plan["plan_out_copies"] == pytest.approx(figures["out_copies"] / 64)
        assert plan["plan_erases"] == pytest.approx(np.log2(figures["erases"] + 1), abs=1e-4)
        assert plan["plan_erase_time"] == pytest.approx(np.log2(figures["erase_ns"] / ERASE_NS), abs=1e-4)
        assert plan["plan_restored"] == pytest.approx(np.log2(figures["restored"] + 1))
        assert plan["plan_at_tolerance"] == pytest.approx(np.log2(figures["at_tolerance"] + 1))
        numbers = np.flatnonzero(offered)
        assert plan["plan_is_merge"].tolist() == (numbers == 0).tolist()
        assert plan["plan_is_cheapest"].tolist() == (numbers == 6).tolist()
        assert plan["plan_depth"].tolist() == [(k - 1) / 4 if 0 < k < 6 else 0 for k in numbers]
        assert plan["proposed_by_mmerge"].tolist() == (numbers == info["proposed"][0]).tolist()
        case, pages = seen.case, seen.blocks * 64
        assert data["cause_pool"] == case["cause"]
        assert data["bundle_m_merges"] == pytest.approx(case["since_merge"] / 16)
        assert data["bundle_valid"] == pytest.approx(2 * case["valid"] / pages - 1)
        assert data["bundle_invalid"] == pytest.approx(case["invalid"] / pages)
        assert data["waiting_bundles"] == pytest.approx(np.log2(case["waiting"] + 1) / 16)
        assert data["free_blocks"] == pytest.approx(np.log2((case["free_blocks"] + 1) / 3))
        mean = seen.of_plane.mean() + 1
        assert data["bundle_wear"] == pytest.approx(np.log2((seen.erases.mean() + 1) / mean), abs=1e-5)
        assert data["bundle_wear_spread"] == pytest.approx(np.log2((seen.erases.std() + 1) / mean), abs=1e-5)
        assert data["plane_wear_spread"] == pytest.approx(np.log2((seen.of_plane.std() + 1) / mean), abs=1e-5)
        causes.add(data["cause_pool"])
        observation, _, _, over, info = env.step(any_valid(observation["action_mask"], rng))
    assert causes == {0, 1}


def test_horizon__the_decision_before_is_described_again() -> None:
    env = MergePlanEnv(**options())
    observation, _ = env.reset(seed=1)
    over = False
    while not over:
        before = observation
        observation, _, _, over, _ = env.step(0)
    for name in ("candidates", "action_mask"):
        np.testing.assert_array_equal(observation[name], before[name])


def test_horizon__nothing_planned_yet__a_merge_and_no_numbers() -> None:
    env = MergePlanEnv(**options(horizon=1, preconditioning="none"))
    observation, _ = env.reset(seed=1)
    assert env.episodes.over[0]
    assert observation["action_mask"].tolist() == [1, 0, 0, 0, 0, 0, 0]
    assert not observation["candidates"].any() and not observation["context"].any()


@pytest.mark.usefixtures("own_registrations")
def test_own_features__of_the_plans_and_of_the_bundle__see_the_device() -> None:
    @feature(high=1e6)
    def erased_first(view, plan, bundle):
        return plan.erases

    @feature(high=1e6)
    def worn(view, bundle):
        return view.sub_block[bundle.plane * view.params[0].blocks * view.params[0].sub_blocks].erases

    @feature(high=1e6)
    def streams(view, bundle):
        return view.stream[0].blocks

    env = MergePlanEnv(**options(features=["default", "erased_first", "worn"]))
    observation, _ = env.reset(seed=1)
    names = env.metadata["features"]
    assert (observation["candidates"][:2, names["candidates"].index("erased_first")] == 2).all()
    assert observation["context"][names["context"].index("worn")] > 0
    with pytest.raises(SsdgymError, match="feature streams failed"):
        MergePlanEnv(**options(features=["default", "streams"])).reset(seed=1)


@pytest.mark.parametrize("timing", ["none", "event"])
def test_return__of_each_term__is_what_the_metrics_say(timing: str) -> None:
    objective = {"merge_time": 1.0, "spoiled": 0.0, "relocations": 0.0, "wear": 0.0}
    model = demo(timing, **{"ftl.disturb_care": False, "ftl.disturb_tolerance": 0})
    env = MergePlanEnv(**options(device=model, objective=objective, warmup=200, horizon=1500))
    played = play(env, 4, valid(env, np.random.default_rng(0)))
    m, terms = played.metrics, played.terms
    ns = m["gc_spare_ns"] + m["gc_read_ns"] + m["gc_write_ns"] + m["gc_erase_ns"]
    copies_ns = m["relocated_pages"] * COPY_NS + m["spare_reads"] * (READ_NS + SPARE_NS)
    assert ns - copies_ns == pytest.approx(m["erases"] * ERASE_NS, rel=0.06)  # parts take a little less
    assert played.total == pytest.approx(terms["merge_time"]) == pytest.approx(-ns / PROGRAM_NS)
    assert terms["spoiled"] == -m["spoiled_pages"] < 0
    assert terms["relocations"] == pytest.approx(-m["relocated_pages"] / 64)
    assert terms["wear"] == pytest.approx(-m["erased_sub_blocks"] / 16)


def test_default_reward__of_mmerge_is_about_0_per_host_page__of_merges_alone_below() -> None:
    env = MergePlanEnv(ftl={"timing": "none"})
    mmerge, merge = (play(env, 0, choose).total / 8192 for choose in (proposal(0), always(0)))
    assert abs(mmerge) < 0.15 < mmerge - merge


def test_terms__of_this_family_on_others__refused() -> None:
    with pytest.raises(SsdgymError, match="merge_time counts 'gc_spare_ns'; devices of ftl.mapping page"):
        EraseVictimEnv(device=device(), objective={"merge_time": 1.0})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"device": device()}, "ftl.mapping page never waits for .*; choose one of mapping block"),
        ({"device": [demo(), "subftl-tiny"]}, "of ftl.mapping subpage never waits for the decision"),
        ({"proposers": "mmerge"}, "proposers must be a list of merge rules, not 'mmerge'"),
        ({"proposers": ["greedy"]}, "proposers name greedy; give compiled merge rules, such as 'mmerge'"),
        ({"features": ["log_benefit"]}, "features name log_benefit, a feature of a candidate"),
        ({"features": ["plan_cost", "open_room"]}, "name open_room, which means nothing on devices"),
        ({"features": ["plan_cost", "indexed"]}, "name indexed, which means nothing on devices"),
        ({"features": ["cause_pool"]}, "give at least one, such as 'plan_cost'"),
        ({"features": ["proposed_by_greedy"]}, "which is no proposer; there are mmerge"),
    ],
    ids=str,
)
@pytest.mark.parametrize("make", [MergePlanEnv, MergePlanVectorEnv], ids=["single", "vector"])
def test_arguments__that_do_not_fit__said_so(make: Any, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(SsdgymError, match=message):
        make(**options(**changes))


def test_proposers__a_pick_that_is_not_allowed__is_none() -> None:
    """A rule that would fail the device inside names nothing here."""
    env = MergePlanEnv(**options(device=demo(**{"ftl.gc.mmerge_limit": 0}), proposers=["last", "mmerge"]))
    _, info = env.reset(seed=1)
    assert info["proposed"] == [-1, 0]


@pytest.fixture(autouse=True)
def _last(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let there be a rule that takes the last candidate, whatever it is."""
    available_policies()
    monkeypatch.setattr(registry, "_RULES", dict(registry._RULES))
    merge_policy("last", source="a test")(lambda plans, case, parameters: case[0].candidates - 1)


def test_features__by_what_the_devices_have() -> None:
    def names(**changes: Any) -> set[str]:
        listed = MergePlanEnv(**options(**changes)).metadata["features"]
        return {*listed["candidates"], *listed["context"]}

    usual = names()
    endless = names(device=demo(**{"ftl.disturb_tolerance": None}))
    assert usual - endless == {"plan_restored", "plan_at_tolerance"}
    assert "bundle_levels" in names(kind="two devices") - usual
    assert names(kind="timed") - usual == {"elapsed"}


def test_render__says_what_is_chosen() -> None:
    env = MergePlanEnv(**options(render_mode="ansi"))
    observation, _ = env.reset(seed=1)
    lines = env.render().splitlines()
    assert lines[1] == f"{observation['action_mask'].sum()} plans offered for blocks to be merged"
