"""A feature of one's own is one decorated function, observed in single and vector environments."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ssdgym.envs import EraseVictimEnv, EraseVictimVectorEnv
from ssdgym.envs.features import feature, registry
from ssdgym.errors import SsdgymError
from ssdgym.types import Feature
from tests.engine.devices import device, full_device

#: What a test registers is gone after it.
pytestmark = pytest.mark.usefixtures("own_registrations")

ARGUMENTS = {
    "workload": "zipf80",
    "horizon": 300,
    "candidates": 5,
    "proposers": ("greedy", "fifo"),
    "ftl": {"timing": "none"},
}


def make(features: Any, **changes: Any) -> EraseVictimEnv:
    return EraseVictimEnv(device=full_device(), features=features, **{**ARGUMENTS, **changes})


def test_own_features__single_and_vector__the_same_values() -> None:
    @feature(high=1000)
    def block(view, candidate, decision):
        return candidate.block[0]

    @feature(high=1e9)
    def written(view, decision):
        return view.control[0].clock

    @feature(high=64)
    def planes(view):
        return view.params[0].planes

    names = ["block", "written", "planes", "gain"]
    env = make(names)
    vector = EraseVictimVectorEnv(2, device=full_device(), features=names, **ARGUMENTS)
    assert env.metadata["features"] == {"candidates": ("block", "gain"), "context": ("written", "planes")}
    observation, info = env.reset(seed=4)
    observations, infos = vector.reset(seed=4)
    for _ in range(30):
        for key, array in observation.items():
            np.testing.assert_array_equal(array, observations[key][0])
        valid = observation["action_mask"] != 0
        sets = env.episodes.view.sets[0]
        np.testing.assert_array_equal(observation["candidates"][valid, 0], sets[valid, 0]["block"])
        assert observation["context"][1] == len(env.episodes.state.plane[0])
        observation, _, _, _, info = env.step(info["proposed"][0])
        observations, _, _, _, infos = vector.step(infos["proposed"][:, 0])


def test_proposers__are_marked_in_columns_of_their_names() -> None:
    env = make(["gain", "proposed_by_fifo", "proposed_by_greedy"])
    assert env.metadata["features"]["candidates"] == ("gain", "proposed_by_fifo", "proposed_by_greedy")
    observation, info = env.reset(seed=0)
    for _ in range(30):
        greedy, fifo = info["proposed"]
        np.testing.assert_array_equal(np.flatnonzero(observation["candidates"][:, 1]), [fifo])
        np.testing.assert_array_equal(np.flatnonzero(observation["candidates"][:, 2]), [greedy])
        observation, _, _, _, info = env.step(fifo)


def test_update_rate__of_pages_written_more_often__is_higher() -> None:
    """One half of the pages is written ten times as often: blocks of it have the higher rate."""
    hot = {"kind": "hot_cold", "hot_fraction": 0.5, "hot_access": 0.95}
    env = make(["log_update_rate", "log_neighbour_rate"], workload=hot, horizon=2000, candidates="all")
    observation, info = env.reset(seed=0)
    for _ in range(100):
        observation, _, _, _, info = env.step(info["proposed"][0])
    valid = observation["action_mask"] != 0
    rates = observation["candidates"][valid]
    assert rates[:, 0].std() > 0.1
    assert np.corrcoef(rates.T)[0, 1] > 0.5


def _parts_of_features() -> list[str]:
    """Register what the features of blocks are made of; return the names."""

    @feature(high=1e9, samples_pages=True)
    def updates(view, candidate, decision):
        return candidate.updates

    @feature(high=1e9, samples_pages=True)
    def sampled(view, candidate, decision):
        return candidate.sampled

    @feature(high=1e9)
    def dead(view, candidate, decision):
        return candidate.invalid

    @feature(high=1e9)
    def alive(view, candidate, decision):
        return candidate.valid

    @feature(high=1e9)
    def since_invalidated(view, candidate, decision):
        return view.control[0].clock - candidate.invalidated_at

    @feature(high=1e9)
    def since_closed(view, candidate, decision):
        return view.control[0].clock - candidate.closed_at

    @feature(high=1e9)
    def clock(view, candidate, decision):
        return view.control[0].clock

    return ["updates", "sampled", "dead", "alive", "since_invalidated", "since_closed", "clock"]


def test_features_of_blocks__have_the_values_that_they_describe() -> None:
    """Their parts are observed beside them, as features of the test's own, and put together by NumPy."""
    ours = _parts_of_features()
    theirs = ["log_update_rate", "valid_fraction", "log_benefit", "log_age", "log_age_closed"]
    env = make(ours + theirs, candidates="all", workload="zipf99")
    observation, info = env.reset(seed=0)
    logical, few = env.episodes.devices[0].logical_pages, 0
    for _ in range(100):
        observation, _, _, _, info = env.step(info["proposed"][0])
        columns = observation["candidates"][observation["action_mask"] != 0].astype(np.float64).T
        updates, sampled, dead, alive, since_invalidated, since_closed, clock = columns[: len(ours)]
        rates = (updates / np.maximum(sampled, 1) + 0.5) / (clock / logical + 0.5)
        few += int((sampled == 1).sum())
        expected = [
            np.where(sampled > 0, np.log2(rates) / 2, 0).clip(-4, 4),
            2 * alive / (alive + dead) - 1,
            np.log2(np.maximum(dead, 0.5) / (alive + 0.5)) / 2 + 1,
            np.log2(100 * (since_invalidated + 1) / logical) / 2,
            np.log2(10 * (since_closed + 1) / logical) / 2,
        ]
        np.testing.assert_allclose(columns[len(ours) :], expected, rtol=1e-5, atol=1e-5)
    assert few > 0


