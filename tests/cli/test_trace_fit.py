"""`ssdgym trace fit`: a trace and its twin side by side, and a file that can be played."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cli.conftest import Run


@pytest.fixture
def trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three thousand writes of pages, times in bursts, in a folder where the cache is empty."""
    monkeypatch.setenv("SSDGYM_CACHE_DIR", str(tmp_path / "cache"))
    rng = np.random.default_rng(1)
    times = np.cumsum(rng.exponential(10**5, 3000) * np.where(rng.random(3000) < 0.01, 300, 1)).astype(int)
    pages = np.minimum(rng.zipf(1.3, 3000), 2000)
    ops = np.where(rng.random(3000) < 0.3, "Read", "Write")
    path = tmp_path / "made.csv"
    lines = [
        f"{10**17 + at},hm,0,{op},{page * 4096},4096,1"
        for at, op, page in zip(times, ops, pages, strict=True)
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_fit__writes_a_synthetic_trace_that_can_be_looked_at(
    trace: Path, tmp_path: Path, printed: Callable[..., Any]
) -> None:
    out = tmp_path / "twin.yaml"
    found = printed("trace", "fit", trace, "--out", out)
    figures = found["figures"]["unique_bytes_written"]
    made = printed("trace", "info", out)
    assert made["requests"] == 3000 and made["unique_bytes_written"] == figures["twin"]
    assert figures["twin"] == pytest.approx(figures["trace"], rel=0.1)
    assert found["synthetic"]["name"] == "made"


def test_fit__of_a_file_of_no_known_format__goes_by_its_columns(
    trace: Path, printed: Callable[..., Any]
) -> None:
    figures = printed("trace", "fit", trace)["figures"]
    trace.write_text("".join(f"x;{line.replace(',', ';')}\n" for line in trace.read_text().splitlines()))
    columns = "- time:100ns host disk op offset:B size:B -"
    assert printed("trace", "fit", trace, "--columns", columns)["figures"] == figures


def test_fit__text_has_both_side_by_side__and_says_what_was_chosen(trace: Path, run: Run) -> None:
    text = run(["trace", "fit", trace]).out
    assert "made: replay_share" in text and "life_correlation" in text


def test_fit__a_file_that_exists__refused(trace: Path, refusal: Callable[..., str]) -> None:
    assert "exists already; give another name" in refusal("trace", "fit", trace, "--out", trace)


@pytest.mark.skipif("SSDGYM_TRACES" not in os.environ, reason="SSDGYM_TRACES names no folder of traces")
def test_fit__of_a_real_sample_is_as_near_as_the_documentation_says(printed: Callable[..., Any]) -> None:
    path = Path(os.environ["SSDGYM_TRACES"]) / "ssdsim-fin1-head.ascii.gz"
    if not path.exists():
        pytest.skip(f"SSDGYM_TRACES has no {path.name}")
    figures = printed("trace", "fit", path)["figures"]
    assert figures["dispersion_1s"]["trace"] == pytest.approx(21.6, abs=0.05)
    assert figures["dispersion_1s"]["twin"] == pytest.approx(20.4, abs=0.05)
    assert figures["life_correlation"]["trace"] == pytest.approx(0.641, abs=1e-3)
    assert figures["life_correlation"]["twin"] == pytest.approx(0.607, abs=1e-3)
