"""The arguments of environments: written once, documented in a table."""

from __future__ import annotations

import inspect
import re
from dataclasses import fields
from typing import Any

import pytest

from ssdgym.envs import (
    DecisionEnv,
    EraseVictimEnv,
    EraseVictimVectorEnv,
    Options,
    ParallelEraseEnv,
    ParallelEraseVectorEnv,
    erase_victim,
)
from ssdgym.errors import SsdgymError

PAIRS = [(EraseVictimEnv, EraseVictimVectorEnv), (ParallelEraseEnv, ParallelEraseVectorEnv)]
#: What the page of every environment has; the others are said once, on that of `DecisionEnv`.
HEADINGS = ["Description", "Action Space", "Observation Space", "Rewards", "Arguments"]
#: A row of a table of arguments: its name, and its default as Python.
ROW = re.compile(r"^ *\| `(\w+)` \| [^|]+ \| `([^`]+)` \|", re.MULTILINE)


def table(page: type) -> dict[str, Any]:
    """The defaults that the documentation of an environment names."""
    _, _, text = (page.__doc__ or "").partition("## Arguments")
    names = vars(erase_victim)
    return {name: eval(default, dict(names)) for name, default in ROW.findall(text.partition("\n    ## ")[0])}


@pytest.mark.parametrize(("single", "vector"), PAIRS)
def test_arguments__single_and_vector__the_same(single: Any, vector: Any) -> None:
    arguments = [dict(inspect.signature(make).parameters) for make in (single, vector)]
    for own in ("num_envs", "threads", "copy", "autoreset_mode", "max_episode_steps"):
        del arguments[1][own]
    assert arguments[0] == arguments[1]
    assert set(arguments[0]) == {"render_mode", *(field.name for field in fields(single.options_type))}


@pytest.mark.parametrize("single", [pair[0] for pair in PAIRS])
def test_page__has_gymnasium_s_headings_and_a_true_table_of_the_arguments(single: Any) -> None:
    assert re.findall(r"^ *## (.*)$", single.__doc__, re.MULTILINE) == HEADINGS
    assert {"Starting State", "Episode End", "Vectorized environment", "Version History"} <= set(
        re.findall(r"^ *## (.*)$", DecisionEnv.__doc__ or "", re.MULTILINE)
    )
    documented = {**table(DecisionEnv), **table(single)}
    assert documented == {field.name: field.default for field in fields(single.options_type)}
    assert set(table(DecisionEnv)) == {field.name for field in fields(Options)}


def test_decision_arguments__are_those_that_not_every_environment_has() -> None:
    assert EraseVictimEnv.options_type.decision_arguments() == ("features", "candidates", "proposers")
    assert set(ParallelEraseEnv.options_type.decision_arguments()) == {
        "features",
        "candidates",
        "most_blocks",
        "proposers",
    }


def test_arguments__unknown__refused_by_name() -> None:
    with pytest.raises(SsdgymError, match=r"no argument horizn; did you mean horizon\?"):
        EraseVictimEnv(horizn=5)
