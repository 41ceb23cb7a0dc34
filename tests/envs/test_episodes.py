"""Episodes: what they are made of, what is refused, and where several workloads or devices are given."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ssdgym.config.device import DeviceConfig
from ssdgym.engine.core.status import ERASE_DECISION, HORIZON
from ssdgym.envs.episodes import Episodes
from ssdgym.envs.erase_victim import DEFAULT_PROPOSERS, EraseVictimOptions
from ssdgym.errors import SsdgymError
from ssdgym.policy import available_policies
from tests.engine.devices import device, differences, full_device

SMALL = full_device()


def episodes(count: int = 1, **changes: Any) -> Episodes:
    return Episodes(
        EraseVictimOptions(
            **{"device": SMALL, "workload": "zipf80", "horizon": 300, "candidates": 6, **changes}
        ),
        count,
    )


def take(batch: Episodes, actions: np.ndarray) -> None:
    """Step all devices."""
    batch.actions[:] = actions
    batch.step(batch.all)


def greedy_actions(batch: Episodes) -> np.ndarray:
    return np.where(batch.view.proposed[:, 0] >= 0, batch.view.proposed[:, 0], 0).astype(np.int64)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"horizon": 0}, "horizon must be a whole number of host pages from 1 up, not 0."),
        ({"horizon": 1.5}, "horizon must be a whole number of host pages from 1 up, not 1.5."),
        ({"horizon": True}, "horizon must be a whole number of host pages from 1 up, not True."),
        ({"warmup": -1}, "warmup must be a whole number of host pages from 0 up, not -1."),
        ({"candidates": 5}, "candidates must be from 6 (one for each proposer) to 4096, not 5."),
        ({"candidates": 5000}, "candidates must be from 6 (one for each proposer) to 4096, not 5000."),
        ({"candidates": "many"}, "candidates must be a number or 'all', not 'many'."),
        ({"proposers": ()}, "proposers must name at least one policy."),
        ({"proposers": ("gredy",)}, "policy gredy does not exist; did you mean greedy?"),
        (
            {"proposers": ("mmerge",)},
            "policy mmerge is a merge rule, and a victim rule is needed",
        ),
        ({"at_end": "stop"}, "at_end must be wrap or truncate, not 'stop'."),
        (
            {"preconditioning": "until_gc"},
            "preconditioning until_gc needs a measured policy; take until_gc_greedy.",
        ),
        (
            {"preconditioning": "old"},
            "preconditioning: field kind must be 'none', 'fill', 'workload', 'uniform'",
        ),
        ({"size_to_trace": True}, "size_to_trace needs a trace with compact addresses among the workloads"),
        ({"workload": []}, "workload names none; give at least one."),
        ({"workload": {"kind": "uniform", "read_fraction": 1.0}}, "workload uniform writes nothing"),
        ({"device": "demos"}, "there is no device named 'demos' in configs/devices"),
    ],
)
def test_options__that_make_no_sense__refused_in_one_sentence(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(SsdgymError) as caught:
        episodes(**changes)
    text = str(caught.value)
    assert text.startswith(message)
    assert text.endswith((".", "?")) and "\n" not in text


def test_candidates_all__too_many_to_list__refused() -> None:
    runs = device({"blocks_per_plane": 700, "sub_blocks_per_block": 4}, erase_unit="sub_block_run")
    with pytest.raises(
        SsdgymError, match=r"would list 7000 erase sets of a plane; at most 4096 are possible"
    ):
        episodes(device=runs, candidates="all")


def test_defaults__propose_every_policy_that_picks_one_block_on_any_device() -> None:
    asked = {
        name: (policy.main.erase_unit, policy.main.multi_plane, policy.beside.get("placement"))
        for name, policy in available_policies().items()
        if not policy.victim.shares_memory_with
    }
    anywhere = {name for name, asks in asked.items() if asks == (None, None, None)}
    assert {*DEFAULT_PROPOSERS, "ippbe"} == anywhere


HALVES = device({"sub_blocks_per_block": 2})
RUNS = device(
    {"blocks_per_plane": 32, "sub_blocks_per_block": 4}, {"placement": "single"}, erase_unit="sub_block_run"
)


@pytest.mark.parametrize(
    ("config", "proposer", "reason"),
    [
        (
            HALVES,
            "gsm",
            "proposers name gsm, which needs erase_unit sub_block_run, and device small has block; choose "
            "another proposer, or a device or ftl that has it.",
        ),
        (
            HALVES,
            "greedy+single",
            "proposers name greedy+single, which needs ftl.placement single, and device ",
        ),
        (HALVES, "d_choices(d=5)+single", "; choose d_choices(d=5), or a device or ftl that has it."),
        (
            RUNS,
            "baseline",
            "proposers name baseline, which needs erase_unit block, and device small has sub_block_run; "
            "choose greedy, or a device or ftl that has it.",
        ),
        (RUNS, "gsm+sep_gc", "needs ftl.placement sep_gc, and device small has single; choose gsm, or a "),
        (
            device({"planes_per_die": 2}),
            "ippbe_multiplane",
            "relaxed, and device small has none; choose ippbe(limit=2, tau=0.4, together=0), or a "
            "device or ftl that ",
        ),
        (
            device({"planes_per_die": 2}),
            "parallel_gc",
            "and device small has none; choose another proposer, ",
        ),
        (SMALL, "pb", "policy pb erases sub-blocks, and device small has one per block"),
    ],
)
def test_proposers__that_need_another_device__refused(
    config: DeviceConfig, proposer: str, reason: str
) -> None:
    with pytest.raises(SsdgymError) as caught:
        episodes(device=config, proposers=("greedy", proposer))
    assert reason in str(caught.value)


def test_proposers__of_the_device_s_own_erase_unit_and_placement__propose() -> None:
    batch = episodes(device=RUNS, proposers=("greedy+single", "gsm"), candidates=4)
    batch.start([0], [1])
    assert (batch.view.proposed[0] >= 0).all()


def test_start__only_some_devices__leaves_the_others_alone() -> None:
    batch, untouched = episodes(3), episodes(3)
    for both in (batch, untouched):
        both.start([0, 1, 2], [1, 2, 3])
        take(both, greedy_actions(both))
    batch.start([1], [9])
    for i in (0, 2):
        assert differences(batch.state, i, untouched.state, i) == []
        np.testing.assert_array_equal(batch.view.features[i], untouched.view.features[i])
    assert differences(batch.state, 1, untouched.state, 1) != []
    assert batch.seeds.tolist() == [1, 9, 3]


@pytest.mark.parametrize(
    ("preconditioning", "share"),
    [("none", 0.1), ("fill(share=0.5)", 0.5), ({"kind": "fill", "share": 0.5}, 0.5), ("uniform", 1.0)],
)
def test_preconditioning__is_of_the_kind_and_share_asked_for(preconditioning: Any, share: float) -> None:
    tenth = {"kind": "sequential", "footprint": 0.1}
    batch = episodes(workload=tenth, preconditioning=preconditioning, horizon=40_000)
    batch.start([0], [1])
    mapped = batch.state.logical[0]["ppn"] >= 0
    assert np.flatnonzero(mapped).tolist() == list(range(round(share * len(mapped))))


def test_preconditioning__of_a_scale_is_that_of_the_devices() -> None:
    settings = {"reward": {"baseline": "greedy"}, "horizon": 300}
    filled, steady = (episodes(preconditioning=kind, **settings) for kind in ("fill(share=0.5)", "workload"))
    scales = []
    for batch in (filled, steady):
        batch.start([0], [1])
        scales.append(batch.scale_of(0, 0))
    assert scales[0] != scales[1]


def test_scale__of_devices_that_differ__is_measured_on_each_of_them() -> None:
    settings = {"reward": {"baseline": "greedy"}, "horizon": 300}
    devices = [SMALL, device(logical_pages=round(0.7 * SMALL.logical_pages))]
    alone = [episodes(device=one, **settings).scale_of(0, 0) for one in devices]
    assert alone[0] != alone[1]
    together = episodes(3, device=devices, **settings)
    assert [together.scale_of(i, 0) for i in range(3)] == [*alone, alone[0]]


def test_step__devices_whose_episode_is_over__stand_still() -> None:
    batch = episodes(2, horizon=60)
    batch.start([0, 1], [1, 2])
    while not batch.over.all():
        stopped = [i for i in range(2) if batch.over[i]]
        before = batch.state.logical.copy()
        take(batch, np.where(batch.over, np.argmax(batch.view.mask, axis=1), greedy_actions(batch)))
        for i in stopped:
            np.testing.assert_array_equal(batch.state.logical[i], before[i])
    assert batch.status.tolist() == [HORIZON, HORIZON]
    assert [batch.metrics(i)["host_pages_written"] for i in range(2)] == [60, 60]


def test_workloads__several__each_episode_draws_one_and_is_aged_by_it() -> None:
    """The seed decides, whatever was drawn before."""
    quiet, busy = (
        {"kind": "uniform", "read_fraction": share, "interarrival_ns": 10.0} for share in (0.0, 0.9)
    )
    batch = episodes(workload=[quiet, busy], ftl={"timing": "event"})

    def reads(seed: int) -> bool:
        batch.start([0], [seed])
        while not batch.over[0]:
            take(batch, greedy_actions(batch))
        return batch.metrics(0)["host_reads"] > 0

    drawn = [reads(seed) for seed in range(12)]
    assert set(drawn) == {False, True}
    assert [reads(seed) for seed in range(12)] == drawn


def test_devices_of_two_families__a_batch_each__as_in_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Environments keep their order, whichever batch their device lies in."""
    devices = [SMALL, full_device({"blocks_per_plane": 24, "channels": 1}), SMALL]
    arguments: dict[str, Any] = {
        "device": devices,
        "objective": {"relocations": 1.0, "wear": 0.3},
        "warmup": 40,
    }
    one = episodes(4, **arguments)
    # There is one family yet; here the number of blocks tells two apart.
    monkeypatch.setattr("ssdgym.envs.episodes.kind_of", lambda d: d.geometry.blocks_per_plane)
    two = episodes(4, **arguments)
    assert [len(batch.devices) for batch in two.batches] == [3, 1]
    for both in (one, two):
        both.start(range(4), [5, 6, 7, 8])
    while not one.over.all():
        for seen, expected in zip(two.view, one.view, strict=True):
            np.testing.assert_array_equal(seen, expected)
        actions = np.where(one.over, np.argmax(one.view.mask, axis=1), greedy_actions(one))
        take(one, actions)
        take(two, actions)
        np.testing.assert_array_equal(two.reward.rewards, one.reward.rewards)
        for name, term in one.terms.items():
            np.testing.assert_array_equal(two.terms[name], term)
        np.testing.assert_array_equal(two.over, one.over)
        np.testing.assert_array_equal(two.status, one.status)
    assert [two.metrics(i) for i in range(4)] == [one.metrics(i) for i in range(4)]
    two.start([1], [9])
    with pytest.raises(SsdgymError, match="action 99 of environment 1 is outside"):
        take(two, np.array([0, 99, 99, 0]))


