"""The benchmark: what a measurement says of itself, and that what is timed does all of its work."""

from __future__ import annotations

from pathlib import Path

import pytest

from ssdgym.bench import engine
from ssdgym.bench.measurement import Measurement


def measured(value: float, unit: str, expected: float | None, yardstick: float | None = None) -> Measurement:
    """A measurement without spread."""
    return Measurement("it", value, value, value, unit, expected, yardstick)


def test_measurement__a_rate_must_be_reached_from_above_and_a_time_from_below() -> None:
    assert measured(2e6, "requests/s", 1e6).reached is True
    assert measured(0.5e6, "requests/s", 1e6).reached is False
    assert measured(1.0, "s", 2.0).reached is True
    assert measured(3.0, "s", 2.0).reached is False
    assert measured(3.0, "requests/s", None).reached is None


def test_measurement__json_has_the_ratio_to_the_yardstick() -> None:
    assert measured(2e6, "requests/s", 1e6, yardstick=8e6).as_dict()["ratio"] == 0.25
    assert measured(2.0, "s", 1.0).as_dict()["ratio"] is None


def test_yardstick__touches_memory_once_per_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "_REQUESTS", 10_000)
    assert engine._yardstick()() == 10_000


def test_traces__parsing_playing_and_the_csv_module_all_see_every_line(tmp_path: Path) -> None:
    trace = engine.make_trace(tmp_path, 3_000)
    works = (engine.parsing, engine.reading_csv, engine.playing)
    assert [work(trace)() for work in works] == [3_000] * 3


@pytest.mark.slow
def test_measure_all__reports_every_rate_beside_the_yardstick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "_REQUESTS", 20_000)
    monkeypatch.setattr(engine, "_SINGLE_STEPS", 50)
    monkeypatch.setattr(engine, "_VECTOR_STEPS", 10)
    monkeypatch.setattr(engine, "TRACE_LINES", 2_000)
    announced: list[str] = []
    found = engine.measure_all(1, start=False, announce=announced.append)
    assert announced == [measurement.name for measurement in found] == list(engine.NAMES[:-2])
    assert all(measurement.low <= measurement.value <= measurement.high for measurement in found)
    assert all(measurement.ratio is not None and measurement.ratio > 0 for measurement in found)