def test_features_of_sub_blocks__of_runs_with_neighbours__have_the_values_that_they_describe() -> None:
    names = ["moves", "neighbour_moves", "gain", "share", "spent", "log_recycle_benefit"]
    shape = {"sub_blocks_per_block": 4, "layers_per_block": 8}
    runs = device(shape, erase_unit="sub_block_run", isolation="software")
    env = EraseVictimEnv(device=runs, features=names, **{**ARGUMENTS, "candidates": "all"})
    observation, _ = env.reset(seed=0)
    rng = np.random.default_rng(0)
    state, beside, empty = env.episodes.state, 0, 0
    params = state.params[0, 0]
    per_sub = int(params["pages_per_sub_block"])
    for _ in range(60):
        observation, *_ = env.step(rng.choice(np.flatnonzero(observation["action_mask"])))
        for candidate in np.flatnonzero(observation["action_mask"]):
            pair = env.episodes.view.sets[0, candidate, 0]
            block, mask = int(pair["block"]), int(pair["mask"])
            own = [s for s in range(4) if mask >> s & 1]
            near = {s for k in own for s in (k - 1, k + 1) if 0 <= s < 4} - set(own)
            subs = state.sub_block[0][4 * block : 4 * block + 4]
            written, dead = subs["written"].astype(int), subs["invalid"].astype(int)
            alive = written - dead
            moved, spent = alive[own].sum(), (dead[own] == per_sub).mean()
            neighbours = sum(alive[s] for s in near)
            copy, pages = int(params["copy_cost"]), int(params["pages_per_block"])
            cost = (moved + neighbours) * copy + int(params["erase_cost"])
            benefit = np.log2(max(dead[own].sum(), 0.5) * copy / max(cost, 1)) / 2 + 1
            expected = [
                moved / pages,
                neighbours / pages,
                dead[own].sum() / pages,
                len(own) / 4,
                spent,
                benefit,
            ]
            np.testing.assert_allclose(observation["candidates"][candidate], expected, rtol=1e-5, atol=1e-5)
            beside += int(neighbours > 0)
            empty += int((written[own] == 0).any())
    assert beside > 0 and empty > 0


def test_block_stream__of_the_first_stream_and_the_last__is_minus_one_and_one() -> None:
    env = make(["block_stream"], ftl={"timing": "none", "placement": "sep_gc"}, candidates="all")
    observation, info = env.reset(seed=0)
    seen: set[float] = set()
    for _ in range(20):
        observation, _, _, _, info = env.step(info["proposed"][0])
        seen.update(observation["candidates"][observation["action_mask"] != 0, 0].tolist())
    assert seen == {-1.0, 1.0}


def test_host_pages__of_all_decisions__are_those_of_the_episode() -> None:
    env = make("default")
    _, info = env.reset(seed=0)
    total, over = info["host_pages"], False
    while not over:
        _, _, _, over, info = env.step(info["proposed"][0])
        total += info["host_pages"]
    assert total == info["host_pages_written"] == 300


def test_elapsed__is_the_time_since_the_decision_before() -> None:
    env = make(
        ["log_benefit", "elapsed"],
        ftl={"timing": "event"},
        workload={"kind": "uniform", "interarrival_ns": 500_000.0},
    )
    observation, info = env.reset(seed=0)
    state, device = env.episodes.state, env.episodes.devices[0]
    move_ns = max(int(state.params["copy_cost"][0, 0]), 1)
    seen = []
    for _ in range(30):
        before = int(state.control["now"][0, 0])
        observation, _, _, _, info = env.step(info["proposed"][0])
        elapsed_ns = int(state.control["now"][0, 0]) - before
        moves = (elapsed_ns + 1) / (device.geometry.pages_per_block * move_ns)
        assert observation["context"][0] == pytest.approx(np.clip(2 * np.log2(moves), -8, 8), abs=1e-5)
        seen.append(elapsed_ns)
    assert len(set(seen)) > 5


def test_all__names_every_feature_once() -> None:
    names = make("all").metadata["features"]
    listed = [*names["candidates"], *names["context"]]
    assert len(set(listed)) == len(listed)
    others = ("stream", "page", "answer", "die", "way", "sector", "plan", "bundle")
    of_erases = {name for name, one in registry._FEATURES.items() if one.kind not in others}
    of_worn_cells = {"log_wear_gap"}
    assert of_erases == set(listed) - {"proposed_by_greedy", "proposed_by_fifo"} | of_worn_cells


