"""`ssdgym list`: print the names of policies, devices and so on, with those that `--import` registers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, get_args

from ssdgym.cli.console import show, table

Row = dict[str, Any]
Kind = Literal[
    "policies", "devices", "workloads", "environments", "features", "rewards", "suites", "agents", "formats"
]


def list_names(kind: Kind) -> None:
    """List the names of one kind in a table; `--import` adds the names that your modules register.

    Examples:
        ssdgym list policies
        ssdgym list features --import my_lab --json
        ssdgym list agents
    """
    rows = [*globals()[f"_{kind}"]()]
    show(rows, [table(rows) if rows else "There are none."])


def _policies() -> Iterator[Row]:
    from ssdgym import policy

    for kind in get_args(policy.Kind):
        for rule in policy.available_rules(kind).values():
            parameters = ", ".join(f"{key}={value:g}" for key, value in rule.parameters.items())
            yield {"name": rule.name, "kind": kind, "parameters or parts": parameters, "source": rule.source}
    for one in policy.available_policies().values():
        if one.alias:
            facts = {"kind": "composition", "parameters or parts": one.composition, "source": one.source}
            yield {"name": one.name, **facts}


def _devices() -> Iterator[Row]:
    from ssdgym.config.device import load_device
    from ssdgym.config.loading import available

    for device in map(load_device, available("devices")):
        yield {
            "name": device.name,
            "mapping": device.ftl.mapping,
            "logical GB": round(device.logical_pages * device.host_unit_bytes / 1e9, 3),
            "over-provisioning": device.capacity.over_provisioning,
            "description": device.description,
        }


def _workloads() -> Iterator[Row]:
    from ssdgym.config.loading import available
    from ssdgym.workloads.stream import load_workload

    for name in [*available("workloads"), *(f"synthetic:{one}" for one in available("synthetic_traces"))]:
        config = load_workload(name)
        sources = getattr(config, "sources", None) or {}
        yield {"name": name, "kind": config.kind, "sources": ", ".join(map(str, sources))}


def _environments() -> Iterator[Row]:
    from gymnasium.envs.registration import load_env_creator, registry

    from ssdgym.own_code import named_modules

    packages = {name.partition(".")[0] for name in ("ssdgym", *named_modules())}
    for name, spec in registry.items():
        if str(spec.entry_point).partition(":")[0].partition(".")[0] in packages:
            made: Any = load_env_creator(str(spec.entry_point))
            options = made.options_type.of(spec.kwargs)
            decides = made.__doc__.partition("\n")[0].removesuffix(".")
            where = {"device": options.device, "workload": options.workload, "horizon": options.horizon}
            yield {"name": name, "decides": decides, **where}


def _features() -> Iterator[Row]:
    from ssdgym.envs.features import registered_features

    for one in registered_features():
        feature = one.feature
        facts = {"of a": one.kind, "unit": feature.unit, "low": feature.low, "high": feature.high}
        yield {"name": feature.name, **facts, "meaning": feature.meaning}


def _rewards() -> Iterator[Row]:
    from ssdgym.envs.rewards.terms import TERMS

    for term in TERMS.values():
        yield {"name": term.name, "cost of a decision": term.meaning, "needs": "time" * term.needs_time}


def _suites() -> Iterator[Row]:
    from ssdgym.config.loading import available
    from ssdgym.experiments.leaderboard.suites import load_suite

    for name in available("suites"):
        suite = load_suite(name)
        splits: Row = {str(split): len(workloads) for split, workloads in suite.splits.items()}
        yield {"name": name, "measures": suite.description} | splits


def _agents() -> Iterator[Row]:
    from ssdgym.agents.zoo.described import described_zoo

    for agent in described_zoo():
        made = {"command": agent.made.get("command", agent.card.how_trained), "suite": agent.card.suite}
        facts = {"decides": agent.decides, "network": agent.network, "bytes": agent.cost.weight_bytes}
        yield {"name": agent.name, **facts, **made}


def _formats() -> Iterator[Row]:
    from ssdgym.workloads.traces.registry import formats

    return ({"name": name, "files": known.meaning} for name, known in formats().items())
