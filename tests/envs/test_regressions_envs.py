"""Environments used in ways that once ended in a crash, a hang or a traceback."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ssdgym.envs import EraseVictimEnv, EraseVictimVectorEnv
from ssdgym.errors import SsdgymError

SMALL: dict[str, Any] = {"device": "tiny", "ftl": {"timing": "none"}, "horizon": 128}


def test_pickle__in_another_process__goes_on_alike(tmp_path: Path) -> None:
    """Machine code is elsewhere in every process: an address that travels is a crash."""
    env = EraseVictimEnv(**SMALL)
    env.reset(seed=3)
    saved = tmp_path / "env.pickle"
    saved.write_bytes(pickle.dumps(env))
    script = (
        "import pickle, sys\n"
        "env = pickle.loads(open(sys.argv[1], 'rb').read())\n"
        "print(sum(env.step(int(env.action_masks().argmax()))[1] for _ in range(5)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(saved)], capture_output=True, text=True, check=True, timeout=120
    )
    here = sum(env.step(int(env.action_masks().argmax()))[1] for _ in range(5))
    assert float(done.stdout) == here


def test_trace__for_ever_without_a_write__refused_and_no_hang(tmp_path: Path) -> None:
    trace = tmp_path / "reads.csv"
    trace.write_text("".join(f"{k},h,0,Read,{4096 * k},4096,1\n" for k in range(9)))
    with pytest.raises(SsdgymError, match="writes nothing"):
        EraseVictimEnv(**SMALL, workload={"kind": "trace", "path": str(trace), "loops": None})


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"device": []}, "device names none"),
        ({"objective": "relocations"}, "objective must be a mapping"),
        ({"proposers": "greedy"}, "proposers must be a list"),
        ({"proposers": 5}, "proposers must be a list"),
        ({"horizon": 2**63}, "horizon must be a whole number"),
        ({"preconditioning_seed": -1}, "preconditioning_seed must be"),
        ({"ftl": "none"}, "ftl must be a mapping"),
        ({"num_envs": 0}, "num_envs must be"),
        ({"num_envs": 1.5}, "num_envs must be"),
    ],
)
def test_construction__garbage__one_sentence(arguments: dict[str, Any], reason: str) -> None:
    with pytest.raises(SsdgymError, match=reason):
        EraseVictimVectorEnv(**{"num_envs": 2, **SMALL, **arguments})


def test_horizon__long__keeps_a_bounded_number_of_latencies() -> None:
    env = EraseVictimEnv(device="tiny", horizon=10**9)
    assert env.episodes.state.latency.nbytes < 2**25


def test_vector_step__before_a_reset__says_so() -> None:
    with pytest.raises(SsdgymError, match="call reset first"):
        EraseVictimVectorEnv(2, **SMALL).step(np.zeros(2, np.int64))