def test_default_among_names__stands_for_all_of_them() -> None:
    default, more = (make(features).metadata["features"] for features in ("default", ["default", "gain"]))
    assert more["candidates"][: len(default["candidates"]) - 2] == default["candidates"][:-2]
    assert set(more["candidates"]) == {*default["candidates"], "gain"}


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (
            ["gane"],
            "feature 'gane' does not exist; take gain, import the module that registers it (--import), or "
            "choose one of `ssdgym list features`.",
        ),
        ("gain", "features must be 'default', 'all' or a list of names, not 'gain'."),
        ([3], "features must be 'default', 'all' or a list of names, not [3]."),
        (["free"], "features name none of candidates; give at least one, such as 'log_benefit'."),
        (["proposed_by_random"], "features name proposed_by_random, which is no proposer; there are greedy,"),
    ],
)
def test_features__that_do_not_exist__refused(features: Any, message: str) -> None:
    with pytest.raises(SsdgymError) as caught:
        make(features)
    assert str(caught.value).startswith(message)


def test_meaning__first_paragraph_of_the_docstring() -> None:
    @feature(unit="blocks", high=8)
    def blocks(view, candidate, decision):
        """Return the blocks of the set,
        open ones included.

        There is one at least.
        """
        return candidate.pairs

    (registered,) = registry.find_features(["blocks"])
    assert registered.feature == Feature(
        "blocks", "the blocks of the set, open ones included", "blocks", 0, 8
    )


def test_value_outside_its_bounds__named() -> None:
    @feature()
    def ten(view, candidate, decision):
        return 10.0 + candidate.invalid

    with pytest.raises(
        SsdgymError, match="feature ten has the value 1.*, outside its bounds 0 and 1; give it"
    ):
        make(["ten"]).reset(seed=0)


def test_value_that_is_no_number__named() -> None:
    @feature()
    def nothing(view, decision):
        return np.nan

    with pytest.raises(SsdgymError, match="feature nothing has the value nan, outside its bounds 0 and 1"):
        make(["gain", "nothing"]).reset(seed=0)


def test_index_out_of_range__named() -> None:
    @feature()
    def far(view, candidate, decision):
        return view.block[10**7].invalid

    with pytest.raises(SsdgymError, match=r"feature far failed: IndexError"):
        make(["far"]).reset(seed=0)


def test_function_that_changes_the_device__refused() -> None:
    @feature()
    def sly(view, candidate, decision):
        view.control[0].clock = 0
        return 0.0

    with pytest.raises(SsdgymError, match="feature sly cannot be compiled: a rule may not change the device"):
        make(["sly"])


def test_function_without_end__named() -> None:
    @feature()
    def endless(view, decision):
        k = 0
        while k >= 0:
            k ^= 1
        return 0.0

    with pytest.raises(SsdgymError, match="feature endless failed: EndlessLoop; correct it"):
        make(["gain", "endless"]).reset(seed=0)


def test_value_outside_its_bounds_in_a_step__the_environment_goes_on_after_a_reset_only() -> None:
    @feature()
    def early(view, decision):
        return 2.0 if view.control[0].rounds % 8 == 7 else 0.0

    env = make(["gain", "early"])
    _, info = env.reset(seed=0)
    with pytest.raises(SsdgymError, match="feature early has the value"):
        for _ in range(300):
            _, _, _, _, info = env.step(info["proposed"][0])
    with pytest.raises(SsdgymError, match="reset the environment"):
        env.step(0)
    env.reset(seed=0)


def test_function_that_does_not_compile__named() -> None:
    @feature()
    def wrong(view, candidate, decision):
        return candidate.colour

    with pytest.raises(
        SsdgymError,
        match=r"feature wrong cannot be compiled: .* is called with \(view, candidate, decision\)",
    ):
        make(["wrong"])


def test_name_of_another_module__refused() -> None:
    with pytest.raises(SsdgymError, match="feature gain is registered already by ssdgym.envs.features.cand"):

        @feature()
        def gain(view, candidate, decision):
            return 0.0


def test_arguments_of_no_kind__refused() -> None:
    with pytest.raises(SsdgymError, match=r"\(view, block\); name them \(view, candidate, decision\) or \("):

        @feature()
        def lost(view, block):
            return 0.0


def test_bounds_the_wrong_way_round__refused() -> None:
    with pytest.raises(SsdgymError, match="feature flat has the bounds 1.0 and 1.0; give low below high"):

        @feature(low=1.0, high=1.0)
        def flat(view, candidate, decision):
            return 0.0


def test_feature_of_an_installed_package__by_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "lab_features.py").write_text(
        "from ssdgym.envs.features import feature\n"
        "@feature(high=8)\n"
        "def pairs(view, candidate, decision):\n"
        "    return candidate.pairs\n"
    )
    info = tmp_path / "lab-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: lab\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[ssdgym.features]\npairs = lab_features\n")
    monkeypatch.syspath_prepend(tmp_path)
    observation, _ = make(["pairs"]).reset(seed=0)
    valid = observation["action_mask"] != 0
    assert (observation["candidates"][valid] == 1).all()
