"""`ssdgym zoo dataset`: a data set of Minari is written, loaded back and trained on."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

minari = pytest.importorskip("minari", reason="the extra offline is not installed")

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "offline.py"
SMALL = ("--env-arg", "ftl={timing: none}", "--env-arg", "horizon=1024", "--reference-episodes", 1)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    return tmp_path


@pytest.fixture
def mixed(printed: Callable[..., Any]) -> dict[str, Any]:
    """Return what the command prints of a data set that greedy and random actions have played in turn."""
    words = ("erase/mixed-v0", "--policy", "greedy", "--agent", "random_action", "--episodes", 3, "--seed", 7)
    found: dict[str, Any] = printed("zoo", "dataset", *words, *SMALL)
    return found


def test_dataset__loaded_back__has_the_episodes_of_the_environment(mixed: dict[str, Any]) -> None:
    dataset = minari.load_dataset("erase/mixed-v0")
    env = dataset.recover_environment()
    assert env.observation_space == dataset.observation_space
    assert [m["behaviour"] for m in dataset.storage.get_episode_metadata(range(3))] == [
        "greedy",
        "random_action",
        "greedy",
    ]
    for number, episode in enumerate(dataset.iterate_episodes()):
        observation, _ = env.reset(seed=7 + number)
        for step, action in enumerate(episode.actions):
            for key, values in episode.observations.items():
                assert np.array_equal(values[step], observation[key])
            if number != 1:  # greedy stands first
                assert action == episode.infos["proposed"][step, 0]
            observation, reward, _, over, _ = env.step(action)
            assert reward == episode.rewards[step]
        assert over and episode.truncations[-1]


def test_dataset__normalised_scores__are_0_for_random_actions_and_1_for_the_best(
    mixed: dict[str, Any],
) -> None:
    dataset = minari.load_dataset("erase/mixed-v0")
    returns = mixed["reference_returns"]
    scores = {name: minari.get_normalized_score(dataset, np.array([r]))[0] for name, r in returns.items()}
    assert scores["random_action"] == 0 and scores[mixed["best"]] == 1
    assert max(scores, key=scores.__getitem__) == mixed["best"] != "random_action"
    played = [float(episode.rewards.sum()) for episode in dataset.iterate_episodes()]
    assert mixed["returns"] == pytest.approx({"greedy": np.mean(played[::2]), "random_action": played[1]})


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["bc", "iql"])
def test_example__trains_on_the_data_set(mixed: dict[str, Any], algorithm: str) -> None:
    pytest.importorskip("torch")
    words = ("--dataset", "erase/mixed-v0", "--algorithm", algorithm, "--steps", "3", "--episodes", "1")
    found = subprocess.run(
        [sys.executable, str(EXAMPLE), *words], capture_output=True, text=True, env={**os.environ}
    )
    assert found.returncode == 0, found.stderr
    assert f"{algorithm}: normalised score" in found.stdout


def test_dataset__there_is_one_of_that_id__says_what_to_do(
    mixed: dict[str, Any], refusal: Callable[..., str]
) -> None:
    assert "give the next version" in refusal("zoo", "dataset", "erase/mixed-v0", *SMALL)


def test_minari__missing__says_what_to_install(
    refusal: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "minari", None)
    said = refusal("zoo", "dataset", "aa/b-v0")
    assert "package minari: install it with pip install 'ssdgym[offline]'" in said
