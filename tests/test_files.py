"""Writing files whole, and refusing folders before the work."""

from __future__ import annotations

import os
import pwd
import tempfile
from pathlib import Path
from typing import IO, NoReturn

import pytest

from ssdgym import files
from ssdgym.errors import SsdgymError
from ssdgym.files import cache_folder, writable_folder, write_atomically


@pytest.fixture
def homeless(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Be a user without a home folder and without an entry in the list of users; yield their cache folder."""

    def unknown(uid: int) -> NoReturn:
        raise KeyError(uid)

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    for name in ("HOME", "XDG_CACHE_HOME", "SSDGYM_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    files._homeless_cache.cache_clear()
    yield tmp_path / f"ssdgym-{os.getuid()}"
    files._homeless_cache.cache_clear()


def test_cache__without_a_home_folder__a_private_one_for_temporary_files(homeless: Path) -> None:
    with pytest.warns(RuntimeWarning, match="there is no home folder: .* set SSDGYM_CACHE_DIR"):
        assert cache_folder() == homeless
    assert homeless.stat().st_mode & 0o777 == 0o700
    assert cache_folder() == homeless


@pytest.mark.parametrize("kind", ["others may write", "a link", "a file"])
def test_cache__without_a_home_folder__not_where_others_can_put_code(homeless: Path, kind: str) -> None:
    if kind == "others may write":
        homeless.mkdir()
        homeless.chmod(0o777)
    elif kind == "a link":
        (homeless.parent / "elsewhere").mkdir()
        homeless.symlink_to("elsewhere")
    else:
        homeless.write_text("")
    with pytest.raises(SsdgymError, match="there is no home folder, .*: set SSDGYM_CACHE_DIR to a folder"):
        cache_folder()


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
