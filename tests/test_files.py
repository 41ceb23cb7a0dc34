"""Writing files whole, and refusing folders before the work."""

from __future__ import annotations

from pathlib import Path
from typing import IO

import pytest

from ssdgym.errors import SsdgymError
from ssdgym.files import writable_folder, write_atomically


def test_write__replaces_the_old_file_and_leaves_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "results.csv"
    path.write_bytes(b"old")
    write_atomically(path, lambda file: file.write(b"new") and None)
    assert [(item.name, item.read_bytes()) for item in tmp_path.iterdir()] == [("results.csv", b"new")]


def test_write__interrupted_half_way_leaves_the_old_file_alone(tmp_path: Path) -> None:
    def fail_half_way(file: IO[bytes]) -> None:
        file.write(b"half")
        raise KeyboardInterrupt

    path = tmp_path / "results.csv"
    path.write_bytes(b"old")
    with pytest.raises(KeyboardInterrupt):
        write_atomically(path, fail_half_way)
    assert [(item.name, item.read_bytes()) for item in tmp_path.iterdir()] == [("results.csv", b"old")]


def test_write__a_missing_folder_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(SsdgymError, match=r"missing/a.csv: cannot be written \(No such file"):
        write_atomically(tmp_path / "missing" / "a.csv", lambda file: None)


def test_folder__is_made_with_its_parents_and_left_empty(tmp_path: Path) -> None:
    folder = writable_folder(tmp_path / "results" / "today")
    assert folder.is_dir() and list(folder.iterdir()) == []


def test_folder__below_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    with pytest.raises(SsdgymError, match="taken/results: cannot be written to"):
        writable_folder(tmp_path / "taken" / "results")
