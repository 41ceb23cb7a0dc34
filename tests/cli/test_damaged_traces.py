"""`ssdgym trace info` of damaged files: figures, or one sentence and exit code 2."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ssdgym.cli import WRONG_INPUT, main
from tests.workloads.traces.fuzzing import FORMATS, PACKERS, damaged_files, on_files


def read_or_refuse(files: int, folder: Path, capsys: pytest.CaptureFixture[str]) -> dict[int, int]:
    """Draw damaged files of all formats, plain and packed; return how many ended with each exit code."""
    path, endings = folder / "trace", {0: 0, WRONG_INPUT: 0}

    @on_files(files)
    @given(st.data())
    def ends_well(data: st.DataObject) -> None:
        content = data.draw(damaged_files(data.draw(st.sampled_from(FORMATS))))
        if packing := data.draw(st.sampled_from((None, None, None, *PACKERS))):
            content = PACKERS[packing](content)
            content = content[: data.draw(st.integers(0, len(content)))] + data.draw(st.binary(max_size=3))
        path.write_bytes(content)
        capsys.readouterr()
        code = main(["trace", "info", str(path), "--json"])
        printed = capsys.readouterr()
        if code == 0:
            assert json.loads(printed.out)["requests"] > 0
        else:
            assert code == WRONG_INPUT
            assert printed.out == ""
            (sentence,) = printed.err.splitlines()
            assert sentence.startswith(f"ssdgym: {path}: ") and sentence.endswith(".")
            assert sentence.isprintable()
        endings[code] += 1
        shutil.rmtree(folder / "cache", ignore_errors=True)

    ends_well()
    return endings


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSDGYM_CACHE_DIR", str(tmp_path / "cache"))


def test_damaged_files__end_in_figures_or_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    endings = read_or_refuse(150, tmp_path, capsys)
    assert min(endings.values()) > 10


@pytest.mark.slow
def test_ten_thousand_damaged_files__end_in_figures_or_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    endings = read_or_refuse(10_000, tmp_path, capsys)
    assert endings[WRONG_INPUT] > 1000
