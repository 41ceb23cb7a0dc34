"""Checkpoints that are damaged, or not checkpoints."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from ssdgym.agents.training.checkpoint import FILE_NAME, Checkpoint
from ssdgym.errors import SsdgymError


@pytest.fixture
def file(tmp_path: Path) -> Path:
    Checkpoint("{}", {"policy": {"w": torch.arange(1000.0)}}, [{"decisions": 1.0}], {}, [], []).save(tmp_path)
    return tmp_path / FILE_NAME


def test_load__what_was_saved(file: Path) -> None:
    loaded = Checkpoint.load(file.parent)
    assert torch.equal(loaded.algorithm["policy"]["w"], torch.arange(1000.0))


def test_load__one_bit_of_a_weight_changed__noticed(file: Path) -> None:
    content = bytearray(file.read_bytes())
    place = content.index(torch.arange(500.0, 600.0).numpy().tobytes())
    content[place] ^= 1
    file.write_bytes(content)
    with pytest.raises(SsdgymError, match="damaged"):
        Checkpoint.load(file)


@pytest.mark.parametrize("kept", [0, 10, 1000, -1])
def test_load__cut_off__noticed(kept: int, file: Path) -> None:
    file.write_bytes(file.read_bytes()[:kept])
    with pytest.raises(SsdgymError, match="damaged"):
        Checkpoint.load(file)


@pytest.mark.parametrize("content", [{"format": 1, "other": 3}, {"format": 99}, [1], {"format": 1}])
def test_load__something_else_that_torch_saved__refused(content: Any, file: Path) -> None:
    torch.save(content, file)
    with pytest.raises(SsdgymError, match="not a checkpoint of this version"):
        Checkpoint.load(file)
