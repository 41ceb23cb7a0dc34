"""Results: equality, flattening, and files that are whole or not there."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ssdgym.errors import SsdgymError
from ssdgym.experiments.results import Result, find_results, read_results, to_pandas, write_results

METRICS = {
    "write_amplification": 2.125,
    "relocated_pages": 9_007_199_254_740_993,  # not representable as a float
    "energy_uj": 1e-07,
    "exact": True,
    "read_latency_ns": {"mean": 75_000.5, "p99": 1_200_000, "p99.9": 3_000_000},
}


def a_result(**changes: object) -> Result:
    values = {
        "device": "tiny-tlc",
        "ftl": "placement=sep_gc",
        "workload": "zipf, 0.99",
        "policy": "greedy",
        "seed": 3,
        "metrics": METRICS,
        "engine_hash": "0123456789abcdef",
        "wall_seconds": 1.5,
    }
    return Result(**(values | changes))  # type: ignore[arg-type]


def test_result__equality_is_about_what_was_found() -> None:
    assert a_result(wall_seconds=99.0, spec="{}") == a_result()
    assert a_result(seed=4) != a_result()
    assert a_result(metrics={"erases": 1}) != a_result()


def test_result__numpy_numbers_become_plain_ones_and_absent_ones_disappear() -> None:
    result = a_result(
        metrics={"erases": np.int64(7), "wear": {"mean": np.float32(0.5), "max": None}, "gone": float("nan")}
    )
    assert result.metrics == {"erases": 7, "wear": {"mean": 0.5}}
    assert json.loads(json.dumps(dict(result.metrics))) == result.metrics


def test_result__a_metric_that_is_no_number_is_refused() -> None:
    with pytest.raises(SsdgymError, match="'histogram' must be a number, not str"):
        a_result(metrics={"wear": {"histogram": "1,2,3"}})


def test_measured__a_summary_of_no_requests_says_nothing() -> None:
    result = a_result(metrics={"read_latency_ns": {"count": 0, "p99": 0.0}, "write_latency_ns": {"p99": 1}})
    assert not result.measured("read_latency_ns/p99")
    assert result.measured("write_latency_ns/p99")
    assert not result.measured("write_latency_ns/p50")


def test_metric__reaches_nested_ones_and_names_those_there_are() -> None:
    assert a_result().metric("read_latency_ns/p99.9") == 3_000_000
    assert a_result().measured("read_latency_ns/p99.9")
    with pytest.raises(SsdgymError, match="no metric 'p99.9': it has write_amplification, relocated_pages"):
        a_result().metric("p99.9")


def test_files__round_trip_bit_for_bit(tmp_path: Path) -> None:
    results = [
        a_result(),
        a_result(seed=2**64 - 1, policy="fifo", metrics={"erases": 12, "energy_uj": float("inf")}),
    ]
    read = read_results(write_results(results, tmp_path / "results")[0])
    assert read == results
    assert [result.wall_seconds for result in read] == [0.0, 0.0]  # what a clock says is not in these files
    assert read[0].metrics["relocated_pages"] == METRICS["relocated_pages"]


def test_files__both_are_written_and_nothing_else_is_left(tmp_path: Path) -> None:
    write_results([a_result()], tmp_path / "demo")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["demo.csv", "demo.parquet"]


def test_csv__lines_end_as_those_of_other_tools(tmp_path: Path) -> None:
    table = write_results([a_result(), a_result(seed=2)], tmp_path / "demo")[1].read_bytes()
    assert (table.count(b"\n"), table.count(b"\r")) == (3, 0)


def test_files__an_unwritable_folder_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(SsdgymError, match=r"missing/demo.parquet: cannot be written \(No such file"):
        write_results([a_result()], tmp_path / "missing" / "demo")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("results.csv", b"", "not from '.csv'"),
        ("results.parquet", b"garbage", "not a readable Parquet file"),
    ],
)
def test_files__damage_names_the_file(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(SsdgymError, match=message) as caught:
        read_results(path)
    assert name in str(caught.value)


def test_files__a_table_of_something_else_is_refused(tmp_path: Path) -> None:
    pq.write_table(pa.table({"device": ["tiny"], "seed": [1]}), tmp_path / "results.parquet")
    with pytest.raises(SsdgymError, match="no column 'ftl'"):
        read_results(tmp_path / "results.parquet")


def test_files__a_missing_one_is_named(tmp_path: Path) -> None:
    with pytest.raises(SsdgymError, match="there is no such results file"):
        read_results(tmp_path / "results.parquet")


@pytest.mark.parametrize("rank", range(4))
def test_files__a_flipped_byte_in_the_data_of_a_parquet_file_is_noticed(tmp_path: Path, rank: int) -> None:
    # Descriptions of pages have no checksum; the last byte of a large column is one of its data.
    path, _ = write_results([a_result(seed=seed) for seed in range(50)], tmp_path / "results")
    columns = pq.read_metadata(path).row_group(0)
    chunks = [columns.column(i) for i in range(columns.num_columns)]
    chunk = sorted(chunks, key=lambda chunk: chunk.total_compressed_size)[-1 - rank]
    start = chunk.data_page_offset if chunk.dictionary_page_offset is None else chunk.dictionary_page_offset
    content = bytearray(path.read_bytes())
    content[start + chunk.total_compressed_size - 1] ^= 0x55
    path.write_bytes(content)
    with pytest.raises(SsdgymError, match="results.parquet"):
        read_results(path)


def test_find_results__takes_a_file_or_the_folder_it_is_in(tmp_path: Path) -> None:
    with pytest.raises(SsdgymError, match="holds no results.parquet"):
        find_results(tmp_path)
    parquet, _ = write_results([a_result()], tmp_path / "results")
    assert find_results(tmp_path) == find_results(parquet) == parquet


def test_to_pandas__options_and_fields_that_vary_are_columns(tmp_path: Path) -> None:
    def spec(spare: float, blocks: int) -> str:
        device = {"name": "tiny", "capacity": {"over_provisioning": spare}, "geometry": {"channels": 2}}
        return json.dumps({"device": device, "ftl": [["gc.free_blocks", blocks]]})

    results = [a_result(seed=seed, spec=spec(0.07 * seed, seed)) for seed in (1, 2)]
    table = to_pandas(results)
    assert table["ftl.gc.free_blocks"].tolist() == [1, 2]
    assert table["capacity.over_provisioning"].tolist() == [0.07, 0.14]
    assert table["read_latency_ns/p99"].tolist() == [1_200_000] * 2
    assert "geometry.channels" not in table and "spec" not in table
    write_results(results, tmp_path / "results")
    assert to_pandas(tmp_path).equals(table)