def play(batch: Episodes, seed: int = 1) -> dict[str, Any]:
    """Play an episode to its end and return its metrics."""
    batch.start([0], [seed])
    while not batch.over[0]:
        take(batch, greedy_actions(batch))
    return batch.metrics(0)


SHORT = {"kind": "uniform", "requests": 200}


def test_workload__that_ends_too_early__is_played_again_or_ends_the_episode() -> None:
    assert play(episodes(workload=SHORT))["host_pages_written"] == 300
    ended = episodes(workload=SHORT, at_end="truncate")
    assert play(ended)["host_pages_written"] == 200
    assert ended.view.mask[0].any() and np.isfinite(ended.view.features).all()
    assert play(ended, 2)["host_pages_written"] == 200


def test_workload__that_ends_in_the_warmup__ends_the_episode_with_nothing_measured() -> None:
    metrics = play(episodes(workload=SHORT, at_end="truncate", warmup=250))
    assert (metrics["host_pages_written"], metrics["relocated_pages"]) == (0, 0)


def test_ftl__dotted_names__as_nested_ones() -> None:
    dotted, nested = (
        episodes(ftl=changes).devices[0] for changes in ({"gc.free_blocks": 1}, {"gc": {"free_blocks": 1}})
    )
    assert dotted == nested
    assert dotted.ftl.gc.free_blocks == 1
    with pytest.raises(SsdgymError, match="field gc.free_blocks is given twice; give it once"):
        episodes(ftl={"gc.free_blocks": 3, "gc": {"free_blocks": 3}})


def test_device__by_name_path_mapping_or_model__the_same(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    root = Path(__file__).parents[2]
    path.write_text((root / "configs" / "devices" / "tiny.yaml").read_text())
    ways = [episodes(device=source, ftl={"timing": "none"}) for source in ("tiny", path, str(path))]
    for way in ways:
        way.start([0], [1])
        assert way.status[0] == ERASE_DECISION
        assert differences(way.state, 0, ways[0].state, 0) == []


def test_mask__stays_valid_when_nothing_may_be_erased() -> None:
    """Right after ageing and a short horizon, a device with much spare may have no block to erase."""
    batch = episodes(device=device(over_provisioning=3.0), horizon=1)
    batch.start([0], [0])
    assert batch.over[0]
    assert batch.view.mask[0].any()
    assert np.isfinite(batch.view.features).all()
