"""`ssdgym zoo watch`: an episode in the terminal, and as a GIF."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image

from tests.cli.conftest import Run

TINY = ("--env-arg", "device=tiny", "--env-arg", "ftl={timing: none}", "--env-arg", "horizon=64")


def test_watch__to_the_end__the_last_frame_has_the_whole_episode(run: Run) -> None:
    printed = run(["zoo", "watch", *TINY, "--seed", 3]).out
    assert "64 host pages written" in printed and "plane 1" in printed
    assert "greedy: " in printed
    assert (
        run(["zoo", "watch", *TINY, "--seed", 3]).out
        == printed
        != run(["zoo", "watch", *TINY, "--seed", 4]).out
    )


def test_watch__gif__has_a_frame_for_each_decision(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "new" / "episode.gif"
    words = ("--agent", "random_action", "--decisions", 5, "--gif", path, "--fps", 20)
    printed = run(["zoo", "watch", *TINY, *words]).out
    assert "random_action: 5 decisions" in printed and f"{path}: 6 frames" in printed
    with Image.open(path) as picture:
        assert picture.n_frames == 6 and picture.size[0] > 300 and picture.info["duration"] == 50
        frames = set()
        for number in range(6):
            picture.seek(number)
            frames.add(picture.convert("RGB").tobytes())
    assert len(frames) == 6


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--policy", "best"], "policy best is no proposer of the environment, which has greedy"),
        (["--policy", "greedy", "--agent", "random_action"], "give one of the two"),
        (["Erase-v9"], "is not registered"),
    ],
)
def test_wrong_input__is_one_sentence(words: list[str], said: str, refusal: Callable[..., str]) -> None:
    assert said in refusal("zoo", "watch", *words)
