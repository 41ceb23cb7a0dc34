"""`ssdgym zoo watch`: an episode in the terminal, and as a GIF."""

from __future__ import annotations

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
