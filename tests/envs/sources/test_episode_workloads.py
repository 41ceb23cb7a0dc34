"""The requests of an episode: where a workload ends before it, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ssdgym.envs import sources as workloads
from ssdgym.envs.sources import load_workloads, open_episode
from ssdgym.errors import SsdgymError
from ssdgym.requests import READ, Requests
from ssdgym.workloads import page_writes
from tests.engine.devices import device

SMALL = device()


def played(source: Any, requests: int, seed: int = 0, at_end: Any = "wrap", config: Any = SMALL) -> Requests:
    episode = open_episode(load_workloads(source)[0], config, seed, at_end)
    parts: list[Requests] = []
    while sum(map(len, parts)) < requests and len(chunk := episode.next()):
        parts.append(chunk)
    return np.concatenate(parts)[:requests]


def test_generated_workload_that_ends__wraps_with_draws_of_its_own_and_times_that_go_on() -> None:
    short = {"kind": "uniform", "requests": 20, "interarrival_ns": 10.0}
    requests = played(short, 60)
    laps = requests["lpn"].reshape(3, 20).tolist()
    assert laps[0] != laps[1] != laps[2]
    assert (np.diff(requests["arrival_ns"]) > 0).all()
    np.testing.assert_array_equal(played(short, 60), requests)
    assert len(played(short, 60, at_end="truncate")) == 20


def test_array__wraps_or_ends() -> None:
    array = page_writes(range(30))
    wrapped = played(array, 70, seed=3)["lpn"]
    assert (np.diff(wrapped) % 30 == 1).all()
    ended = played(array, 70, seed=3, at_end="truncate")["lpn"].tolist()
    assert ended == list(range(int(wrapped[0]), 30))


def test_function__wraps_with_another_seed() -> None:
    seeds: list[int] = []

    def few(seed: int, logical_pages: int) -> Iterator[Requests]:
        seeds.append(seed)
        yield page_writes(np.random.default_rng(seed).integers(0, logical_pages, 8))

    assert len(played(few, 20, seed=11)) == 20
    assert seeds[0] == 11 and len(set(seeds)) == 3
    assert played(few, 20, seed=11).tolist() == played(few, 20, seed=11).tolist()


def test_requests__outside_of_the_device__refused_in_the_name_of_the_workload() -> None:
    def too_far(seed: int, logical_pages: int) -> Requests:
        return page_writes([logical_pages])

    with pytest.raises(SsdgymError, match=r"workload too_far: request 0 .* it reaches outside the \d+ logi"):
        played(too_far, 1)


def test_requests__that_never_write__end_in_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reads = page_writes(range(10))
    reads["op"] = READ
    with pytest.raises(SsdgymError, match="workload python writes nothing, so no episode would end"):
        load_workloads(reads)
    monkeypatch.setattr(workloads, "_MOST_WITHOUT_WRITE", 5000)
    with pytest.raises(SsdgymError, match="workload <lambda> writes next to nothing"):
        played(lambda seed, pages: reads, 10_000)


def test_chunks__are_the_episode_s_own__whatever_the_function_does_with_its_array() -> None:
    array = page_writes(range(10))
    config = load_workloads(lambda seed, pages: array)[0]
    chunk = open_episode(config, SMALL, 0, "truncate").next()
    array["lpn"] = -1
    assert chunk["lpn"].tolist() == list(range(10))


def test_traces_in_windows_that_touch__no_episode_plays_a_request_of_another_one_s(
    tmp_path: Path, own_cache: Path
) -> None:
    """Training, validation and test by time, over many seeds, each long enough to wrap."""
    path = tmp_path / "trace.csv"
    path.write_text("".join(f"{1000 + n},h,0,Write,{n * 4096},4096,1\n" for n in range(100)))
    seen = []
    for window in ([0, 0.7], [0.7, 0.85], [0.85, 1]):
        workload = {"kind": "trace", "path": str(path), "window": window}
        each = [played(workload, 150, seed)["lpn"].tolist() for seed in range(20)]
        assert len({pages[0] for pages in each}) > 5
        seen.append({page for pages in each for page in pages})
    assert seen == [set(range(70)), set(range(70, 85)), set(range(85, 100))]
