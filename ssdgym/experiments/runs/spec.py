"""All that a run depends on, as JSON: to find it again in a store, and to run it again from its result.

A spec holds whole configurations, not their names, so that it means the same wherever it is read.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import ssdgym
from ssdgym.errors import SsdgymError
from ssdgym.experiments.runs.run_spec import FtlOptions, RunSpec, ftl_changes

Spec = dict[str, Any]

_FORMAT = 1
#: Fields that say how long a run is and what goes before it; they have the same names in a `RunSpec`.
LENGTH = ("host_pages", "requests", "warmup", "preconditioning")
_REQUIRED = {"names", "device", "ftl", "workload", "policy", "agent", "seed", *LENGTH}
#: Fields of a run that its spec has only where they are given.
_OPTIONAL = ("days", "day_requests", "sample_pages")
#: Fields of a spec that only name things.
_NAMES = ("names", "objective", "format")
#: Fields of a device that describe it and change nothing.
_REMARKS = {"name", "description", "assumed"}


def spec_of(run: RunSpec, seeds: Sequence[int] = ()) -> Spec:
    """Return all that a run depends on but the code, ready for JSON.

    Args:
        run: which.
        seeds: of an agent, those that it plays side by side in one batch; of a policy, none. Floating-point
            sums may differ in their last bit with the size of the batch.

    Raises:
        SsdgymError: its device, workload, a trace or the agent's file cannot be read.
    """
    from ssdgym.workloads.python import PythonWorkload
    from ssdgym.workloads.stream import load_workload

    workload = load_workload(run.workload)
    if isinstance(workload, PythonWorkload):
        raise SsdgymError(
            "a workload made in Python cannot be named in results; register it as a kind (workload_kind)."
        )
    return {
        "format": _FORMAT,
        "names": {"device": run.device_name, "workload": run.workload_name, "policy": run.policy},
        **_device(run),
        "ftl": [list(option) for option in run.ftl],
        "workload": workload.model_dump(mode="json"),
        "traces": workload.trace_hashes(),
        "policy": None if run.agent else run.policy,
        "agent": _agent(run, seeds or (run.seed,)) if run.agent else None,
        "seed": run.seed,
        **{name: getattr(run, name) for name in LENGTH},
        **{name: given for name in _OPTIONAL if (given := getattr(run, name)) is not None},
        "objective": run.objective,
    }


def _device(run: RunSpec) -> Spec:
    """Return the device, and what a profile of its FTL fills in.

    Fields that it fills in are no part of the device here: read again, they would count as given.
    """
    from ssdgym.config.device import load_fields
    from ssdgym.policy import device_for

    device = load_fields(run.device)
    if dict(run.ftl).get("profile", getattr(device.ftl, "profile", None)) is None:
        return {"device": device.model_dump(mode="json")}
    left_out = {
        name: set(value) if isinstance(value, dict) else True
        for name, value in device.ftl.open_fields().items()
    }
    played = device_for(device, ftl_changes(run.ftl), None if run.agent else run.policy)
    return {
        "device": device.model_dump(mode="json", exclude={"ftl": left_out}),
        "filled_in": played.ftl.open_fields(),
    }


def spec_text(spec: Spec) -> str:
    """Return a spec as one line of JSON, always the same for the same spec."""
    return json.dumps(spec, sort_keys=True, separators=(",", ":"), allow_nan=False)


def read_spec(text: str, subject: str) -> Spec:
    """Read what `spec_text` wrote.

    Args:
        text: JSON.
        subject: names the text in errors; their sentences begin with it.

    Raises:
        SsdgymError: it is no JSON, or does not describe a run.
    """
    try:
        spec = json.loads(text)
        missing = _REQUIRED - spec.keys() | {"device", "workload", "policy"} - set(spec.get("names", ()))
    except ValueError as error:
        raise SsdgymError(
            f"{subject} does not describe a run: it is not JSON ({error}); evaluate it anew"
        ) from error
    except (TypeError, AttributeError) as error:
        raise SsdgymError(f"{subject} does not describe a run ({error!r:.80}); evaluate it anew") from error
    if missing:
        lacking = ", ".join(sorted(missing))
        raise SsdgymError(f"{subject} does not describe a run (it lacks {lacking}); evaluate it anew")
    return spec


def run_key(spec: Spec) -> str:
    """Return a hash of all that the metrics of a run depend on: its spec but for mere names, and the code.

    Two devices that differ only in what they are called have the same key. The code is the version of ssdgym,
    the engine (numba included), the workloads and the simulator, and the policy's, the agents' or
    a workload's own sources.
    """
    from ssdgym.engine.compiler.cache import engine_hash
    from ssdgym.policy import device_for, get_policy
    from ssdgym.workloads.registry import code_hashes
    from ssdgym.workloads.stream import load_workload

    parts = {name: value for name, value in spec.items() if name not in _NAMES}
    device = device_for(parts["device"], ftl_changes(_ftl(spec)), spec["policy"])
    parts["device"] = device.model_dump(mode="json", exclude=_REMARKS)
    parts["ftl"] = None
    if spec["agent"] is None:
        parts["policy"] = get_policy(spec["policy"]).composition
    else:
        # A file may lie anywhere; what else makes an agent is in its text.
        kept = {name: value for name, value in spec["agent"].items() if name != "path"}
        parts["agent"] = kept if _is_file(spec["agent"]) else spec["agent"]
    workload = code_hashes(load_workload(spec["workload"]))
    parts["code"] = [ssdgym.__version__, engine_hash(), _code_hash(device, spec["policy"]), *workload]
    return hashlib.sha256(spec_text(parts).encode()).hexdigest()


def runs_of_spec(spec: Spec, where: str, *, trust: bool = False) -> list[RunSpec]:
    """Return the runs that have to be played together to repeat one: it alone, or an agent's whole batch.

    Args:
        spec: read from a file of results.
        where: names the file and row in errors.
        trust: whether code that comes with its agent or policy may be executed.

    Raises:
        SsdgymError: the spec is damaged, or a trace or agent that it needs is missing or has changed.
    """
    from ssdgym.agents.environments import EnvironmentConfig
    from ssdgym.config.device import load_fields
    from ssdgym.policy.own import import_rules
    from ssdgym.workloads.stream import load_workload

    try:
        if spec["format"] != _FORMAT:
            raise SsdgymError(f"{where}: was written by another version of ssdgym; replay it with that one")
        agent, names = spec["agent"], spec["names"]
        workload = load_workload(spec["workload"])
        runs = [
            RunSpec(
                device=load_fields(spec["device"]),
                workload=workload,
                policy=names["policy"],
                seed=seed,
                ftl=_ftl(spec),
                agent=(Path if _is_file(agent) else str)(agent["path"]) if agent else None,
                environment=EnvironmentConfig(**agent["environment"])
                if agent and "environment" in agent
                else None,
                trust=trust,
                label=names["workload"],
                device_label=names["device"],
                objective=spec["objective"],
                **{name: spec[name] for name in LENGTH},
                **{name: spec[name] for name in _OPTIONAL if name in spec},
            )
            for seed in (agent["seeds"] if agent else [spec["seed"]])
        ]
        if not any(run.seed == spec["seed"] for run in runs):
            raise KeyError("seeds")
        if not agent and spec["policy"] != names["policy"]:
            raise ValueError(f"policy {spec['policy']} under the name {names['policy']}")
        if not agent:
            import_rules(spec["policy"], trust=trust)
        expected = spec["traces"]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise SsdgymError(
            f"{where}: its column 'spec' does not describe a run ({error!r:.80}); evaluate it anew"
        ) from error
    if workload.trace_hashes() != expected:
        raise SsdgymError(f"{where}: a trace that it played has changed; replay it with the trace as it was")
    if agent and _agent(runs[0], ())["sha256"] != agent["sha256"]:
        raise SsdgymError(
            f"{where}: the agent {agent['path']} has changed; replay it with the file as it was"
        )
    return runs


def _ftl(spec: Spec) -> FtlOptions:
    """Return the FTL options of a spec as a run has them."""
    return tuple((str(name), value) for name, value in spec["ftl"])


def _agent(run: RunSpec, seeds: Sequence[int]) -> dict[str, Any]:
    """Return what an agent is made of; `environment` where it does not bring its own."""
    from ssdgym.agents.playing.sources import source_of

    source = source_of(run.agent or "", trust=run.trust)
    agent = {"path": source.text, "sha256": source.digest(), "seeds": list(seeds)}
    if run.environment is not None:
        agent["environment"] = run.environment.model_dump(mode="json")
    return agent


def _is_file(agent: dict[str, Any]) -> bool:
    """Tell whether the agent of a spec is a file, which may be moved, and not a name or a call."""
    from ssdgym.agents.playing.files import FileSource
    from ssdgym.agents.playing.sources import untrusted_source_of

    return isinstance(untrusted_source_of(agent["path"]), FileSource)


def _code_hash(device: Any, policy: str | None) -> str:
    """Return a hash of the sources beside the engine that a run with this policy, or an agent, depends on."""
    from ssdgym.policy import get_policy

    folders = ("workloads", "simulator")
    if policy is None:
        return _sources_hash((*folders, "envs", "agents"))
    return f"{_sources_hash(folders)}-{get_policy(policy).placed_on(device).source_digest()}"


@cache
def _sources_hash(folders: tuple[str, ...]) -> str:
    import ssdgym.agents

    # Agents are installed inside the package, and lie beside it in a checkout.
    places = {"agents": Path(ssdgym.agents.__path__[0])}
    package = Path(ssdgym.__file__).parent
    digest = hashlib.sha256()
    for folder in folders:
        root = places.get(folder, package / folder)
        for source in sorted(root.rglob("*.py")):
            digest.update(f"{folder}/{source.relative_to(root)}".encode())
            digest.update(source.read_bytes())
    return digest.hexdigest()
