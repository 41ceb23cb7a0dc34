"""The public API called at random, in a process of its own: a signal or a hang is a failure of the test."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def played(seed: int, count: int, timeout_s: int) -> dict[str, float]:
    """Make so many calls in another process; return how many of each kind."""
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-m", "tests.fuzz.public_api", str(seed), str(count)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=timeout_s,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return dict(json.loads(done.stdout.splitlines()[-1]))


def test_random_calls__end_with_a_result_or_a_sentence() -> None:
    calls = played(seed=1, count=8_000, timeout_s=900)
    assert calls["refused"] > 500
    assert calls["environment step"] > 50
    assert min(calls.get(kind, 0) for kind in ("two_threads", "restore_damaged", "write_to_the_state")) > 100


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 5))
def test_random_calls__a_great_many(seed: int) -> None:
    played(seed=seed, count=200_000, timeout_s=3600)
