"""The store of an experiment: the metrics of finished runs, in a SQLite database.

A folder of results contains one database. Every job is stored in one transaction, so finished jobs survive
a crash of the process, and no unfinished job counts as finished.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ssdgym
from ssdgym.engine.compiler.cache import engine_hash
from ssdgym.errors import SsdgymError
from ssdgym.files import writable_folder

STORE_NAME = "runs.sqlite"

#: Application id of SQLite that marks databases of ssdgym ("ssdg" in ASCII).
_APPLICATION = 0x73736467
_FORMAT = 1
_SCHEMA = """
CREATE TABLE run (
    key TEXT PRIMARY KEY,         -- ssdgym.experiments.runs.spec.run_key
    spec TEXT NOT NULL,           -- JSON
    state TEXT NOT NULL CHECK (state IN ('done', 'failed')),
    metrics TEXT,                 -- JSON if done; includes `series` if samples were taken
    wall_seconds REAL,            -- if done
    error TEXT,                   -- if failed
    version TEXT NOT NULL,        -- of ssdgym
    engine_hash TEXT NOT NULL
) WITHOUT ROWID
"""
#: Name under which the samples of a run are stored among its metrics.
_SERIES = "series"
_PUT = "INSERT OR REPLACE INTO run VALUES (?, ?, ?, ?, ?, ?, ?, ?)"


@dataclass(frozen=True)
class Finished:
    """A finished run: its metrics, duration in seconds, and samples, if any."""

    metrics: dict[str, Any]
    wall_seconds: float
    series: Mapping[str, Sequence[float]] = field(default_factory=dict)


class Store(AbstractContextManager["Store"]):
    """The database of finished runs in a folder; only one process at a time can use it."""

    def __init__(self, folder: Path) -> None:
        """Open the database, or create it."""
        self.path = folder / STORE_NAME
        check_folder(folder)
        writable_folder(folder)
        with self._sentences():
            self._database = sqlite3.connect(self.path, isolation_level=None, timeout=1.0)
        try:
            with self._sentences():
                self._open()
        except BaseException:
            self.close()
            raise

    def _open(self) -> None:
        run = self._database.execute
        run("PRAGMA locking_mode = EXCLUSIVE")
        run("PRAGMA synchronous = FULL")
        run("BEGIN EXCLUSIVE")
        application = run("PRAGMA application_id").fetchone()[0]
        known = run("PRAGMA user_version").fetchone()[0]
        tables = run("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if application == 0 and known == 0 and tables == 0:
            # The database is new, or its creation was interrupted.
            run(_SCHEMA)
            run(f"PRAGMA application_id = {_APPLICATION}")
            run(f"PRAGMA user_version = {_FORMAT}")
        elif application != _APPLICATION:
            raise SsdgymError(f"{self.path}: is no store of ssdgym; give --out another folder")
        elif known != _FORMAT:
            raise SsdgymError(
                f"{self.path}: was written by another version of ssdgym; give --out another folder"
            )
        elif (problem := run("PRAGMA quick_check(1)").fetchone()[0]) != "ok":
            raise sqlite3.DatabaseError(problem)
        run("COMMIT")

    def finished(self, keys: Iterable[str]) -> dict[str, Finished]:
        """Return, by key, those of the runs with the given keys that have finished."""
        wanted = set(keys)
        found = {}
        with self._sentences():
            rows = self._database.execute("SELECT key, metrics, wall_seconds FROM run WHERE state = 'done'")
            for key, metrics, wall_seconds in rows:
                if key in wanted:
                    try:
                        read = json.loads(metrics)
                        found[key] = Finished(read, float(wall_seconds), read.pop(_SERIES, {}))
                    except (TypeError, ValueError, AttributeError) as error:
                        raise sqlite3.DatabaseError(f"a run's metrics are no JSON: {error}") from error
        return found

    def keep(self, runs: Sequence[tuple[str, str, Finished]]) -> None:
        """Store finished runs, given as (key, spec, outcome), in one transaction."""
        self._put([(key, spec, "done", _text(done), done.wall_seconds, None) for key, spec, done in runs])

    def keep_error(self, runs: Sequence[tuple[str, str]], error: str) -> None:
        """Record that runs, given as (key, spec), have failed. A later grid with these runs repeats them."""
        self._put([(key, spec, "failed", None, None, error) for key, spec in runs])

    def _put(self, rows: list[tuple[Any, ...]]) -> None:
        with self._sentences():
            self._database.execute("BEGIN")
            try:
                self._database.executemany(_PUT, [(*row, ssdgym.__version__, engine_hash()) for row in rows])
                self._database.execute("COMMIT")
            except sqlite3.Error:
                if self._database.in_transaction:
                    self._database.execute("ROLLBACK")
                raise

    def others(self, keys: Iterable[str]) -> tuple[int, int]:
        """Count the finished runs with other keys: those of this version and engine, and all others."""
        wanted, code = set(keys), (ssdgym.__version__, engine_hash())
        with self._sentences():
            rows = self._database.execute("SELECT key, version, engine_hash FROM run WHERE state = 'done'")
            same = [tuple(made_by) == code for key, *made_by in rows if key not in wanted]
        return sum(same), len(same) - sum(same)

    def close(self) -> None:
        """Close the database, so that another process can open it."""
        self._database.close()

    def __exit__(self, *error: object) -> None:
        """Close the database."""
        self.close()

    @contextmanager
    def _sentences(self) -> Iterator[None]:
        """Convert errors of SQLite to `SsdgymError`."""
        try:
            yield
        except sqlite3.Error as error:
            raise SsdgymError(f"{self.path}: {_advice(error)}") from error


def check_folder(folder: Path) -> None:
    """Raise `SsdgymError` if a folder contains files but no store of runs; hidden files do not count."""
    try:
        found = sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))
    except FileNotFoundError:
        return
    except OSError as error:
        raise SsdgymError(
            f"{folder}: cannot be written to ({error.strerror}); choose another output folder"
        ) from None
    if found and STORE_NAME not in found:
        raise SsdgymError(
            f"{folder}: holds {found[0]} and no {STORE_NAME}, so it is not the folder of an experiment; "
            "give --out a new or empty folder"
        )


def _text(done: Finished) -> str:
    return json.dumps({**done.metrics, _SERIES: done.series} if done.series else done.metrics)


def _advice(error: sqlite3.Error) -> str:
    text = str(error)
    if "full" in text or "disk I/O" in text:
        return (
            f"cannot be written ({text}); free some space and give the same command again, "
            "the finished runs are kept"
        )
    if "locked" in text or "busy" in text:
        return "another process is writing to it; wait for that to end, or give --out another folder"
    if "readonly" in text or "unable to open" in text:
        return f"cannot be written ({text}); make it writable, or give --out another folder"
    return f"is damaged ({text}); move it out of the way and evaluate anew, or give --out another folder"
