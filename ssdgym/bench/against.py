"""Measure two revisions in turns: the sources that run, and another revision in a worktree of its own.

Both use the virtual environment of this process; each run is a process of its own, `ssdgym bench --json`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from ssdgym.bench.measurement import Spread
from ssdgym.errors import SsdgymError

_PACKAGE = Path(__file__).parents[1]
#: Folders at the top of the repository that are installed inside the package.
_INSIDE = ("agents", "baselines", "configs")


class Comparison(NamedTuple):
    """What both revisions reach in one measurement.

    Attributes:
        unit: of the values; per second, or seconds.
        other: of the other revision.
        own: of the sources that run.
        ratio: of `own` to `other` in the same turn.
    """

    name: str
    unit: str
    other: Spread
    own: Spread
    ratio: Spread

    @property
    def is_slower(self) -> bool:
        """Whether the sources that run were the slower ones in every turn."""
        return self.ratio.low > 1 if self.unit == "s" else self.ratio.high < 1

    def as_dict(self) -> dict[str, Any]:
        """Return everything, ready for JSON."""
        spreads = {name: getattr(self, name)._asdict() for name in ("other", "own", "ratio")}
        return self._asdict() | spreads


def measure_against(
    revision: str, turns: int = 5, *, start: bool = True, announce: Callable[[str], None] | None = None
) -> list[Comparison]:
    """Measure the sources that run and another revision in turns; return the measurements that both have."""
    announce_next = announce or (lambda text: None)
    own_tree = _repository()
    commit = _commit(own_tree, revision)
    found: tuple[list[dict], list[dict]] = [], []
    with _checked_out(own_tree, commit, revision) as other_tree:
        for turn in range(turns):
            for name, tree, results in zip(
                (revision, "the sources here"), (other_tree, own_tree), found, strict=True
            ):
                announce_next(f"{name}, turn {turn + 1} of {turns}")
                results.append(_measured(tree, name, start=start))
    others, owns = found
    for missing in sorted(set(others[0]) ^ set(owns[0])):
        announce_next(f"nothing to compare with: {missing}")
    return [_compared(name, others, owns) for name in owns[0] if name in others[0]]


def _compared(name: str, others: Sequence[dict], owns: Sequence[dict]) -> Comparison:
    values = [(other[name]["value"], own[name]["value"]) for other, own in zip(others, owns, strict=True)]
    return Comparison(
        name,
        owns[0][name]["unit"],
        Spread.of([other for other, _ in values]),
        Spread.of([own for _, own in values]),
        Spread.of([own / other for other, own in values]),
    )


def _repository() -> Path:
    """Return the folder of the repository whose sources run."""
    tree = _PACKAGE.parent
    top = _git(tree, "rev-parse", "--show-toplevel")
    if top.returncode or Path(top.stdout.strip()).resolve() != tree.resolve():
        raise SsdgymError(f"--against: {_PACKAGE} is of no git repository; run it from a clone of ssdgym.")
    return tree


def _commit(tree: Path, revision: str) -> str:
    found = _git(tree, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    if found.returncode:
        raise SsdgymError(f"--against {revision}: the repository {tree} has no such revision; see `git log`.")
    commit = found.stdout.strip()
    if _git(tree, "cat-file", "-e", f"{commit}:ssdgym/cli/bench.py").returncode:
        raise SsdgymError(f"--against {revision}: it has no `ssdgym bench`; choose a later revision.")
    return commit


@contextmanager
def _checked_out(tree: Path, commit: str, revision: str) -> Iterator[Path]:
    """Check a commit out in a worktree that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="ssdgym-against-") as folder:
        other = Path(folder) / "tree"
        added = _git(tree, "worktree", "add", "--detach", str(other), commit)
        if added.returncode:
            raise SsdgymError(f"--against {revision}: it cannot be checked out ({_last_line(added.stderr)})")
        try:
            for name in _INSIDE:
                # Otherwise those of the installed sources would be found.
                (other / "ssdgym" / name).symlink_to(other / name)
            yield other
        finally:
            _git(tree, "worktree", "remove", "--force", str(other))


def _measured(tree: Path, name: str, *, start: bool) -> dict[str, dict]:
    """Return the measurements of one run, by name."""
    options = ["--repeats", "1", "--start" if start else "--no-start", "--json"]
    finished = subprocess.run(
        [sys.executable, "-m", "ssdgym", "bench", *options],
        cwd=tree,  # where -m finds the sources first
        env={**os.environ, "PYTHONPATH": str(tree)},
        capture_output=True,
        text=True,
    )
    if finished.returncode:
        raise SsdgymError(f"--against: {name} cannot be measured ({_last_line(finished.stderr)})")
    return {item["name"]: item for item in json.loads(finished.stdout)}


def _git(tree: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(["git", "-C", str(tree), *arguments], capture_output=True, text=True)
    except FileNotFoundError as error:
        raise SsdgymError("--against: git is not installed; install it.") from error


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or ["no message"])[-1]
