"""Weights in files: numbers only, and nothing that runs unless it is trusted."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest
import torch

from ssdgym.agents.training.checkpoint import load_trusted, pack_weights, unpack_weights
from ssdgym.errors import SsdgymError


def test_weights__packed_and_unpacked__are_the_same() -> None:
    weights = {"a": torch.arange(6.0).reshape(2, 3).T, "b": torch.tensor(3)}
    again = unpack_weights(pack_weights(weights), "agent.zip")
    assert again.keys() == weights.keys()
    assert all(torch.equal(again[name], weights[name]) for name in weights)


class Dangerous:
    """An object whose unpickling leaves a file behind."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return Path.touch, (self.path,)


@pytest.mark.parametrize("kind", ["pickle", "cut", "empty", "huge header"])
def test_weights__of_another_format__refused_and_not_run(kind: str, tmp_path: Path) -> None:
    trace = tmp_path / "it ran"
    data = {
        "pickle": pickle.dumps(Dangerous(trace)),
        "cut": pack_weights({"a": torch.zeros(100)})[:-8],
        "empty": b"",
        "huge header": b"\xff" * 64,
    }[kind]
    with pytest.raises(SsdgymError, match=r"agent\.zip: its weights are damaged"):
        unpack_weights(data, "agent.zip")
    assert not trace.exists()


def test_file_that_can_run_code__is_loaded_only_if_trusted(tmp_path: Path) -> None:
    path, trace = tmp_path / "model.zip", tmp_path / "it ran"
    path.write_bytes(pickle.dumps(Dangerous(trace)))

    def load_file(file: Path) -> Any:
        return pickle.loads(file.read_bytes())

    with pytest.raises(
        SsdgymError, match="can run any code when it is loaded; if you know who made it, give"
    ):
        load_trusted(path, load_file, trust=False)
    assert not trace.exists()
    load_trusted(path, load_file, trust=True)
    assert trace.exists()


def test_file_that_can_run_code__damaged_or_missing__is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(SsdgymError, match=r"nothing\.zip: there is no such file; correct the path"):
        load_trusted(tmp_path / "nothing.zip", pickle.loads, trust=True)  # type: ignore[arg-type]
    damaged = tmp_path / "model.zip"
    damaged.write_bytes(b"no pickle")
    with pytest.raises(SsdgymError, match=r"model\.zip: cannot be loaded \(UnpicklingError"):
        load_trusted(damaged, lambda path: pickle.loads(path.read_bytes()), trust=True)
