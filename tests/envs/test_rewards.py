"""The return of an episode is what its metrics say: exactly, for every term."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ssdgym.envs import EraseVictimEnv, EraseVictimVectorEnv, ParallelEraseVectorEnv
from ssdgym.envs.rewards import TERMS, reward_term
from ssdgym.errors import SsdgymError
from tests.engine.devices import device, full_device
from tests.envs.cases import first_valid, play, proposal, valid

WORKLOAD = {"kind": "zipf", "theta": 0.9, "read_fraction": 0.4, "interarrival_ns": 700.0}
HORIZON = 700
RUNS = {"geometry": {"planes_per_die": 2, "sub_blocks_per_block": 4}, "erase_unit": "sub_block_run"}
FTLS: dict[str, dict[str, Any]] = {
    "none": {"timing": "none"},
    "event": {"timing": "event"},
    "event, background": {"timing": "event", "gc": {"free_fraction": 0.15, "background_fraction": 0.2}},
}
#: Term -> the same from the metrics; a program takes 600 ns, a move 12 uJ, an erase of a block 20 uJ.
BY_METRICS = {
    "relocations": lambda m: -(m["write_amplification"] - 1) * HORIZON / 8,
    "wear": lambda m: -m["erased_sub_blocks"] / 4,
    "energy": lambda m: -m["gc_energy_uj"] / (12 * 8),
    "latency": lambda m: (
        -sum(m[name]["mean"] * m[name]["count"] for name in ("read_latency_ns", "write_latency_ns")) / 600
    ),
    "tail": lambda m: -m["slow_requests"],
}


def options(ftl: str, **changes: Any) -> dict[str, Any]:
    return {
        "device": full_device(**RUNS, ftl=FTLS[ftl]),
        "workload": WORKLOAD,
        "horizon": HORIZON,
        "candidates": 5,
        "proposers": ("greedy", "fifo"),
        "reward": "plain",
        **changes,
    }


@pytest.mark.parametrize("warmup", [0, 333])
@pytest.mark.parametrize("ftl", FTLS)
def test_return__of_each_term__is_exactly_what_the_metrics_say(ftl: str, warmup: int) -> None:
    """The part before the first decision and the one in which warmup ends included."""
    terms = [term for term in BY_METRICS if ftl != "none" or term not in ("latency", "tail")]
    env = EraseVictimEnv(**options(ftl, objective=dict.fromkeys(terms, 2.0), warmup=warmup))
    rng = np.random.default_rng(0)
    for seed in range(3):
        played = play(env, seed, valid(env, rng))
        assert list(played.terms) == terms
        for term in terms:
            expected = BY_METRICS[term](played.metrics)
            assert expected < 0
            assert played.terms[term] == pytest.approx(expected, rel=1e-12)
        assert played.total == pytest.approx(2.0 * sum(played.terms.values()), rel=1e-12)


def test_terms__are_those_with_a_metric_here() -> None:
    of_others = {"merge_time", "spoiled", "flash_time", "amplification", "small_writes"}
    assert set(BY_METRICS) | {"levelling"} == set(TERMS) - of_others


def test_reward__is_the_weighted_sum_of_the_terms() -> None:
    weights = {"relocations": 1.0, "wear": 0.25, "latency": -0.5}
    env = EraseVictimVectorEnv(3, **options("event", objective=weights))
    _, info = env.reset(seed=0)
    for _ in range(60):
        _, rewards, _, _, info = env.step(info["proposed"][:, 0])
        expected = sum(weight * info["terms"][term] for term, weight in weights.items())
        np.testing.assert_allclose(rewards, expected, rtol=1e-12)
        assert (info["terms"]["relocations"] <= 0).all()


@pytest.mark.parametrize("ftl", ["none", "event"])
def test_warmup__is_not_rewarded(ftl: str) -> None:
    """As long as no page counts as written in the measured part, nothing is rewarded."""
    played = play(EraseVictimEnv(**options(ftl, warmup=500)), 0, proposal(0))
    assert np.flatnonzero(played.rewards)[0] > 10
    assert played.total == pytest.approx(-played.metrics["relocated_pages"] / 8)
    assert played.metrics["host_pages_written"] == HORIZON


@pytest.mark.parametrize(
    ("objective", "message"),
    [
        ({}, "objective names no term; choose among relocations,"),
        ({"speed": 1.0}, "objective has the unknown term 'speed'; it may have relocations,"),
        ({"wear": "much"}, "objective.wear must be a number, not 'much'."),
        ({"wear": float("nan")}, "objective.wear must be a number, not nan."),
        ({"wear": True}, "objective.wear must be a number, not True."),
        ({"latency": 1.0}, "objective.latency needs time, but ftl.timing is none; set it to event."),
        ({"tail": 1.0}, "objective.tail needs time, but ftl.timing is none; set it to event."),
    ],
)
def test_objective__that_makes_no_sense__refused(objective: dict[str, Any], message: str) -> None:
    with pytest.raises(SsdgymError) as caught:
        EraseVictimEnv(device=device(), objective=objective)
    assert str(caught.value).startswith(message)


def test_term_of_ones_own__by_name_in_the_objective(own_registrations: None) -> None:
    @reward_term("rounds", "GC rounds, in tenths")
    def cost(device: Any) -> dict[str, float]:
        return {"gc_invocations": 0.1}

    env = EraseVictimEnv(**options("none", objective={"rounds": 1.0, "wear": 0.5}))
    played = play(env, 0, proposal(0))
    assert played.terms["rounds"] == pytest.approx(-0.1 * played.metrics["gc_invocations"], rel=1e-12)
    assert played.terms["rounds"] < 0


def test_term_of_an_installed_package__by_name_in_the_objective(
    own_registrations: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "lab_terms.py").write_text(
        "from ssdgym.envs.rewards import reward_term\n"
        "reward_term('idling', 'reads')(lambda device: {'host_reads': 1.0})\n"
    )
    info = tmp_path / "lab-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: lab\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[ssdgym.reward_terms]\nidling = lab_terms\n")
    monkeypatch.syspath_prepend(tmp_path)
    env = EraseVictimEnv(**options("none", objective={"idling": 1.0}))
    assert env.episodes.reward.objective == {"idling": 1.0}


def test_term_of_ones_own__of_a_name_that_is_taken__refused(own_registrations: None) -> None:
    with pytest.raises(
        SsdgymError, match="the reward term wear is registered already by ssdgym.envs.rewards.terms"
    ):
        reward_term("wear", "blocks erased")(lambda device: {"erases": 1.0})


def test_term_of_ones_own__of_what_is_not_counted__refused(own_registrations: None) -> None:
    reward_term("naps", "naps taken")(lambda device: {"naps": 1.0})
    said = "the reward term naps counts 'naps'; devices of ftl.mapping page count host_pages_written,"
    with pytest.raises(SsdgymError, match=said):
        EraseVictimEnv(**options("none", objective={"naps": 1.0}))


def test_energy__of_a_device_without_energy_values__is_zero() -> None:
    env = EraseVictimEnv(**options("none", device=device(energy={}), objective={"energy": 1.0}))
    env.reset(seed=0)
    assert env.step(np.flatnonzero(env.action_masks())[0])[1] == 0.0


def test_levelling__return_is_the_rise_of_the_squares() -> None:
    env = EraseVictimEnv(**options("none", objective={"levelling": 1.0}))
    env.reset(seed=0)
    erases = env.episodes.state.sub_block["erases"][0].astype(np.int64)
    before = (erases**2).sum()
    total = play(env, 0, first_valid(env)).total
    after = (env.episodes.state.sub_block["erases"][0].astype(np.int64) ** 2).sum()
    assert total == pytest.approx(-(after - before) / 4, rel=0.05)  # what came before the first decision


@pytest.mark.parametrize("vector", [EraseVictimVectorEnv, ParallelEraseVectorEnv])
@pytest.mark.parametrize("term", ["relocations", "wear", "levelling", "latency"])
def test_baseline__own_decisions__are_paid_nothing_on_average_and_of_size_one(vector: Any, term: str) -> None:
    env = vector(4, objective={term: 1.0}, reward={"baseline": "greedy"}, horizon=6000)
    rewards = paid(env, "greedy")
    assert abs(np.mean(rewards)) < 0.2
    size = np.abs(rewards).mean()
    assert size < 2.0


def paid(env: Any, proposer: str, decisions: int = 600) -> np.ndarray:
    """Return what the decisions of a proposer are paid."""
    j = list(env.episodes.options.proposers).index(proposer)
    _, info = env.reset(seed=0)
    rewards = []
    for _ in range(decisions):
        picks = info["proposed"][:, j]
        _, reward, _, _, info = env.step(np.where(picks >= 0, picks, info["proposed"][:, 0]))
        rewards.append(reward)
    return np.array(rewards)


def test_parallel_erase__by_default__pays_most_for_the_decisions_that_cost_the_host_least() -> None:
    """At greedy's price large sets are paid most: a decision of theirs wins more pages, each at a profit."""
    env = ParallelEraseVectorEnv(4, horizon=40_000)
    rewards = {name: paid(env, name, 1200) for name in ("cost_benefit", "ippbe(limit=4, tau=0.75)")}
    means = {name: found.mean() for name, found in rewards.items()}
    assert means["cost_benefit"] > means["ippbe(limit=4, tau=0.75)"] + 0.1
    assert abs(means["cost_benefit"]) < 0.1
    assert all(np.abs(found).mean() < 2.0 for found in rewards.values())


