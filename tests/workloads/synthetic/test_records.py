"""A synthetic trace is a record source that can be copied, and it has the shape that is configured."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from ssdgym.config.loading import load_config
from ssdgym.workloads import READ, WRITE
from ssdgym.workloads.base import CHUNK
from ssdgym.workloads.synthetic.config import SyntheticTrace, SyntheticTraceConfig
from ssdgym.workloads.traces.record import RECORD, Records
from tests.workloads.synthetic.configs import KIB, MIB, small


def drain(source: SyntheticTrace) -> Records:
    chunks = []
    while len(chunk := source.chunk()):
        chunks.append(chunk)
    return np.concatenate(chunks)


def extent_counts(config: SyntheticTraceConfig, seed: int) -> np.ndarray:
    extents = drain(config.source(seed))["offset_bytes"] // config.extent_bytes
    return np.bincount(extents, minlength=config.address_space_bytes // config.extent_bytes)


def test_the_same_seed_gives_the_same_bits_and_another_does_not() -> None:
    first, again, other = (drain(small().source(seed)) for seed in (5, 5, 6))
    np.testing.assert_array_equal(first, again)
    assert (first["offset_bytes"] != other["offset_bytes"]).mean() > 0.9


def test_copies_and_pickles_go_on_alike() -> None:
    source = small().source(1)
    source.chunk()
    copies = [copy.deepcopy(source), pickle.loads(pickle.dumps(source))]
    rest = drain(source)
    assert len(rest) == 50_000 - CHUNK
    for other in copies:
        np.testing.assert_array_equal(drain(other), rest)


def test_it_ends_and_stays_ended() -> None:
    source = small().source(1)
    sizes = [len(source.chunk()) for _ in range(15)]
    assert sizes == [CHUNK] * 12 + [50_000 - 12 * CHUNK, 0, 0]
    assert source.chunk().dtype == RECORD


def test_the_state_does_not_grow_with_requests_or_coverage() -> None:
    sizes = []
    for name in ("src1_2", "usr_1"):
        source = load_config(SyntheticTraceConfig, name, "synthetic_traces").source(0)
        for _ in range(3):
            sizes.append(len(pickle.dumps(source)))
            source.chunk()
    assert max(sizes) < 10_000


def test_the_state_with_memory_does_not_grow_either() -> None:
    source = load_config(SyntheticTraceConfig, "stg_0-memory", "synthetic_traces").source(0)
    sizes = []
    for _ in range(40):
        sizes.append(len(pickle.dumps(source)))
        source.chunk()
    # The arrivals of at most two chunks are drawn ahead, 8 bytes each.
    assert max(sizes) < 10_000 + 2 * CHUNK * 8


def test_copies_with_memory_go_on_alike() -> None:
    memory = {"arrivals": "cascade", "dispersion_1s": 50, "op_persistence": 0.5, "footprint_factor": 4}
    writes = {"requests": 20_000, "bytes": "320MiB", "unique_bytes": "40MiB", "replay_share": 0.5}
    source = small(writes=writes, **memory).source(1)
    source.chunk()
    copies = [copy.deepcopy(source), pickle.loads(pickle.dumps(source))]
    rest = drain(source)
    assert len(rest) == 50_000 - CHUNK
    for other in copies:
        np.testing.assert_array_equal(drain(other), rest)


def test_reads_and_writes_are_mixed_evenly_and_their_numbers_are_exact() -> None:
    is_write = drain(small().source(3))["op"] == WRITE
    assert is_write.sum() == 20_000
    # Of 10,000 draws without replacement, a share of 0.4 has a standard deviation below 0.005.
    for part in np.split(is_write, 5):
        assert part.mean() == pytest.approx(0.4, abs=0.02)


def test_requests_are_aligned_to_their_size() -> None:
    records = drain(small().source(0))
    assert set(np.unique(records["size_bytes"])) == {4 * KIB << k for k in range(5)}
    assert (records["offset_bytes"] % records["size_bytes"] == 0).all()


def test_requests_below_a_page_need_a_mean_below_a_page() -> None:
    reads = {"requests": 30_000, "bytes": 30_000 * 2048, "unique_bytes": "30MiB"}
    config = small(reads=reads)
    records = drain(config.source(0))
    read_sizes = records["size_bytes"][records["op"] == READ]
    assert read_sizes.min() == 512
    assert read_sizes.mean() == pytest.approx(2048, rel=0.03)
    assert records["size_bytes"][records["op"] == WRITE].min() == 4 * KIB
    touched = np.unique(records["offset_bytes"][records["op"] == READ] // 4096)
    assert len(touched) * 4096 <= 30 * MIB * 1.02


def test_arrivals_start_at_0_and_last_as_long_as_configured() -> None:
    times = drain(small().source(2))["time_ns"]
    gaps = np.diff(times)
    assert times[0] == 0
    assert gaps.min() >= 0
    # The mean of 50,000 exponential gaps has a relative standard deviation of 0.0045, as has their spread.
    assert times[-1] == pytest.approx(100e9, rel=0.02)
    assert gaps.std() == pytest.approx(gaps.mean(), rel=0.04)


def test_the_layout_is_the_configurations_and_not_the_seeds() -> None:
    counts = [extent_counts(small(), seed) for seed in (1, 2)]
    moved = extent_counts(small(layout_seed=1), 1)
    assert np.corrcoef(counts[0], counts[1])[0, 1] > 0.95
    assert abs(np.corrcoef(counts[0], moved)[0, 1]) < 0.3


def test_what_is_hot_to_write_is_hot_to_read() -> None:
    records = drain(small().source(4))
    by_op = [
        np.bincount(records["offset_bytes"][records["op"] == op] // (256 * KIB), minlength=1024)
        for op in (READ, WRITE)
    ]
    assert np.argmax(by_op[0]) == np.argmax(by_op[1])
    assert np.corrcoef(*by_op)[0, 1] > 0.5


def test_a_scan_goes_through_the_volume_once() -> None:
    reads = {"requests": 10_000, "bytes": "250MiB", "unique_bytes": "249MiB"}
    config = small(reads=reads)
    fitted = config.fit(config.reads)
    assert fitted.ranks.theta == 0
    assert fitted.scan_share > 0.9
    records = drain(config.source(0))
    reads_only = records[records["op"] == READ]
    end = reads_only["offset_bytes"] + reads_only["size_bytes"]
    follows = reads_only["offset_bytes"][1:] == end[:-1]
    assert follows.mean() > fitted.scan_share**2 - 0.02
    assert end.max() <= 256 * MIB
