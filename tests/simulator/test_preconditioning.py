"""Preconditioning: steady at the end, the same however it was obtained, kept on disk where possible."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ssdgym.config.page import PageFtl
from ssdgym.errors import SsdgymError
from ssdgym.requests import FLUSH, READ, TRIM, WRITE
from ssdgym.simulator import Simulator, preconditioning
from ssdgym.simulator.preconditioning import precondition, write_until_collecting
from ssdgym.workloads import kept as keeping
from ssdgym.workloads.stream import load_workload
from ssdgym.workloads.traces import distributions
from ssdgym.workloads.traces.transforms import HeadConfig
from tests.engine.audit import NO_FAULT, first_fault
from tests.engine.audit_tables import tables_fault
from tests.engine.devices import (
    device,
    differences,
    full_device,
    mixed_requests,
    random_writes,
    requests,
    same_as,
)


@pytest.fixture(autouse=True)
def cache(own_cache: Path) -> Path:
    """No preconditioned device yet."""
    return own_cache


def kept(cache: Path) -> list[Path]:
    return sorted((cache / "preconditioned").glob("*"))


def steady(ftl: dict[str, Any] | None = None, *, cache: bool = True, **arguments: Any) -> Simulator:
    sim = Simulator(full_device({"planes_per_die": 2}, ftl), **arguments)
    sim.precondition("zipf80", cache=cache)
    return sim


def test_precondition__full__steady_and_ready_to_be_measured() -> None:
    sim = Simulator(full_device())
    report = sim.precondition("uniform")
    metrics = sim.metrics()
    assert report.steady
    assert report.host_pages >= 2 * sim.logical_pages
    assert sim.state.logical[0]["ppn"].min() >= 0
    assert (sim.now_ns, metrics["host_pages_written"], metrics["lost_pages"]) == (0, 0, 0)
    assert first_fault(sim.arrays, 0) == NO_FAULT
    measured = sim.run(random_writes(20 * sim.logical_pages, sim.logical_pages))["write_amplification"]
    assert report.write_amplification == pytest.approx(measured, rel=0.1)


def test_precondition__not_steady_in_time__says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preconditioning, "TOLERANCE", 0)
    monkeypatch.setattr(preconditioning, "MOST_OVERWRITES", 3)
    report = Simulator(full_device()).precondition("uniform")
    assert not report.steady
    assert report.host_pages >= 3 * full_device().logical_pages


@pytest.mark.parametrize(
    "ftl",
    [
        {"timing": "none"},
        {"timing": "event"},
        {"timing": "none", "allocation": "dynamic"},
        {"timing": "event", "allocation": "dynamic"},
    ],
    ids=lambda ftl: "-".join(ftl.values()),
)
def test_precondition__from_the_cache_or_anew__the_same_device(ftl: dict[str, Any], cache: Path) -> None:
    anew, first, second = steady(ftl, cache=False), steady(ftl), steady(ftl)
    assert len(kept(cache)) == 1
    for sim in (first, second):
        assert same_as(sim, anew)
    requests = mixed_requests(500, anew.logical_pages)
    for sim in (anew, second):
        sim.run(requests)
    assert differences(anew.state, 0, second.state, 0) == []


@pytest.mark.parametrize("allocation", ["static", "dynamic"])
@pytest.mark.parametrize(
    ("saved", "loaded"),
    [
        ({"timing": "none"}, {"timing": "event"}),
        ({"timing": "event"}, {"timing": "none"}),
        ({"timing": "event", "window_pages": 3}, {"timing": "event", "window_pages": 77}),
        ({"timing": "event"}, {"timing": "event", "queue_depth": 4}),
    ],
    ids=[
        "without time, with time",
        "with time, without time",
        "small window, large window",
        "open loop, closed loop",
    ],
)
def test_precondition__kept_by_a_device_with_other_timing__the_same_as_anew(
    saved: dict[str, Any], loaded: dict[str, Any], allocation: str, cache: Path
) -> None:
    """Preconditioning takes no time, so one steady state serves them all."""
    shared = {"allocation": allocation}
    steady({**saved, **shared})
    from_cache, anew = steady({**loaded, **shared}), steady({**loaded, **shared}, cache=False)
    assert len(kept(cache)) == 1
    assert same_as(from_cache, anew)
    requests = mixed_requests(500, anew.logical_pages)
    assert from_cache.run(requests) == anew.run(requests)


def test_precondition__whatever_the_policy_and_seed_of_the_simulator__the_same_state(cache: Path) -> None:
    first = steady(policy="greedy", seed=1)
    second = steady(policy="random", seed=2)
    assert len(kept(cache)) == 1
    assert differences(first.state, 0, second.state, 0) == ["params.seed"]


def test_precondition__by_a_policy_that_draws__does_not_depend_on_the_seed_of_the_simulator(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sims = [Simulator(full_device(), seed=seed) for seed in (1, 2)]
    monkeypatch.setattr(PageFtl, "usual_policy", "random")
    for sim in sims:
        sim.precondition("uniform", cache=False)
    assert differences(sims[0].state, 0, sims[1].state, 0) == ["params.seed"]


@pytest.mark.parametrize(
    "change",
    [
        lambda: Simulator(device(logical_pages=150)).precondition("uniform"),
        lambda: Simulator(device(ftl={"placement": "single"})).precondition("uniform"),
        lambda: Simulator(device(ftl={"gc": {"free_blocks": 3}})).precondition("uniform"),
        lambda: Simulator(device()).precondition("zipf80"),
        lambda: Simulator(device()).precondition("uniform", seed=1),
        lambda: Simulator(device()).precondition("uniform", share=0.5),
    ],
    ids=["capacity", "placement", "threshold", "workload", "seed", "share"],
)
def test_cache__what_the_steady_state_depends_on__is_part_of_its_name(change: Any, cache: Path) -> None:
    Simulator(device()).precondition("uniform")
    change()
    assert len(kept(cache)) == 2


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))


@pytest.mark.parametrize("damage", [_cut, _empty, _flip])
def test_cache__damaged_file__noticed_and_made_anew(damage: Any, cache: Path) -> None:
    first = steady()
    (path,) = kept(cache)
    sound = path.read_bytes()
    damage(path)
    assert path.read_bytes() != sound
    second = steady()
    assert same_as(second, first)
    assert same_as(steady(), first)
    assert kept(cache)[0].read_bytes() == sound


def test_cache__folder_that_cannot_be_written__warns_and_goes_on(cache: Path) -> None:
    (cache / "preconditioned").write_text("a file where the folder should be")
    with pytest.warns(RuntimeWarning, match="the preconditioned device is not kept and will be made anew"):
        sim = steady()
    assert same_as(sim, steady(cache=False))


def test_cache__not_wanted__nothing_is_written(cache: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        steady(cache=False)
    assert kept(cache) == []


def test_precondition__is_under_the_usual_policy_of_the_family(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    greedy, fifo = steady(policy="fifo"), Simulator(full_device({"planes_per_die": 2}))
    monkeypatch.setattr(PageFtl, "usual_policy", "fifo")
    fifo.precondition("zipf80")
    assert len(kept(cache)) == 2
    assert not same_as(fifo, greedy)


def test_precondition__then_advance__has_no_input_left() -> None:
    sim = steady()
    before = sim.snapshot()
    sim.advance()
    assert sim.metrics()["host_pages_written"] == 0
    assert before.state.logical.tobytes() == sim.state.logical.tobytes()


def test_precondition__by_a_workload_that_ends__draws_other_pages_each_time_it_begins_again() -> None:
    sim = Simulator(device(logical_pages=160))
    sim.precondition({"kind": "uniform", "requests": 20}, cache=False)
    overwritten = sim.state.logical["version"][0] > 1
    assert overwritten.sum() > 80, "the same seed would overwrite the same 20 pages at every turn"


def test_until_gc__planes_without_logical_pages__refused_and_no_hang() -> None:
    with pytest.raises(SsdgymError, match="device small: its 1 logical pages leave some of its 2 planes"):
        write_until_collecting(Simulator(device(logical_pages=1)), 1)
    everywhere = Simulator(device(ftl={"allocation": "dynamic"}, logical_pages=1))
    write_until_collecting(everywhere, 1)
    assert everywhere.state.control["clock"][0, 0] > 0


# -- the ways that experiments know


@pytest.mark.parametrize(
    ("kind", "pages"),
    [("none", 0), ("fill", 160), ("fill(share=0.25)", 40), ({"kind": "fill", "share": 0.5}, 80)],
)
def test_precondition__fill__writes_a_share_of_the_pages(kind: Any, pages: int) -> None:
    sim = Simulator(device(logical_pages=160))
    precondition(sim, kind, "uniform", seed=1)
    mapped = sim.state.logical["ppn"][0] >= 0
    assert mapped[:pages].all() and not mapped[pages:].any()
    assert sim.metrics()["host_pages_written"] == 0 and sim.now_ns == 0


def test_precondition__until_gc__is_drawn_by_the_seed() -> None:
    sims = [Simulator(device()) for _ in range(2)]
    precondition(sims[0], "until_gc", "uniform", seed=5)
    write_until_collecting(sims[1], 5)
    assert same_as(sims[0], sims[1])


#: Sub-blocks, and room for a threshold of free pages.
SUB_BLOCKS: dict[str, Any] = {
    "geometry": {"sub_blocks_per_block": 4, "layers_per_block": 8},
    "erase_unit": "sub_block_run",
    "isolation": "software",
    "ftl": {"hotness": {"counters": 64, "thresholds": [1, 2, 4], "scatter": "block"}},
}


@pytest.mark.parametrize("policy", ["gsm+sep_gc", "gsm+hot_cold", "gsm_plus", "speedupgc", "baseline"])
def test_precondition__until_gc_greedy__is_the_same_device_for_all_policies(policy: str) -> None:
    sims = [Simulator(device(**SUB_BLOCKS), policy=name) for name in ("gsm", policy)]
    for sim in sims:
        precondition(sim, "until_gc_greedy", "uniform", seed=5)
    for name in ("logical", "physical", "sub_block", "counters"):
        assert (sims[0].arrays._asdict()[name] == sims[1].arrays._asdict()[name]).all(), name
    assert first_fault(sims[1].arrays, 0) == NO_FAULT
    assert list(tables_fault(sims[1])) == []
    metrics = sims[1].run("zipf99", host_pages=400, seed=1)
    assert first_fault(sims[1].arrays, 0) == NO_FAULT
    assert list(tables_fault(sims[1])) == []
    assert metrics["relocated_pages"] > 0


def test_precondition__until_gc_greedy__is_until_gc_of_greedy_in_one_stream() -> None:
    sims = [Simulator(device(**SUB_BLOCKS), policy="baseline") for _ in range(2)]
    for sim, kind in zip(sims, ("until_gc", "until_gc_greedy"), strict=True):
        precondition(sim, kind, "uniform", seed=5)
    assert same_as(sims[0], sims[1])


def test_precondition__reads_until_gc_greedy__has_what_is_read_on_one_device_for_all_policies() -> None:
    read = load_workload(requests((READ, 3, 2), (WRITE, 9, 1), (READ, 9, 1)))
    sims = [Simulator(device(**SUB_BLOCKS), policy=name) for name in ("gsm", "speedupgc")]
    for sim in sims:
        precondition(sim, "reads_until_gc_greedy", read, seed=5)
        assert (sim.state.logical["ppn"][0][[3, 4]] >= 0).all()
        assert sim.metrics()["host_pages_written"] == 0 and first_fault(sim.arrays, 0) == NO_FAULT
    assert (sims[0].arrays.logical == sims[1].arrays.logical).all()
    other = Simulator(device(**SUB_BLOCKS), policy="gsm")
    precondition(other, "until_gc_greedy", read, seed=5)
    assert not same_as(other, sims[0])


def test_write_until_collecting__own_policy__writes_what_is_read_first_too() -> None:
    read = load_workload(requests((READ, 3, 2)))
    sims = [Simulator(device()) for _ in range(2)]
    for sim, after in zip(sims, (None, read), strict=True):
        write_until_collecting(sim, 5, after=after)
    assert (sims[1].state.logical["ppn"][0][[3, 4]] >= 0).all()
    assert not same_as(*sims)


def test_precondition__until_gc_greedy__refused_where_a_rule_has_to_see_every_page() -> None:
    with pytest.raises(SsdgymError, match="the placement sepbit.* has to see every page"):
        precondition(
            Simulator(device(over_provisioning=4.0), policy="greedy+sepbit"),
            "until_gc_greedy",
            "uniform",
            seed=5,
        )


def test_precondition__reads__writes_what_is_read_before_it_is_written_or_trimmed() -> None:
    played = requests(
        (READ, 7, 2), (WRITE, 3, 2), (READ, 2, 4), (READ, 7, 1), (TRIM, 20, 1), (READ, 20, 1), (FLUSH, 0, 0)
    )
    sim = Simulator(device(logical_pages=160))
    precondition(sim, "reads", load_workload(played), seed=1)
    assert np.flatnonzero(sim.state.logical["ppn"][0] >= 0).tolist() == [2, 5, 7, 8]
    assert sim.metrics()["host_pages_written"] == 0 and sim.now_ns == 0


def test_precondition__reads__every_read_of_a_synthetic_trace_finds_its_page() -> None:
    workload = load_workload("synthetic:src1_2").model_copy(
        update={"transforms": (HeadConfig(requests=3000),), "loops": 2}
    )
    found = {}
    for kind in ("none", "reads"):
        sim = Simulator(full_device({"planes_per_die": 2}))
        precondition(sim, kind, workload, seed=5)
        found[kind] = sim.run(workload, seed=5)
    assert found["none"]["unmapped_reads"] > 0
    assert found["reads"]["unmapped_reads"] == 0
    assert found["reads"]["host_pages_written"] == found["none"]["host_pages_written"]


def test_precondition__reads__of_an_endless_workload__refused() -> None:
    with pytest.raises(SsdgymError, match="workload uniform never ends, .* give it an end, with requests or"):
        precondition(Simulator(device()), "reads", "uniform", seed=1)


@given(st.lists(st.tuples(st.sampled_from([READ, WRITE, TRIM]), st.integers(0, 20), st.integers(1, 9))))
def test_pages_read_first__agree_with_a_slow_walk(rows: list[tuple[int, int, int]]) -> None:
    seen: dict[int, int] = {}
    for op, lpn, pages in rows:
        for page in range(lpn, lpn + pages):
            seen.setdefault(page, op)
    expected = [page for page, op in seen.items() if op == READ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(keeping, "_CHUNK", 3)
        patch.setattr(distributions, "_EXPANDED_AT_ONCE", 8)
        played = requests(*rows) if rows else requests((FLUSH, 0, 0))
        parts = keeping.pages_read_first(load_workload(played), 32, 4096, seed=0)
        assert [page for part in parts for page in part.tolist()] == expected


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        (
            "filled",
            "preconditioning: field kind must be 'none', 'fill', 'workload', 'uniform', 'reads', "
            "'until_gc', 'until_gc_greedy' or 'reads_until_gc_greedy'",
        ),
        ("fill(share=2)", "preconditioning: field share must be less than or equal to 1"),
        (
            "until_gc(share=0.5)",
            "preconditioning: share = 0.5 needs a kind that fills: fill, uniform, workload",
        ),
    ],
)
def test_precondition__no_such_kind_or_share__refused(kind: str, reason: str) -> None:
    with pytest.raises(SsdgymError, match=re.escape(reason)):
        precondition(Simulator(device()), kind, "uniform", seed=1)


def test_progress__says_what_is_done_and_how_much_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr(preconditioning, "say", said.append)
    monkeypatch.setattr(preconditioning, "SAY_EVERY_S", 0.0)
    monkeypatch.setattr(preconditioning, "_CHUNK", 256)
    sim = Simulator("tiny", ftl={"timing": "none"})
    preconditioning.make_steady(sim, "uniform", seed=0, cache=False)
    number = r"[\d,]+(\.\d)?"
    fill = rf"every page is written once; {number} of {number} million pages, {number} s left"
    assert re.fullmatch(f"preconditioning tiny: {fill}", said[0])
    over = rf"{number} of {number} to {number} million pages, {number} to {number} s left"
    assert re.search(rf"overwritten until its write amplification is steady; {over}", said[-2])
    assert re.fullmatch(
        r"preconditioning tiny: write amplification [\d.]+ is steady; [\d,]+ pages written", said[-1]
    )
