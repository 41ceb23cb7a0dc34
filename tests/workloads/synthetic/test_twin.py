"""A twin has the numbers of its trace, and what was searched comes out near it."""

from __future__ import annotations

import pytest

from ssdgym.errors import SsdgymError
from ssdgym.workloads import READ, WRITE
from ssdgym.workloads.synthetic.config import SyntheticTraceConfig
from ssdgym.workloads.synthetic.twin import figures_of, fit_twin
from ssdgym.workloads.traces.statistics import RecordSummary, summarize
from tests.workloads.synthetic.configs import small
from tests.workloads.traces.sources import PAGE, ArraySource, make_records

COPIED = {"requests": 12_000, "bytes": "96MiB", "unique_bytes": "24MiB", "replay_share": 0.6}


def twin_of(config: SyntheticTraceConfig) -> tuple[SyntheticTraceConfig, RecordSummary]:
    return fit_twin(summarize(config.source(7)), config.source(7).volumes, "mine", seed=1)


def test_a_twin__of_a_synthetic_trace_with_memory_has_that_memory() -> None:
    reads = {"requests": 6_000, "bytes": "24MiB", "unique_bytes": "8MiB"}
    config = small(
        reads=reads,
        writes=COPIED,
        footprint_factor=4,
        arrivals="cascade",
        dispersion_1s=200,
        op_persistence=0.6,
    )
    twin, summary = twin_of(config)
    real, made = figures_of(summarize(config.source(7))), figures_of(summary)
    assert (summary.reads, summary.writes) == (6_000, 12_000)
    assert made["bytes_written"] == pytest.approx(real["bytes_written"], rel=0.02)
    assert made["unique_bytes_written"] == pytest.approx(real["unique_bytes_written"], rel=0.05)
    assert made["dispersion_1s"] == pytest.approx(real["dispersion_1s"], rel=0.2)
    assert made["mean_run"] == pytest.approx(real["mean_run"], rel=0.05)
    assert made["life_correlation"] == pytest.approx(real["life_correlation"], abs=0.15)
    assert made["top_1_percent_share"] == pytest.approx(real["top_1_percent_share"], abs=0.05)
    assert twin.writes.replay_share > 0.3


@pytest.fixture(scope="module")
def independent() -> tuple[SyntheticTraceConfig, RecordSummary]:
    return twin_of(small(reads={"requests": 2_000, "bytes": "8MiB", "unique_bytes": "4MiB"}))


def test_a_twin__of_independent_requests_repeats_little(
    independent: tuple[SyntheticTraceConfig, RecordSummary],
) -> None:
    assert abs(figures_of(independent[1])["life_correlation"]) < 0.15


def test_a_twin__notes_what_is_measured_and_what_is_not(
    independent: tuple[SyntheticTraceConfig, RecordSummary],
) -> None:
    config, _ = independent
    assert config.sources["writes.unique_bytes"] == "measured on the trace"
    assert {"footprint_factor", "writes.replay_share", "size_decay"} <= config.assumed.keys()


def test_a_trace_without_times_or_reads__has_a_twin() -> None:
    rows = [(0, PAGE * (number * 7 % 300), PAGE, 0, WRITE) for number in range(2000)]
    source = ArraySource(make_records(rows))
    twin, made = fit_twin(summarize(ArraySource(make_records(rows))), source.volumes, "mine")
    assert twin.arrivals == "poisson" and made.writes == 2000


def test_a_trace_without_writes__refused() -> None:
    records = make_records([(0, 0, PAGE, 0, READ)])
    with pytest.raises(SsdgymError, match="mine: has no writes, to which a twin could be fitted"):
        fit_twin(summarize(ArraySource(records)), ArraySource(records).volumes, "mine")
