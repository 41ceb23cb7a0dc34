"""A sweep is checked whole before anything runs: fields, values, held-out workloads and seeds, metric."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ssdgym.errors import SsdgymError
from ssdgym.experiments.leaderboard.suites import load_suite
from ssdgym.experiments.runs.config import expand
from ssdgym.experiments.sweeps.config import load_sweep
from ssdgym.experiments.sweeps.outcome import SweepOutcome, TrialOutcome
from ssdgym.experiments.sweeps.trials import check_sweep, plan_trial
from ssdgym.own_code import IMPORTED, import_modules

HELD_OUT = {"workloads": ["zipf80"], "seeds": 2, "host_pages": 1000}


def policy_sweep(space: dict[str, Any], **fields: Any) -> dict[str, Any]:
    trial = {"kind": "policy", "policy": "d_choices", "device": "tiny", "ftl": {"gc": {"free_blocks": 2}}}
    return {"trial": trial, "space": space, "evaluation": HELD_OUT, **fields}


def agent_sweep(space: dict[str, Any], **fields: Any) -> dict[str, Any]:
    trial = {"kind": "agent", "agent": "ppo-smoke"}
    return {"trial": trial, "space": space, "evaluation": HELD_OUT, **fields}


def plan(source: dict[str, Any]) -> list[Any]:
    """Check a sweep and return the trials at its points."""
    sweep = load_sweep(source)
    check_sweep(sweep)
    return [plan_trial(sweep, point) for point in sweep.points()]


def test_policy__parameters_go_into_its_label_and_the_ftl() -> None:
    space = {"policy.d": {"grid": [3, 5]}, "ftl.gc.free_blocks": {"grid": [3]}}
    trials = plan(policy_sweep(space))
    assert [trial.runs[0].policy for trial in trials] == ["d_choices(d=3)", "d_choices(d=5)"]
    assert {run.ftl for trial in trials for run in trial.runs} == {(("gc.free_blocks", 3),)}
    assert [run.seed for run in trials[0].runs] == [2**32, 2**32 + 1]


def test_policy__and_device_can_be_swept() -> None:
    trials = plan(policy_sweep({"policy": {"grid": ["greedy", "fifo"]}, "device": {"grid": ["demo"]}}))
    assert [(trial.runs[0].policy, trial.runs[0].device) for trial in trials] == [
        ("greedy", "demo"),
        ("fifo", "demo"),
    ]


def test_policy__of_a_module__is_planned_once_the_module_is_imported(
    own_rules: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(IMPORTED, "")
    sweep = policy_sweep({"policy.most": {"grid": [1, 2]}})
    sweep["trial"] = {"kind": "policy", "policy": f"{own_rules}:last", "device": "pen-vnand-small"}
    with pytest.raises(SsdgymError, match=f"{own_rules} is not imported; give --import {own_rules}"):
        plan(sweep)
    import_modules([own_rules])
    assert [trial.runs[0].policy for trial in plan(sweep)] == ["last(most=1)", "last(most=2)"]
    command = plan(sweep)[0].command(None, range(7, 9))
    assert f"--policy 'last(most=1)' --import={own_rules} --device pen-vnand-small" in command


def test_agent__parameters_go_into_its_training() -> None:
    trials = plan(agent_sweep({"ppo.gamma": {"grid": [0.9, 0.99]}, "n_envs": {"grid": [4]}}))
    assert [trial.training.ppo.gamma for trial in trials] == [0.9, 0.99]
    assert trials[0].runs[0].policy == "ppo.gamma=0.9, n_envs=4"
    # measured on the device and the FTL that it is trained on
    assert trials[0].runs[0].device == "demo" and trials[0].runs[0].ftl == (("timing", "none"),)


def test_command__repeats_the_trial_on_other_seeds() -> None:
    trial = plan(policy_sweep({"policy.d": {"grid": [3]}}))[0]
    assert trial.command(None, range(7, 9)) == (
        "ssdgym evaluate --policy 'd_choices(d=3)' --device tiny --ftl gc.free_blocks=2 "
        "--workload zipf80 --seeds 7-8 --host-pages 1000 --warmup 0"
    )


def test_outcome__the_best_trial_is_measured_again_on_seeds_that_have_not_chosen_it() -> None:
    sweep = load_sweep(policy_sweep({"policy.d": {"grid": [3, 5]}}))
    trials = plan(policy_sweep({"policy.d": {"grid": [3, 5]}}))
    found: list[Any] = [{"metric": metric} for metric in (2.0, 1.5)]
    ended = [TrialOutcome(k, trials[k], "finished", found[k]) for k in range(2)]
    outcome = SweepOutcome(sweep, Path("out"), ended)
    fresh = 2**32 + 2  # the sweep has the two before it
    assert outcome.command is not None and "d_choices(d=5)" in outcome.command
    assert f"--seeds {fresh}-{fresh + 7} " in outcome.command


@pytest.mark.parametrize(
    ("space", "said"),
    [
        ({"ppo.lerning_rate": {"grid": [1e-3]}}, "field ppo.lerning_rate is unknown"),
        ({"ppo.gamma": {"grid": [2.0]}}, "field ppo.gamma must be less than or equal to 1"),
        ({"environment.kwargs.candidats": {"grid": [4]}}, "has no such argument"),
        ({"environment.kwargs.device": {"grid": ["no-such"]}}, "no device named 'no-such'"),
        ({"seed.x": {"grid": [4]}}, "seed has no fields"),
        ({"environment.kwargs.workload": {"grid": ["zipf80"]}}, "whose writes the agent is trained on"),
        (
            {"environment.kwargs.workload": {"grid": [["zipf99", {"kind": "zipf", "theta": 0.8}]]}},
            "whose writes the agent is trained on",
        ),
        ({"evaluation.kwargs.workload": {"grid": ["zipf80"]}}, "whose writes the agent is trained on"),
        ({"evaluation.workloads": {"grid": [["zipf80"]]}}, "whose writes the agent is trained on"),
        ({"evaluation.workloads": {"grid": [["no-such"]]}}, "no-such"),
        ({"evaluation.first_seed": {"grid": [2**32 - 1]}}, "the training validates on"),
    ],
)
def test_agent__wrong_trial__is_refused_by_name(space: dict[str, Any], said: str) -> None:
    with pytest.raises(SsdgymError, match="^trial with ") as error:
        plan(agent_sweep(space))
    assert said in str(error.value)


def test_agent__workload_with_the_same_writes_is_not_held_out() -> None:
    # its reads are others, but it writes what zipf99 writes, which the training uses by default
    with pytest.raises(SsdgymError, match="zipf99_rw, whose writes the agent is trained on"):
        plan(
            agent_sweep({"seed": {"grid": [1]}}, evaluation={"workloads": ["zipf99_rw"], "host_pages": 1000})
        )


def test_agent__seeds_that_training_may_draw_are_refused() -> None:
    with pytest.raises(SsdgymError, match=r"evaluation.first_seed is 5, .* begin at that number"):
        plan(agent_sweep({"seed": {"grid": [1]}}, evaluation={**HELD_OUT, "first_seed": 5}))


def test_drawn_value__that_does_not_fit__is_refused_before_any_work() -> None:
    with pytest.raises(SsdgymError, match="cannot be reached"):
        plan(policy_sweep({"ftl.gc.free_blocks": {"qrandint": [2, 3000, 1]}}))


@pytest.mark.parametrize(
    ("space", "said"),
    [
        ({"policy.e": {"grid": [1]}}, "policy d_choices has no parameter 'e'"),
        ({"ftl.gc.free_block": {"grid": [3]}}, "field ftl.gc.free_block is unknown"),
        ({"ftl.gc.free_blocks": {"grid": [3000]}}, "cannot be reached"),
        ({"policy": {"grid": ["gredy"]}}, "did you mean greedy?"),
        ({"gc.free_blocks": {"grid": [3]}}, "there is no field gc.free_blocks to sweep"),
    ],
)
def test_policy__wrong_trial__is_refused_by_name(space: dict[str, Any], said: str) -> None:
    with pytest.raises(SsdgymError, match="^trial with ") as error:
        plan(policy_sweep(space))
    assert said in str(error.value)


def test_metric__that_does_not_exist__is_refused() -> None:
    with pytest.raises(SsdgymError, match="no metric 'wa'; correct metric to one of write_amplification"):
        plan(policy_sweep({"policy": {"grid": ["greedy"]}}, metric="wa"))


def test_metric__of_time_without_timing__is_refused() -> None:
    with pytest.raises(SsdgymError, match="needs time"):
        plan(
            policy_sweep(
                {"policy": {"grid": ["greedy"]}, "ftl.timing": {"grid": ["none"]}},
                metric="write_latency_ns/p99",
            )
        )


def rule_sweep(space: dict[str, Any], **evaluation: Any) -> dict[str, Any]:
    held_out = {"suite": "subftl", "split": "training", "seeds": 1, **evaluation}
    return {"trial": {"kind": "rule", "rule": "stump"}, "space": space, "evaluation": held_out}


def test_rule__plays_the_environment_and_a_split_of_a_suite() -> None:
    space = {"feature": {"grid": ["sector_writes"]}, "cut": {"grid": [0.5, 1]}}
    first, second = plan(rule_sweep(space) | {"metric": "duration_ns"})
    assert (first.runs[0].policy, second.runs[0].policy) == (
        "stump(feature=sector_writes, cut=0.5)",
        "stump(feature=sector_writes, cut=1)",
    )
    suite = load_suite("subftl")
    assert {run.device for run in first.runs} == set(suite.devices)
    assert [run.workload for run in first.runs] == list(suite.splits["training"])
    assert len({run.workload_name for run in first.runs}) == len(first.runs)
    assert first.runs[0].environment == suite.environment
    command = first.command(None, [1], "subftl")
    assert command == (
        "ssdgym leaderboard subftl --split validation --agent 'stump(feature=sector_writes, cut=0.5)'"
    )


def test_policy__in_a_suite__has_its_device_and_preconditioning__and_the_options_that_vary() -> None:
    space = {"ftl.gc.free_blocks": {"grid": [3]}}
    own = {"suite": "speedupgc", "split": "training", "seeds": 1}
    (trial,) = plan({"trial": {"kind": "policy", "policy": "greedy"}, "space": space, "evaluation": own})
    run, suite = trial.runs[0], load_suite("speedupgc")
    assert (run.device, run.preconditioning) == (suite.devices[0], suite.preconditioning)
    assert dict(run.ftl) == {**suite.ftls[0], "gc.free_blocks": 3}
    fields = {"kind": "policy", "policy": "greedy", "device": "tiny", "preconditioning": "fill"}
    (other,) = plan({"trial": fields, "space": space, "evaluation": own})
    assert (other.runs[0].device, other.runs[0].preconditioning) == ("tiny", "fill")


@pytest.mark.parametrize(
    ("sweep", "said"),
    [
        (
            rule_sweep({"cut": {"grid": [1]}}, suite=None, workloads=["zipf99"], host_pages=9),
            "set evaluation.suite",
        ),
        (rule_sweep({"cut": {"grid": [1]}}, suite="sub"), "there is no suite named 'sub'"),
    ],
)
def test_rule__without_a_suite__is_refused(sweep: dict[str, Any], said: str) -> None:
    with pytest.raises(SsdgymError, match=said):
        plan(sweep)


@pytest.mark.parametrize("name", ["pen", "subftl"])
def test_agent__in_a_suite__is_run_as_on_its_leaderboard(name: str) -> None:
    (spec, *_) = plan_trial(load_sweep(name), load_sweep(name).points()[0]).measured_runs
    suite = load_suite(name)
    ranked = expand(suite.experiment(["validation"], {"policies": (suite.baseline,)}, {}))[0]
    assert dict(spec.ftl)["queue_depth"] == 32 and spec.ftl == ranked.ftl


@pytest.mark.parametrize("name", ["ppo-erase-victim", "ppo-optuna", "subftl", "speedupgc", "pen", "ippbe"])
def test_check__shipped_sweeps_of_agents__whose_trainings_may_be_of_a_suite(name: str) -> None:
    sweep = load_sweep(name, "smoke")
    check_sweep(sweep)
    assert all(plan_trial(sweep, point).training for point in sweep.points())


@pytest.mark.parametrize("name", ["block_size", "ippbe", "pen", "speedupgc", "subftl"])
def test_sweep_of_a_paper__tries_every_combination_once(name: str) -> None:
    sweep = load_sweep(name, "smoke")
    assert len({repr(point) for point in sweep.points()}) == sweep.number_of_trials == 4
