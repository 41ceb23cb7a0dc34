"""The environments in the tools that people have: each trains, or records, at smoke size.

Stable-Baselines3 and the script in the style of CleanRL are in `tests/docs/test_learning.py`, Minari in
`tests/cli/test_dataset.py`.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import gymnasium as gym
import pytest

import ssdgym  # noqa: F401  registers the environments

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
SMALL = ("--device", "tiny", "--horizon", "256", "--batch", "256", "--decisions", "512")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "packages"),
    [
        ("rllib_ppo.py", ("ray", "tree")),
        ("torchrl_ppo.py", ("torchrl",)),
        ("tianshou_ppo.py", ("tianshou",)),
    ],
)
def test_example__trains_by_valid_actions_alone(script: str, packages: tuple[str, ...]) -> None:
    for package in packages:
        pytest.importorskip(package, reason=f"the package {package} is not installed")
    found = subprocess.run(
        [sys.executable, str(EXAMPLES / script), *SMALL],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    assert found.returncode == 0, found.stderr
    decisions, value = re.findall(r"^(\d+) decisions, .*return (-?[\d.]+)$", found.stdout, re.MULTILINE)[-1]
    assert int(decisions) >= 512 and float(value) < 0  # an untrained network is worse than greedy here


def test_record_video__writes_an_episode(tmp_path: Path) -> None:
    pytest.importorskip("moviepy", reason="the extra video is not installed")
    arguments = {"device": "tiny", "ftl": {"timing": "none"}, "horizon": 16}
    env = gym.make("ssdgym/EraseVictim-v0", render_mode="rgb_array", **arguments)
    env = gym.wrappers.RecordVideo(env, str(tmp_path), name_prefix="tiny")
    _, info = env.reset(seed=1)
    over = False
    while not over:
        _, _, _, over, info = env.step(info["proposed"][0])
    env.close()
    (video,) = tmp_path.glob("*.mp4")
    assert video.stat().st_size > 1000
