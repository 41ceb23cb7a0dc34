"""What rules are made of: results are kept under the code that they come from."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ssdgym.policy import get_policy
from ssdgym.policy.names import files_of


def names_of(policy: str) -> set[str]:
    rules = get_policy(policy).parts
    functions = [f for rule in rules for f in (rule.function, *rule.hooks.values()) if f]
    return {file.name for file in files_of(functions)}


def test_files__of_a_rule_in_one_file__are_that_file() -> None:
    assert names_of("greedy") == {"greedy.py"}
    assert names_of("greedy+sepbit") == {"greedy.py", "sepbit.py"}


def test_files__of_a_rule_with_helpers__are_theirs_too() -> None:
    assert {"chain.py", "cost_benefit.py", "placement.py"} <= names_of("midas")
    assert {"epochs.py", "model.py", "records.py"} <= names_of("midas")
    assert "decorators.py" not in names_of("midas"), "what all rules import is not a part of one"


def test_digest__of_a_rule__changes_with_a_helper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "helped"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "helper.py").write_text("LIMIT = 3\n")
    (folder / "rule.py").write_text("from .helper import LIMIT\ndef rule():\n    return LIMIT\n")
    monkeypatch.syspath_prepend(tmp_path)
    from importlib import import_module

    rule = import_module("helped.rule").rule
    before = [file.read_bytes() for file in files_of([rule])]
    (folder / "helper.py").write_text("LIMIT = 4\n")
    assert [file.read_bytes() for file in files_of([rule])] != before
    for name in ("helped", "helped.helper", "helped.rule"):
        del sys.modules[name]


def test_function_typed_at_a_prompt__has_no_file() -> None:
    space: dict[str, object] = {"__name__": "__main__"}
    exec("def rule(): return 1", space)
    assert "<string>" in {str(file) for file in files_of([space["rule"]])}  # type: ignore[list-item]
