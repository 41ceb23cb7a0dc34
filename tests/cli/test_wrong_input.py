"""Command lines that once ended in a traceback, a hang or a silent loss."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ssdgym.cli import WRONG_INPUT, main


def test_yaml__nested_without_end__is_one_sentence(tmp_path: Path, refusal: Callable[..., str]) -> None:
    deep = tmp_path / "deep.yaml"
    deep.write_text("[" * 5000)
    assert "nested too deeply" in refusal("run", "--device", str(deep))


def test_trace__too_small_for_block_groups__says_what_to_do(
    tmp_path: Path, refusal: Callable[..., str]
) -> None:
    trace = tmp_path / "few.csv"
    trace.write_text("".join(f"{k},h,0,Write,{16384 * k},16384,1\n" for k in range(50)))
    arguments = ["run", "--device", "speedupgc-64l-small", "--policy", "speedupgc", "--workload", str(trace)]
    text = refusal(*arguments)
    assert "the trace touches 50 pages, and policy speedupgc cannot run on device speedupgc-64l" in text
    assert "geometry.blocks_per_plane = 1 is too small for ftl.placement hotness_groups" in text
    assert "give --no-size-to-trace" in text


def test_trace__two_blocks_short_of_its_block_groups__gets_them(
    tmp_path: Path, printed: Callable[..., Any]
) -> None:
    trace = tmp_path / "large.csv"
    trace.write_text(f"0,h,0,Write,0,{107_515 * 16384},1\n")
    arguments = ["--workload", trace, "--policy", "speedupgc", "--timing", "none"]
    result = printed("run", "--device", "speedupgc-64l-small", *arguments)
    assert result["device"] == "speedupgc-64l-small[107515 pages + 2 blocks per plane]"
    assert result["metrics"]["host_pages_written"] == 107_515


@pytest.mark.parametrize("allocation", ["static", "dynamic"])
@pytest.mark.parametrize("policy", ["greedy", "greedy+sep_gc"])
@pytest.mark.parametrize("pages", [1, 50, 64, 200])
def test_trace__smaller_than_the_blocks_kept_free__gets_some_more_of_them(
    pages: int, policy: str, allocation: str, tmp_path: Path, printed: Callable[..., Any]
) -> None:
    trace = tmp_path / "few.csv"
    trace.write_text("".join(f"{k},h,0,Write,{4096 * (k % pages)},4096,1\n" for k in range(5 * pages)))
    arguments = ["--workload", trace, "--policy", policy, "--ftl", f"allocation={allocation}"]
    result = printed("run", "--device", "tiny", *arguments)
    assert result["device"].startswith(f"tiny[{pages} pages + ")
    assert result["metrics"]["host_pages_written"] == 5 * pages
    assert result["metrics"]["lost_pages"] == 0


def test_trace__smaller_than_a_share_kept_free__says_what_to_do(
    tmp_path: Path, refusal: Callable[..., str]
) -> None:
    trace = tmp_path / "few.csv"
    trace.write_text("".join(f"{k},h,0,Write,{4096 * k},4096,1\n" for k in range(500)))
    arguments = ["run", "--device", "tiny", "--workload", str(trace), "--ftl", "gc.free_fraction=0.5"]
    assert "no room for its GC threshold; give --no-size-to-trace" in refusal(*arguments)


def test_trace__smaller_than_its_device__fits_it_unsized(tmp_path: Path) -> None:
    trace = tmp_path / "few.csv"
    trace.write_text("".join(f"{k},h,0,Write,{4096 * k},4096,1\n" for k in range(50)))
    assert main(["run", "--device", "tiny", "--workload", str(trace), "--no-size-to-trace", "--json"]) == 0


def test_trace__of_more_pages_than_can_be_numbered__refused(
    tmp_path: Path, refusal: Callable[..., str]
) -> None:
    bomb = tmp_path / "bomb.csv"
    bomb.write_text("".join(f"{k},h,0,Write,{2**32 * k},{2**31 - 1},1\n" for k in range(5000)))
    assert "touch fewer" in refusal("run", "--device", "tiny", "--workload", str(bomb))


def test_workload__reads_only_for_ever__refused_and_no_hang(
    tmp_path: Path, refusal: Callable[..., str]
) -> None:
    workload = tmp_path / "reads.yaml"
    workload.write_text("kind: uniform\nread_fraction: 1\n")
    assert "writes nothing" in refusal("run", "--device", "tiny", "--workload", str(workload))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_output__to_a_full_disk__is_one_sentence() -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "ssdgym", "--version"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
        )
    assert done.returncode == WRONG_INPUT
    assert "no space is left" in done.stderr
    assert done.stderr.count("\n") == 1
