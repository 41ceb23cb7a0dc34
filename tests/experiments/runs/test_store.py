"""The store: what is in it stays, and nothing else is taken for it."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from ssdgym.errors import SsdgymError
from ssdgym.experiments.runs.store import STORE_NAME, Finished, Store

FOUND = Finished({"erases": 2**60 + 1, "wear": {"mean": 0.1 + 0.2}, "exact": True, "best": float("inf")}, 1.5)


def test_store__gives_back_exactly_what_was_kept(tmp_path: Path) -> None:
    with Store(tmp_path / "new") as store:
        store.keep([("a", "{}", FOUND), ("b", "{}", FOUND)])
    with Store(tmp_path / "new") as store:
        assert store.finished(["a", "missing"]) == {"a": FOUND}
        assert store.others(["a"]) == (1, 0)


def test_store__failed_runs_are_not_finished_until_they_are(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        store.keep_error([("a", "{}")], "for want of memory")
        assert store.finished(["a"]) == {}
        store.keep([("a", "{}", FOUND)])
        assert store.finished(["a"]) == {"a": FOUND}


def test_store__runs_of_another_engine_are_counted_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store(tmp_path) as store:
        store.keep([("old", "{}", FOUND)])
        monkeypatch.setattr("ssdgym.experiments.runs.store.engine_hash", lambda: "another")
        store.keep([("new", "{}", FOUND)])
        assert store.others([]) == (1, 1)


def test_store__is_for_one_process_at_a_time(tmp_path: Path) -> None:
    with Store(tmp_path), pytest.raises(SsdgymError, match="another process is writing to it"):
        Store(tmp_path)
    Store(tmp_path).close()


def test_store__a_full_disk_loses_nothing(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        store.keep([("a", "{}", FOUND)])
        pages = store._database.execute("PRAGMA page_count").fetchone()[0]
        store._database.execute(f"PRAGMA max_page_count = {pages}")  # SQLite then fails as on a full disk
        with pytest.raises(SsdgymError, match="is full.*free some space.*are kept"):
            store.keep([("b", "x" * 100_000, FOUND)])
        assert store.finished(["a", "b"]) == {"a": FOUND}
    with Store(tmp_path) as store:
        assert store.finished(["a", "b"]) == {"a": FOUND}


def test_store__one_that_was_killed_before_it_was_made_is_made(tmp_path: Path) -> None:
    (tmp_path / STORE_NAME).write_bytes(b"")
    with Store(tmp_path) as store:
        assert store.finished([]) == {}


def garbage(path: Path) -> None:
    path.write_bytes(b"this is not a database" * 100)


def torn(path: Path) -> None:
    with Store(path.parent) as store:
        store.keep([(str(number), "{}" * 500, FOUND) for number in range(50)])
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def somebody_else_s(path: Path) -> None:
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE song (title TEXT)")
    database.close()


def broken_json(path: Path) -> None:
    with Store(path.parent) as store:
        store.keep([("a", "{}", FOUND)])
    database = sqlite3.connect(path)
    with database:
        database.execute("UPDATE run SET metrics = '{'")
    database.close()


def newer(path: Path) -> None:
    Store(path.parent).close()
    database = sqlite3.connect(path)
    with database:
        database.execute("PRAGMA user_version = 99")
    database.close()


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (garbage, "is damaged .*move it out of the way"),
        (torn, "is damaged .*move it out of the way"),
        (broken_json, "is damaged .*no JSON"),
        (somebody_else_s, "is no store of ssdgym"),
        (newer, "was written by another version of ssdgym"),
    ],
)
def test_store__damage_is_one_sentence_that_names_the_file(tmp_path: Path, damage: Any, said: str) -> None:
    damage(tmp_path / STORE_NAME)
    with pytest.raises(SsdgymError, match=f"{STORE_NAME}: {said}"), Store(tmp_path) as store:
        store.finished(["a"])


def test_store__a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "agent.zip").write_bytes(b"")
    with pytest.raises(SsdgymError, match=f"holds agent.zip and no {STORE_NAME}.*give --out"):
        Store(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["agent.zip"]
