"""Names of the version before: they still work, with a warning, in Python, in YAML and in files."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from ssdgym.errors import SsdgymError
from ssdgym.experiments.report.commands import specs_of
from ssdgym.experiments.results import read_results, write_results
from ssdgym.experiments.runs.config import load_experiment
from ssdgym.experiments.runs.replay import replay
from ssdgym.experiments.runs.run_spec import RunSpec
from ssdgym.experiments.runs.store import Store
from tests.experiments.synthetic import grid_of_runs

RUN = RunSpec("tiny", "uniform", "greedy", 1, host_pages=300, warmup=100)


def test_cell__is_a_run_spec_whose_warmup_was_called_settle() -> None:
    from ssdgym.experiments import evaluate

    with pytest.warns(FutureWarning, match=r"evaluate\.Cell is now called .*\.run_spec\.RunSpec"):
        assert evaluate.Cell("tiny", "uniform", "greedy", 1, host_pages=300, settle=100) == RUN


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("evaluate", "evaluate"),
        ("comparison", "advantage"),
        ("comparison", "best_heuristic"),
        ("comparison", "verdict"),
        ("figures", "write_amplification_figure"),
    ],
)
def test_modules__before_the_wings(module: str, name: str) -> None:
    from importlib import import_module

    with pytest.warns(FutureWarning, match=rf"ssdgym\.experiments\.{module}\.{name} is now called"):
        assert callable(getattr(import_module(f"ssdgym.experiments.{module}"), name))


def test_experiment__settle_is_read_as_warmup() -> None:
    grid = {"devices": ["tiny"], "workloads": ["uniform"], "policies": ["fifo"], "seeds": "1", "settle": 7}
    with pytest.warns(FutureWarning, match="field settle is now called warmup"):
        assert load_experiment(grid).warmup == 7


def test_experiment__sweeps_is_read_as_vary() -> None:
    fields = {"over_provisioning": (0.1, 0.2)}
    grid = {
        "devices": ["tiny"],
        "workloads": ["uniform"],
        "policies": ["fifo"],
        "seeds": "1",
        "sweeps": fields,
    }
    with pytest.warns(FutureWarning, match="field sweeps is now called vary"):
        assert load_experiment(grid).vary == fields


def test_result__its_spec_was_called_cell() -> None:
    (result,) = grid_of_runs([RUN])
    with pytest.warns(FutureWarning, match=r"Result\.cell is now called Result\.spec"):
        assert result.cell == result.spec


def as_before(spec: str) -> str:
    """The spec as the version before wrote it."""
    fields = json.loads(spec)
    return json.dumps({**fields, "settle": fields.pop("warmup")})


def test_results__with_the_column_of_before__are_read_described_and_replayed(tmp_path: Path) -> None:
    (result,) = grid_of_runs([RUN])
    write_results([replace(result, spec=as_before(result.spec))], tmp_path / "results")
    table = tmp_path / "results.csv"
    header, *rows = table.read_text().splitlines()
    table.write_text("\n".join([header.replace("spec", "cell"), *rows, ""]))
    stored = read_results(table)
    assert specs_of(stored) == [json.loads(result.spec)]
    (again,) = replay(stored, [1], "results.csv")
    assert again.measured is not None and again.measured.metric("host_pages_written") == 300


def test_store__of_the_version_before__is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "cells.sqlite").write_bytes(b"")
    with pytest.raises(SsdgymError, match=r"holds cells.sqlite of an earlier version.*give --out"):
        Store(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["cells.sqlite"]