def test_baseline__return__ranks_policies_as_the_cost_does() -> None:
    found = []
    for reward in ("plain", {"baseline": "greedy"}):
        env = EraseVictimEnv(workload="hot90", ftl={"timing": "none"}, horizon=4000, reward=reward)
        found.append([play(env, 3, proposal(j)).total for j in range(3)])
    plain, centred = found
    assert np.argsort(plain).tolist() == np.argsort(centred).tolist()
    assert abs(centred[0]) < 0.1 * abs(plain[0]) < abs(plain[0])


@pytest.mark.parametrize("erase_unit", ["block", "sub_block_run"])
def test_price_and_unit__are_what_is_paid(erase_unit: str) -> None:
    """Where runs of sub-blocks are erased a page that the host writes stands for one that is won."""
    device = full_device(**{**RUNS, "erase_unit": erase_unit}, ftl=FTLS["none"])
    plain = EraseVictimEnv(**options("none", device=device))
    paid = EraseVictimEnv(**options("none", device=device, reward={"price": 0.5, "unit": 4.0}))
    plain.reset(seed=2)
    paid.reset(seed=2)
    before = np.array([0, 0])
    for _ in range(20):
        action = np.flatnonzero(plain.action_masks())[0]
        cost = -plain.step(action)[1]
        _, reward, *_ = paid.step(action)
        counter = paid.episodes.counter
        now = np.array([2 * counter("erased_sub_blocks")[0], counter("relocated_pages")[0]])
        if erase_unit != "block":
            now = np.array([counter("host_pages_written")[0], 0])
        if before.any():
            won = (now - before) @ [1, -1]
            assert reward == pytest.approx((0.5 * won - cost) / 4.0)
        before = now


