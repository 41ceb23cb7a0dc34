"""`ssdgym list`: what there is by name, with what `--import` brings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

import typer

from ssdgym.cli.console import print_json, print_rows
from ssdgym.cli.options import AsJson

Row = dict[str, Any]
Kind = Literal[
    "policies", "devices", "workloads", "environments", "features", "rewards", "suites", "agents", "formats"
]


def list_names(
    kind: Annotated[Kind, typer.Argument(help="What is listed.", show_default=False)], as_json: AsJson = False
) -> None:
    """List what there is by name, one table each; `--import` adds what your modules register.

    Examples:

        ssdgym list policies

        ssdgym list features --import my_lab --json

        ssdgym list agents
    """
    rows = [*_LISTS[kind]()]
    if as_json:
        print_json(rows)
    elif not rows:
        print("There are none.")
    else:
        print_rows(map(_in_short, rows) if kind == "agents" else rows)


def _policies() -> Iterator[Row]:
    from ssdgym import policy

    kinds: tuple[policy.Kind, ...] = ("victim", "placement", "idle", "allocation", "levelling", "merge")
    for kind in kinds:
        for rule in policy.available_rules(kind).values():
            parameters = ", ".join(f"{key}={value:g}" for key, value in rule.parameters.items())
            yield {"name": rule.name, "kind": kind, "parameters or parts": parameters, "source": rule.source}
    for one in policy.available_policies().values():
        if one.alias:
            facts = {"kind": "composition", "parameters or parts": one.alias_of, "source": one.source}
            yield {"name": one.name, **facts}


def _devices() -> Iterator[Row]:
    from ssdgym.config.device import load_device
    from ssdgym.config.loading import available

    for name in available("devices"):
        device = load_device(name)
        yield {
            "name": name,
            "mapping": device.ftl.mapping,
            "logical GB": round(device.logical_pages * device.host_unit_bytes / 1e9, 3),
            "over-provisioning": device.capacity.over_provisioning,
            "description": device.description,
        }


def _workloads() -> Iterator[Row]:
    from ssdgym.config.loading import available
    from ssdgym.workloads.stream import load_workload

    for prefix, folder in (("", "workloads"), ("synthetic:", "synthetic_traces")):
        for name in available(folder):
            config = load_workload(prefix + name)
            sources = getattr(config, "sources", None) or {}
            yield {"name": prefix + name, "kind": config.kind, "sources": ", ".join(map(str, sources))}


def _environments() -> Iterator[Row]:
    from gymnasium.envs.registration import load_env_creator, registry

    from ssdgym.own_code import named_modules

    packages = {name.partition(".")[0] for name in ("ssdgym", *named_modules())}
    for name, spec in registry.items():
        if str(spec.entry_point).partition(":")[0].partition(".")[0] in packages:
            made: Any = load_env_creator(str(spec.entry_point))
            options = made.options_type.of(spec.kwargs)
            decides = made.__doc__.partition("\n")[0].removesuffix(".")
            yield {
                "name": name,
                "decides": decides,
                "device": options.device,
                "workload": options.workload,
                "horizon": options.horizon,
            }


def _features() -> Iterator[Row]:
    from ssdgym.envs.features import registered_features

    for one in registered_features():
        feature = one.feature
        facts = {"of a": one.kind, "unit": feature.unit, "low": feature.low, "high": feature.high}
        yield {"name": feature.name, **facts, "meaning": feature.meaning}


def _rewards() -> Iterator[Row]:
    from ssdgym.envs.rewards.terms import TERMS

    for term in TERMS.values():
        needs = "time" * term.needs_time
        yield {"name": term.name, "cost of a decision": term.meaning, "needs": needs}


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
        yield agent.as_dict()


def _in_short(agent: Row) -> Row:
    """Return the columns of an agent that a table has room for."""
    made = {"seed": "seed {}", "suite": "suite {}", "split_digest": "splits {:.12}"}
    facts = [form.format(agent[name]) for name, form in made.items() if name in agent]
    return {
        **{name: agent[name] for name in ("name", "decides", "network")},
        "trained with": "\n".join([str(agent.get("command", agent["trained_by"])), ", ".join(facts)]),
        "features": len(agent["features"]),
        "bytes": agent["weight_bytes"],
    }


def _formats() -> Iterator[Row]:
    from ssdgym.workloads.traces.registry import formats

    for name, known in formats().items():
        yield {"name": name, "files": known.meaning}


_LISTS = {
    "policies": _policies,
    "devices": _devices,
    "workloads": _workloads,
    "environments": _environments,
    "features": _features,
    "rewards": _rewards,
    "suites": _suites,
    "agents": _agents,
    "formats": _formats,
}
