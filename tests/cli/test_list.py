"""`ssdgym list`: one table for each kind of name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args

import gymnasium
import pytest

from ssdgym.cli.listing import Kind
from ssdgym.config.loading import available
from ssdgym.envs.features import registered_features
from ssdgym.policy import available_policies
from tests.cli.conftest import Run


@pytest.mark.parametrize("kind", get_args(Kind))
def test_list__prints_every_name_whole(kind: str, run: Run, printed: Callable[..., Any]) -> None:
    shown = run(["list", kind]).out
    rows = printed("list", kind)
    assert rows and all(row["name"] in shown for row in rows)


def test_list__has_all_there_are(printed: Callable[..., Any]) -> None:
    def names(kind: str) -> set[str]:
        return {row["name"] for row in printed("list", kind)}

    assert names("policies") >= available_policies().keys() | {"sep_gc", "mmerge"}
    assert names("devices") == set(available("devices"))
    assert names("workloads") >= {*available("workloads"), "synthetic:hm_0"}
    assert names("suites") == set(available("suites"))
    assert names("features") == {one.feature.name for one in registered_features()}
    ours = {name for name in gymnasium.registry if name.startswith("ssdgym/")}
    assert names("environments") >= ours
