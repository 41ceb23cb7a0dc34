"""Run a command inside the process of a test, and read what it prints."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from ssdgym.cli import WRONG_INPUT, main


@pytest.fixture
def refusal(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Return the one sentence with which a command refuses its input; it prints nothing else."""

    def run(*arguments: object) -> str:
        capsys.readouterr()
        assert main([str(argument) for argument in arguments]) == WRONG_INPUT
        output = capsys.readouterr()
        assert output.out == "" and output.err.count("\n") == 1
        return output.err

    return run


@pytest.fixture
def printed(capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    """Return what a command prints with `--json`."""

    def run(*arguments: object) -> Any:
        capsys.readouterr()
        assert main([*(str(argument) for argument in arguments), "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    return run
