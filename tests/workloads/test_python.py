"""Workloads made in Python: arrays of requests, and functions of a seed and the logical pages."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat
from typing import Any

import numpy as np
import pytest

from ssdgym.errors import SsdgymError
from ssdgym.requests import READ, REQUEST, Requests
from ssdgym.workloads import RequestStream, load_workload, open_workload, page_writes
from ssdgym.workloads.base import WorkloadConfig
from ssdgym.workloads.python import ArrayWorkload, FunctionWorkload
from tests.workloads.taking import each_clone

TEN = page_writes(range(10), interarrival_ns=100)


def opened(source: Any, seed: int = 0, logical_pages: int = 64) -> RequestStream:
    config = source if isinstance(source, WorkloadConfig) else load_workload(source)
    return open_workload(config, logical_pages=logical_pages, page_size=4096, seed=seed)


def taken(stream: RequestStream, requests: int) -> Requests:
    return np.concatenate([stream.next(1) for _ in range(requests)])


def portions(seed: int, logical_pages: int) -> Iterator[Requests]:
    """Three arrays of random pages, one of them empty."""
    rng = np.random.default_rng(seed)
    for count in (5, 0, 7):
        yield page_writes(rng.integers(0, logical_pages, count))


def test_array__played_in_order_and_once() -> None:
    stream = opened(TEN)
    np.testing.assert_array_equal(stream.next(100), TEN)
    assert not len(stream.next(100))


def test_array__is_copied_and_cannot_be_written_to() -> None:
    mine = TEN.copy()
    config = load_workload(mine)
    mine["lpn"] = 10**9
    np.testing.assert_array_equal(opened(config).next(100), TEN)
    assert isinstance(config, ArrayWorkload)
    with pytest.raises(ValueError, match="read-only"):
        config.requests.array["lpn"] = 3


def test_array__from_a_random_start__goes_round_at_its_pace() -> None:
    config = load_workload(TEN).with_start("random")
    assert isinstance(config, ArrayWorkload)
    stream = opened(config.model_copy(update={"loops": None}), seed=1)
    requests = taken(stream, 25)
    first = int(requests["lpn"][0])
    assert requests["lpn"].tolist() == [(first + n) % 10 for n in range(25)]
    assert requests["arrival_ns"].tolist() == [100 * n for n in range(25)]
    assert len({int(opened(config, seed).next(1)["lpn"][0]) for seed in range(30)}) > 5


def test_array__is_told_apart_by_its_content() -> None:
    """What is kept on disk of a device that it has preconditioned depends on it."""
    same, other = TEN.copy(), TEN.copy()
    other["lpn"][3] = 7
    dumped = [load_workload(array).model_dump(mode="json") for array in (TEN, same, other)]
    assert dumped[0] == dumped[1] != dumped[2]


def test_array__knows_whether_it_writes_and_has_a_pace() -> None:
    reads = TEN.copy()
    reads["op"] = READ
    assert load_workload(reads).writes_nothing() and not load_workload(TEN).writes_nothing()
    assert load_workload(TEN).has_pace and not load_workload(page_writes(range(4))).has_pace


def test_function__is_called_with_the_seed_and_the_logical_pages() -> None:
    expected = np.concatenate(list(portions(5, 64)))
    np.testing.assert_array_equal(taken(opened(portions, seed=5), 12), expected)
    np.testing.assert_array_equal(opened(lambda seed, pages: TEN).next(100), TEN)
    assert opened(portions, seed=6).next(1).tolist() != expected[:1].tolist()


def test_function__that_returns_a_list_of_arrays__plays_them() -> None:
    stream = opened(lambda seed, pages: [TEN[:4], TEN[4:]])
    np.testing.assert_array_equal(taken(stream, 10), TEN)


@each_clone
@pytest.mark.parametrize("position", [0, 3, 8])
def test_function__a_copy_of_its_stream_goes_on_like_the_original(clone: Any, position: int) -> None:
    """Though a generator can be copied by nobody: the function is called again."""
    stream = opened(portions, seed=5)
    stream.next(position or 1)
    twin = clone(stream)
    np.testing.assert_array_equal(twin.next(100), stream.next(100))


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (np.zeros(3), "the array of a workload must be of one-dimensional arrays of ssdgym.requests.REQUEST"),
        (np.zeros((2, 2), REQUEST), "not an array of REQUEST of shape (2, 2); ssd"),
        (np.zeros(0, REQUEST), "the array of a workload holds no request; give at least one."),
        (portions(1, 8), "a workload is played many times, and <generator object portions"),
        (lambda: TEN, "workload <lambda> must take two arguments, a seed and the number of logical pages"),
        (3, "must be a mapping of fields to values, not 3"),
    ],
    ids=["dtype", "shape", "empty", "iterator", "arguments", "number"],
)
def test_what_is_no_workload__refused_when_it_is_given(source: Any, message: str) -> None:
    with pytest.raises(SsdgymError) as caught:
        load_workload(source)
    assert message in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda seed, pages: 7, "workload <lambda> must return an array of ssdgym.requests.REQUEST or yield"),
        (
            lambda seed, pages: [np.arange(3)],
            "must be of .* arrays of .*, not an array of int64",
        ),
        (lambda seed, pages: iter(()), "workload <lambda> gives no request; let it give some."),
        (lambda seed, pages: repeat(TEN[:0]), "workload <lambda> gives no request; let it give some."),
    ],
    ids=["number", "dtype", "nothing", "nothing for ever"],
)
def test_function__that_gives_something_else__refused(function: Any, message: str) -> None:
    with pytest.raises(SsdgymError, match=message):
        opened(function).next(1)


def test_ready_model__is_taken_as_it_is() -> None:
    config = FunctionWorkload(function=portions)
    assert load_workload(config) is config


@pytest.mark.parametrize("pages", [[0.5], [[1]], [-1], [2**31]])
def test_page_writes__of_what_is_no_page__refused(pages: Any) -> None:
    with pytest.raises(SsdgymError, match="page_writes"):
        page_writes(pages)
