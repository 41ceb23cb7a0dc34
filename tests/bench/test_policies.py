"""The benchmark of policies: every device does the work it is timed for, and the same as its reference."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from ssdgym.bench import policies as bench_policies
from ssdgym.bench.measurement import Spread
from ssdgym.bench.policies import FTLS, Rate, measure_families, measure_policies
from ssdgym.cli import main
from ssdgym.config.geometry import CapacityConfig
from ssdgym.errors import SsdgymError
from ssdgym.policy import get_policy
from tests.engine.devices import device

#: Half of the pages are logical ones; 4 layers of 4 pages in each of 4 sub-blocks.
DEVICE = device(
    {"blocks_per_plane": 80, "pages_per_block": 64, "layers_per_block": 16, "sub_blocks_per_block": 4},
    {"timing": "event", "placement": "single", "gc": {"mode": "per_write", "free_fraction": 0.2}},
    over_provisioning=1.0,
    erase_unit="sub_block_run",
    isolation="software",
)


def measured(*policies: str, **options: Any) -> list[Rate]:
    return measure_policies(policies, device=DEVICE, **{"repeats": 2, "host_pages": 2000, **options})


def test_rates__of_every_policy_in_both_timings__beside_the_baseline() -> None:
    announced: list[str] = []
    policies = ["baseline", "gsm", "speedupgc", "pb"]
    found = measured(*policies, announce=announced.append)
    assert announced == [f"{policy} beside baseline" for policy in policies]
    assert [(row.name, row.timing) for row in found] == [
        (policy, timing) for timing in ("none", "event") for policy in policies
    ]
    for row in found:
        for spread in (row.rate, row.ratio):
            assert 0 < spread.low <= spread.median <= spread.high
        assert row.work["gc_invocations"] > 0
        assert row.work["write_amplification"] > 1


def test_rates__the_work_is_the_same_every_time_and_another_for_each_policy() -> None:
    work = [row.work for row in measured("baseline", "greedy+single", "gsm")]
    assert work == [row.work for row in measured("baseline", "greedy", "gsm")]
    assert work[0] == work[1] != work[2]


def test_rates__come_from_the_wall_time_of_the_same_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """The policy takes twice as long as the reference: half its rate."""
    played: dict[str, list[np.ndarray]] = {}

    def carry_out(simulator: Any, requests: np.ndarray) -> float:
        label = simulator.policy.label
        played.setdefault(label, []).append(requests)
        simulator.proceed(iter([requests]))
        return {"baseline": 0.5, "gsm": 1.0}[label]

    monkeypatch.setattr(bench_policies, "_carry_out", carry_out)
    found = measured("gsm", host_pages=1500)
    assert [(row.rate, row.ratio) for row in found] == [(Spread(1500, 1500, 1500), Spread(0.5, 0.5, 0.5))] * 2
    measured_chunks = {label: chunks[-6:] for label, chunks in played.items()}
    for ours, theirs in zip(measured_chunks["gsm"], measured_chunks["baseline"], strict=True):
        assert len(ours) == 1500
        np.testing.assert_array_equal(ours, theirs)
    counts = np.unique(np.concatenate(measured_chunks["gsm"][:3])["lpn"], return_counts=True)[1]
    assert counts.max() > 50, "skewed"


def test_warm_up__ends_full_and_with_garbage_collected() -> None:
    simulator = bench_policies._warmed_up(DEVICE, get_policy("gsm"))
    assert (simulator.state.logical["ppn"][0] >= 0).all()
    assert simulator.state.counters["gc_invocations"][0, 0] > 0
    assert simulator.now_ns == 0


def test_warm_up__of_a_device_that_never_collects__refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench_policies, "_MOST_WINDOWS", 3)
    with pytest.raises(SsdgymError, match="has collected nothing after 0 overwrites"):
        measure_policies(
            ["gsm"], device=DEVICE.model_copy(update={"capacity": CapacityConfig(logical_pages=100)})
        )


@pytest.mark.parametrize("policy", ["gsn", "pb+nowhere", "speedupgc+single"])
def test_rates__of_a_policy_that_does_not_exist__refused_before_any_work(
    policy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench_policies, "_warmed_up", None)
    with pytest.raises(SsdgymError, match=policy.partition("+")[0]):
        measured("gsm", policy)
    with pytest.raises(SsdgymError, match="policy pb cannot run on device small"):
        measure_policies(["gsm", "pb"], device=DEVICE.model_copy(update={"isolation_layers": 4}))


def test_command__prints_a_row_for_each__or_json(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["bench", "--policies", "--device", "speedupgc-64l-small", "-p", "gsm"]
    options += ["--repeats", "1", "--host-pages", "500"]
    assert main(options) == 0
    assert capsys.readouterr().out.count(" gsm ") == 2
    assert main([*options, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [(row["name"], row["timing"]) for row in rows] == [("gsm", "none"), ("gsm", "event")]
    assert set(rows[0]["ratio"]) == {"median", "low", "high"}


#: The FTLs that are measured, in order: of the first device in both timings, then of the other.
FTL_NAMES = [
    " ".join(filter(None, ftl))
    for mapping in ("subpage", "block")
    for ftl in (*FTLS[mapping], *FTLS[mapping])
]


def test_rates__of_every_ftl_in_both_timings(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bench_policies, "DEVICES", ("subftl-tiny", "pen-tiny"))
    monkeypatch.setattr(bench_policies, "REQUESTS", 2000)
    announced: list[str] = []
    found = measure_families(1, announced.append)
    assert [row.name for row in found] == FTL_NAMES
    assert [row.timing for row in found] == [*["none"] * 4, *["event"] * 4] * 2
    assert announced[0] == "cgm, timing none, beside page"
    work = {row.name: row.work["operations_per_request"] for row in found if row.timing == "event"}
    assert work["cgm"] > work["subftl"] > 1, "small writes read and write a page where pages are mapped"
    assert all(0 < row.ratio.low <= row.ratio.median <= row.ratio.high for row in found)
    assert main(["bench", "--families", "--repeats", "1", "--json"]) == 0
    assert [row["name"] for row in json.loads(capsys.readouterr().out)] == FTL_NAMES


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--policy", "gsm"], "--policy is for measuring policies; add --policies"),
        (["--families", "--policies"], "--policies and --families are measured apart"),
        (
            ["--families", "--device", "demo"],
            "device demo maps pages, as what it would be measured beside does",
        ),
    ],
)
def test_command__options_that_do_not_fit__refused(
    options: list[str], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", *options]) == 2
    assert reason in capsys.readouterr().err
