"""Rules of one's own by their module: nothing is executed that was not named by who executes it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ssdgym.errors import SsdgymError
from ssdgym.policy import get_policy, placement_policy, victim_policy
from ssdgym.policy.names import import_rules, modules_of


@pytest.mark.parametrize(
    ("policy", "modules"),
    [
        ("my_rules:half", ["my_rules"]),
        ("my.rules:half(a=1)+sep_gc+own:idle", ["my.rules", "own"]),
        ("greedy+sepbit", []),
        ("agent:victim-v1-seed1+agent:placement-v2", []),
        ("runs/demo/agent.zip", []),
    ],
)
def test_modules_of__a_policy(policy: str, modules: list[str]) -> None:
    assert modules_of(policy) == modules


def test_import_rules__then_the_rule_is_found_with_its_parameters(own_rules: str) -> None:
    import_rules(f"{own_rules}:last", trust=True)
    policy = get_policy(f"{own_rules}:last(most=3)")
    assert policy.label == "last(most=3)" and policy.main.kind == "merge"


def test_import_rules__without_trust__is_not_even_imported(own_rules: str) -> None:
    Path(f"{own_rules}.py").write_text("raise SystemExit('imported')", encoding="utf-8")
    with pytest.raises(SsdgymError, match="executes code of the module it names; if you trust it"):
        import_rules(f"{own_rules}:last", trust=False)
    with pytest.raises(SsdgymError, match=f"the module {own_rules} is not imported"):
        get_policy(f"{own_rules}:last")
    assert own_rules not in sys.modules


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("no_such_module:rule", "policy no_such_module:rule: there is no module no_such_module"),
        ("os:greedy", "policy os:greedy: os has no rule of the name greedy"),
        ("os:system", "policy os:system: os has no rule of the name system; correct it."),
    ],
)
def test_get_policy__of_what_is_no_rule__says_so(name: str, said: str) -> None:
    with pytest.raises(SsdgymError) as caught:
        import_rules(name, trust=True)
        get_policy(name)
    assert str(caught.value).startswith(said)


def test_rule__an_option_of_another_kind__is_refused() -> None:
    """A placement cannot be plain Python: only victim and merge rules are called in Python."""
    with pytest.raises(SsdgymError, match="policy plain: every placement is compiled; leave compiled out"):
        placement_policy("plain", source="a test", compiled=False)(lambda *arguments: 0)
    with pytest.raises(TypeError, match="policy plain: unexpected keyword argument 'streams'"):
        victim_policy("plain", source="a test", streams=2)(lambda *arguments: 0)


def test_placement__that_cannot_be_compiled__is_not_said_to_have_another_way() -> None:
    placement_policy("worded", source="a test")(lambda view, plane, lpn, source, parameters: "a text")
    with pytest.raises(SsdgymError, match="correct it, since every placement is compiled") as caught:
        _ = get_policy("greedy+worded").beside["placement"].address
    assert "compiled=False" not in str(caught.value)


@pytest.mark.parametrize("ending", ["", ".py"])
def test_get_policy__of_a_module__asks_for_its_rule_and_imports_nothing(own_rules: str, ending: str) -> None:
    with pytest.raises(SsdgymError, match=rf"is a module; name one of its rules, {own_rules}:RULE\.$"):
        get_policy(own_rules + ending)
    assert own_rules not in sys.modules


def test_get_policy__of_a_name_like_no_other__suggests_none() -> None:
    with pytest.raises(SsdgymError, match="policy numpy does not exist; known: baseline, "):
        get_policy("numpy")
