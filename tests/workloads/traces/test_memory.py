"""A trace of any length is read, cached and played in bounded memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from ssdgym.engine.compiler.cache import compile_cache_folder
from ssdgym.workloads import READ, WRITE
from ssdgym.workloads.traces.record import RECORD, Records, Volumes
from ssdgym.workloads.traces.writing import writable_format, write

LINES = 20_000_000
_BLOCK = 500_000
_SPACE_BYTES = 4 << 30
_MOST_BYTES = 1 << 30

#: Runs a command line in this process, then says how much memory it took at most.
_RUN = (
    "import resource, sys\n"
    "from ssdgym.cli import main\n"
    "status = main(sys.argv[1:])\n"
    "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)\n"
    "sys.exit(status)\n"
)


def blocks(lines: int) -> Iterator[Records]:
    """Yield requests of 1 to 4 pages over 4 GiB, half of them writes."""
    rng = np.random.default_rng(1)
    for first in range(0, lines, _BLOCK):
        records = np.zeros(min(_BLOCK, lines - first), RECORD)
        records["time_ns"] = (first + np.arange(len(records))) * 10_000
        records["size_bytes"] = rng.integers(1, 5, len(records)) * 4096
        records["offset_bytes"] = rng.integers(0, _SPACE_BYTES // 4096 - 4, len(records)) * 4096
        records["op"] = np.where(rng.random(len(records)) < 0.5, READ, WRITE)
        yield records


@pytest.mark.slow
def test_twenty_million_lines_are_read_cached_and_run_in_less_than_a_gibibyte(tmp_path: Path) -> None:
    path = tmp_path / "long.csv"
    with path.open("wb") as file:
        write(writable_format("msr"), file, blocks(LINES), Volumes(("hm_0",), (_SPACE_BYTES,)))
    command = [sys.executable, "-c", _RUN, "run", "--device", "demo", "--workload", str(path)]
    command += ["--timing", "none", "--json"]
    cache = tmp_path / "cache"
    cache.mkdir()
    (cache / "numba").symlink_to(compile_cache_folder().parent)
    for _ in ("parsed", "from the cache"):
        environment = {**os.environ, "SSDGYM_CACHE_DIR": str(cache)}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        result, most_bytes = done.stdout.rsplit("\n", 2)[:2]
        assert json.loads(result)["metrics"]["requests"] == LINES
        assert int(most_bytes) < _MOST_BYTES
