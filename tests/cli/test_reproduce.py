"""`ssdgym reproduce`: every claim, and the second time nothing is run again."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from tests.cli.conftest import Run


@pytest.mark.slow
def test_command__prints_every_claim_and_goes_on_where_it_was(tmp_path: Path, run: Run) -> None:
    command = ["reproduce", "block-size", "--figure", "3", "--scale", "smoke", "--out", str(tmp_path / "out")]
    first = run(command)
    assert "| paper at least -80.0% | here " in first.out
    assert "assumed of fin1: " in first.out
    assert "footprint of fin1 on shin-3d1, shin-3d2, shin-3d3, shin-3d4, shin-3d5, shin-3d6: " in first.out
    again = run(command)
    # The process grows from one command to the next.
    assert [line for line in again.out.splitlines() if not line.startswith("memory of the")] == [
        line for line in first.out.splitlines() if not line.startswith("memory of the")
    ]
    assert "6 of 6 runs are finished already" in again.err
    claims = pd.read_csv(tmp_path / "out" / "figure3" / "claims.csv")
    (figure,) = json.loads(run([*command, "--json"]).out)["figures"]
    assert [claim["measured"] for claim in figure["claims"]] == claims["measured"].tolist()
    assert claims["per_workload"].str.startswith("fin1 -").all()


@pytest.mark.slow
def test_command__in_parts__what_it_gives_as_a_whole(tmp_path: Path, run: Run) -> None:
    command = ["reproduce", "pen", "--figure", "14a", "--scale", "smoke"]
    parts, whole = [*command, "--out", str(tmp_path / "parts")], [*command, "--out", str(tmp_path / "whole")]
    said = run([*parts, "--workload", "prn_1", "--seeds", "2"]).out
    assert "on 1 of 12 traces | one seed: no verdict" in said and "time of prn_1: " in said
    assert "5 of 30 runs are finished already" in run([*parts, "--seeds", "1-2"]).err
    run([*whole, "--seeds", "1,2"])
    results = [tmp_path / name / "figure14a" / "results.csv" for name in ("parts", "whole")]
    assert results[0].read_bytes() == results[1].read_bytes()


@pytest.mark.slow
def test_command__finds_data_that_was_kept_too_long_only_where_nothing_moves_it_in_time(
    tmp_path: Path, run: Run
) -> None:
    command = ["reproduce", "subftl", "--figure", "retention", "--scale", "smoke", "--out", str(tmp_path)]
    said = [line for line in run(command).out.splitlines() if line.startswith("figure retention-a")]
    verdicts = [line.split(" | ")[2:] for line in said]
    assert verdicts[0] == ["here 0.000 (no interval)", "one seed: no verdict"]
    assert verdicts[1:] == [["here -100.0% (no interval), on 1 of 2 traces", "one seed: no verdict"]] * 2


@pytest.mark.slow
def test_command__draws_shares_of_writes_as_maps(tmp_path: Path, run: Run) -> None:
    command = ["reproduce", "subftl", "--figure", "2", "--scale", "smoke", "--out", str(tmp_path)]
    out = run(command).out
    assert "2c  host_bytes_per_s (fgm at 0, 0 = 1)" in out
    assert "footprint of sysbench on subftl-tlc-small: 38,164 of the 45,056 logical ones" in out
    assert (tmp_path / "figure2" / "figure2.png").stat().st_size > 20_000


@pytest.mark.slow
def test_command__gives_no_verdict_where_nothing_can_be_compared(tmp_path: Path, run: Run) -> None:
    command = ["reproduce", "pen", "--figure", "3a", "--scale", "smoke", "--out", str(tmp_path)]
    out = run(command).out
    assert "| paper 0.58 | here " in out and "| not comparable: it hangs on how many logical blocks" in out
    assert "time of prn_1: " in out
    assert (tmp_path / "figure3a" / "figure3a.png").stat().st_size > 20_000


def test_command__a_rule_over_features__is_a_bar_by_policy_or_agent(tmp_path: Path, run: Run) -> None:
    rule, options = "stump(feature=-plan_cost)", ["pen", "--figure", "13", "--scale", "smoke", "--seeds", "1"]
    options += ["--workload", "hm_0", "--out", str(tmp_path)]
    by_policy, by_agent = (run(["reproduce", *options, name, rule]).out for name in ("--policy", "--agent"))
    assert rule in by_policy and by_policy.splitlines()[:9] == by_agent.splitlines()[:9]