@pytest.mark.parametrize(
    ("reward", "message"),
    [
        (
            "centred",
            "reward must be 'plain', {'baseline': policy, 'episode': number} or {'price'",
        ),
        ({"baseline": "gready"}, "policy gready does not exist"),
        ({"price": "much"}, "reward.price must be a number, not 'much'."),
        ({"unit": 0}, "reward.unit must be above 0, not 0.0."),
        ({"baseline": "greedy", "episode": 0}, "reward.episode must be above 0, not 0.0."),
        ({}, "reward must be 'plain'"),
    ],
)
def test_reward__that_makes_no_sense__refused(reward: Any, message: str) -> None:
    with pytest.raises(SsdgymError) as caught:
        EraseVictimEnv(device=device(), reward=reward)
    assert str(caught.value).startswith(message)


def test_reward__on_a_device_that_starts_empty__is_measured_once_it_is_full() -> None:
    common = {
        "device": full_device(),
        "workload": "uniform",
        "reward": {"baseline": "greedy", "episode": 100.0},
    }
    empty, full = (
        EraseVictimEnv(**common, preconditioning=how).episodes.scale_of(0, 0) for how in ("none", "uniform")
    )
    # Uniform writes of twice the pages have left some of them unwritten, which are not relocated.
    assert 0 < empty.price < full.price


def test_reward__by_the_episode__is_in_shares_of_what_the_baseline_pays() -> None:
    common = {
        "device": full_device(),
        "workload": "zipf99",
        "horizon": 4096,
        "proposers": ["greedy", "random"],
    }
    rounds, percent = (
        EraseVictimEnv(**common, reward={"baseline": "greedy", **by}) for by in ({}, {"episode": 100.0})
    )
    scales = [env.episodes.scale_of(0, 0) for env in (rounds, percent)]
    assert scales[0].price == scales[1].price
    assert scales[1].unit == pytest.approx(scales[1].price * 4096 / 100)
    greedy, random = (play(percent, 0, proposal(number)).total for number in (0, 1))
    assert random < -20 < greedy < 20
