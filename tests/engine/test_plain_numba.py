"""Without the linking of parts, numba alone compiles the same results."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from ssdgym.engine.compiler.linking import TRIED

ROOT = Path(__file__).parents[2]


def test_tried__is_what_the_package_requires() -> None:
    lines = (ROOT / "setup.cfg").read_text().splitlines()
    (required,) = [Requirement(line.strip()) for line in lines if line.strip().startswith("numba>")]
    (_, first), (_, last) = TRIED
    assert str(required.specifier) == f"<0.{last + 1},>=0.{first}"


def test_another_version__is_refused_with_what_to_install() -> None:
    old = "numba.version_info = numba.version_info._replace(short=(0, 61))"
    code = f"import numba; {old}; import ssdgym.engine.entries"
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert run.returncode != 0
    assert "SsdgymError: ssdgym compiles with numba 0.63 to 0.68" in run.stderr
    assert "pip install numba==0.68.*" in run.stderr


@pytest.mark.slow  # a compile of some minutes
def test_plain_numba__leaves_the_golden_bits(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "tests.engine.golden"],
        cwd=ROOT,
        env={**os.environ, "SSDGYM_PLAIN_NUMBA": "1", "SSDGYM_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout == ""
    assert list(tmp_path.glob("numba/*-plain/**/*.nbc"))
