"""`ssdgym/Placement-v0`: what its docs promise beside the contract of all environments."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

from ssdgym.envs import PlacementEnv, PlacementVectorEnv
from ssdgym.envs.features import feature
from ssdgym.errors import SsdgymError
from ssdgym.policy import tracker
from tests.engine.devices import device, writes
from tests.envs import cases
from tests.envs.cases import spacious

options = partial(cases.options, "Placement")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"pages": "all"}, "pages must be one of host, relocated, both, not 'all'"),
        ({"per": "block"}, "per must be one of page, request, not 'block'"),
        ({"streams": 17}, "streams must be None or a whole number from 1 to 16, not 17"),
        ({"streams": 1}, "streams = 1 are too few for the placement sep_gc, which has 2"),
        ({"proposers": "dac"}, "proposers must be a list of placements"),
        ({"proposers": ["greedy"]}, "proposers: greedy does not exist"),
        ({"proposers": ["page_history"]}, "proposers name page_history, which places nothing"),
        (
            {"proposers": ["hot_cold"], "ftl": {"placement": "hot_cold"}},
            "hot_cold, hot_cold have tables, and one can; leave the others out",
        ),
        ({"proposers": ["hotness_groups"]}, "proposers name hotness_groups, which names sub-blocks; let the"),
        ({"proposers": ["sepbit"]}, "streams = 4 are too few for the placement sepbit, which has 6"),
        ({"victims": "greedy+single"}, "give a compiled victim rule alone"),
        ({"features": ["log_benefit"]}, "features name log_benefit, a feature of a candidate"),
        ({"features": ["page_age"]}, "features name none of candidates"),
    ],
    ids=str,
)
def test_arguments__that_do_not_fit__said_so(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(SsdgymError, match=message):
        PlacementEnv(**options(**changes))


def test_placement_that_names_sub_blocks__for_whole_requests__refused() -> None:
    sub_blocks = {"sub_blocks_per_block": 4, "blocks_per_plane": 40, "pages_per_block": 8}
    model = device(sub_blocks, {"placement": "hot_to_victims"}, erase_unit="sub_block_run")
    with pytest.raises(SsdgymError, match="names a sub-block for each page; set per to 'page'"):
        PlacementEnv(**options(device=model, per="request"))


def test_devices_of_several_placements__each_proposes_its_own() -> None:
    models = [spacious(placement=name) for name in ("sep_gc", "dac")]
    vector = PlacementVectorEnv(2, **options(device=models, streams=None))
    assert vector.single_action_space.n == 6
    _, infos = vector.reset(seed=[5, 5])
    alone = PlacementEnv(**options(device=models[1], streams=None))
    _, info = alone.reset(seed=5)
    for _ in range(200):
        assert infos["proposed"][1, 0] == info["proposed"][0]
        _, _, _, _, infos = vector.step(infos["proposed"][:, 0])
        info = alone.step(info["proposed"][0])[4]


def test_page_features__of_a_page_written_and_moved() -> None:
    """One page among many that are written once, by hand."""
    names = ["stream_holds_page", "page_age", "page_interval", "page_updates", "page_moves", "page_stream"]
    model = spacious()
    rng = np.random.default_rng(0)
    pages = rng.integers(0, model.logical_pages, 4000)
    env = PlacementEnv(device=model, workload=writes(pages), horizon=3000, features=names, reward="plain")
    observation, _ = env.reset(seed=0)
    state, unit = env.episodes.state, model.logical_pages / 10
    written: dict[int, list[int]] = {}
    moved: dict[int, int] = {}
    checked = 0
    for _ in range(6000):
        control = state.control[0, 0]
        clock, subject = int(control["clock"]), int(control["decision_subject"])
        relocated = control["decision_kind"] == 2
        lpn = int(state.physical["lpn"][0, subject]) if relocated else subject
        age, interval, _updates, moves, _ = observation["context"]
        if len(written.get(lpn, [])) > 1:
            last, before = written[lpn][-1], written[lpn][-2]
            assert age == pytest.approx(np.log2((clock - last + 1) / unit) / 2, abs=1e-5)
            assert interval == pytest.approx(np.log2((last - before) / unit) / 2, abs=1e-5)
            assert moves == pytest.approx(np.log2(1 + moved[lpn]), abs=1e-5)
            checked += 1
        if relocated:
            moved[lpn] = moved.get(lpn, 0) + 1
        else:
            written.setdefault(lpn, []).append(clock + 1)
            moved[lpn] = 0
        observation, _, _, over, _info = env.step(rng.integers(4))
        if over:
            break
    assert checked > 1000


def test_page_block_age__of_a_page_in_no_block__is_the_age_of_the_device() -> None:
    names, model = ["stream_number", "page_block_age"], spacious()
    env = PlacementEnv(
        device=model, workload=writes(range(100)), horizon=50, features=names, preconditioning="none"
    )
    observation, _ = env.reset(seed=0)
    for clock in range(50):
        age = np.log2((clock + 1) / (model.logical_pages / 10)) / 2
        assert observation["context"] == pytest.approx([age], abs=1e-5)
        observation, *_ = env.step(0)


@pytest.mark.usefixtures("own_registrations")
def test_own_features__read_the_records_of_an_own_tracker() -> None:
    counts = tracker("counted_for_test", source="this test", page=[("writes", "i4")])

    @counts.on("written")
    def count(view, plane, lpn, old_page, page, parameters):
        view.page_memory[lpn].writes += 1

    @feature(high=1e6, tracker="counted_for_test")
    def writes(view, page):
        return view.page_memory[page.lpn].writes

    @feature(high=1e6)
    def valid_pages(view, stream, page):
        return stream.valid

    env = PlacementEnv(**options(features=["default", "writes", "valid_pages"], pages="host"))
    observation, _ = env.reset(seed=1)
    names = env.metadata["features"]
    place = names["context"].index("writes")
    for _ in range(100):
        lpn = int(env.episodes.state.control["decision_subject"][0, 0])
        assert observation["context"][place] == env.episodes.state.logical["version"][0, lpn]
        observation, *_ = env.step(0)
    assert observation["candidates"][:, names["candidates"].index("valid_pages")].sum() > 0
