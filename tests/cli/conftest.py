"""Run a command inside the process of a test, and read what it prints."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import pytest

from ssdgym.cli import WRONG_INPUT, main


class Output(NamedTuple):
    """What a command printed."""

    out: str
    err: str


#: Runs the words of a command, which ends with a code, 0 by default.
Run = Callable[..., Output]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def run_command(words: Sequence[object], code: int = 0) -> Output:
        capsys.readouterr()
        assert main([str(word) for word in words]) == code
        return Output(*capsys.readouterr())

    return run_command


@pytest.fixture
def refusal(run: Run) -> Callable[..., str]:
    """Return the one sentence with which a command refuses its input; it prints nothing else."""

    def refused(*words: object) -> str:
        output = run(words, WRONG_INPUT)
        assert output.out == "" and output.err.count("\n") == 1
        return output.err

    return refused


@pytest.fixture
def printed(run: Run) -> Callable[..., Any]:
    """Return what a command prints with `--json`."""
    return lambda *words: json.loads(run([*words, "--json"]).out)
