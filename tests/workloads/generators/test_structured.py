"""Programs that lay their data out themselves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ssdgym.errors import SsdgymError
from ssdgym.requests import READ, TRIM, WRITE
from ssdgym.workloads import load_workload, open_workload

KINDS = ["log", "btree", "lsm", "object_cache"]
PAGES = 8000


def drawn(count: int = 20_000, seed: int = 1, **fields: Any) -> np.ndarray:
    stream = open_workload(load_workload(fields), logical_pages=PAGES, page_size=4096, seed=seed)
    parts, left = [], count
    while left > 0:
        parts.append(stream.next(left))
        left -= len(parts[-1])
    return np.concatenate(parts)


@pytest.mark.parametrize("kind", KINDS)
def test_structured__same_seed_same_requests__inside_its_footprint(kind: str) -> None:
    requests = drawn(kind=kind, start=0.25, footprint=0.5, read_fraction=0.3)
    assert (requests == drawn(kind=kind, start=0.25, footprint=0.5, read_fraction=0.3)).all()
    assert requests["lpn"].min() >= PAGES // 4
    assert (requests["lpn"] + requests["pages"]).max() <= 3 * PAGES // 4
    assert np.mean(requests["op"] == READ) == pytest.approx(0.3, abs=0.03)


@pytest.mark.parametrize("kind", KINDS)
def test_structured__reads_change_nothing_of_what_is_written(kind: str) -> None:
    alone, mixed = drawn(kind=kind), drawn(kind=kind, read_fraction=0.5)
    written = mixed[mixed["op"] != READ]
    assert len(written) > 9_000
    assert (written == alone[: len(written)]).all()


@pytest.mark.parametrize("kind", KINDS)
def test_structured__a_footprint_too_small__one_sentence(kind: str) -> None:
    with pytest.raises(SsdgymError, match=rf"workload {kind}: its footprint has 3 of the 3 logical pages"):
        open_workload(load_workload({"kind": kind}), logical_pages=3, page_size=4096, seed=1)


def test_log__appends_follow_each_other_and_metadata_stay_in_place() -> None:
    requests = drawn(kind="log", append_pages=4, metadata_pages=8, metadata_access=0.25)
    appends = requests[requests["hint"] == 1]
    assert (np.diff(appends["lpn"][:1500]) == 4).all()
    metadata = requests[requests["hint"] == 0]
    assert set(metadata["lpn"]) == set(range(8))
    assert len(metadata) / len(requests) == pytest.approx(0.25, abs=0.02)


def test_btree__a_journal_page_per_commit_and_few_inner_nodes() -> None:
    requests = drawn(kind="btree", commit_updates=4, fanout=16)
    journal, inner, leaf = (int((requests["hint"] == hint).sum()) for hint in range(3))
    assert journal == pytest.approx(leaf / 4, rel=0.01)
    assert inner == pytest.approx(leaf / 16, rel=0.15)
    parents = requests["lpn"][requests["hint"] == 1]
    assert parents.max() < requests["lpn"][requests["hint"] == 2].min()


def test_lsm__never_overwrites_a_table_before_it_is_trimmed() -> None:
    requests = drawn(kind="lsm", table_pages=16, count=60_000)
    live: set[int] = set()
    for request in requests[requests["pages"] == 16]:
        table = int(request["lpn"])
        if request["op"] == TRIM:
            live.remove(table)
        else:
            assert request["op"] == WRITE and table not in live
            live.add(table)
    tables = PAGES // 16
    assert 0.5 * tables < len(live) <= 0.86 * tables
    assert set(requests["hint"]) >= {0, 1, 2, 3}


def test_object_cache__regions_in_turn_beside_hashed_pages() -> None:
    requests = drawn(kind="object_cache", small=0.1, region_pages=8, small_access=0.6)
    small, large = requests[requests["hint"] == 0], requests[requests["hint"] == 1]
    assert small["lpn"].max() < PAGES // 10 <= large["lpn"].min()
    assert (np.diff(large["lpn"][:800]) == 8).all()
    assert len(small) / len(requests) == pytest.approx(0.6, abs=0.02)
