"""All that a run depends on, as JSON: to find it again in a store, and to run it again from its result.

A spec holds whole configurations, not their names, so that it means the same wherever it is read.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import ssdgym
import ssdgym.agents
from ssdgym.agents.playing.files import FileSource, source_of, untrusted_source_of
from ssdgym.agents.training.config import EnvironmentConfig
from ssdgym.config.device import load_fields, read_preconditioning
from ssdgym.config.fields import seed_number, with_changes
from ssdgym.engine.compiler.cache import engine_hash
from ssdgym.errors import SsdgymError
from ssdgym.policy import device_for, get_policy
from ssdgym.policy.names import import_rules
from ssdgym.workloads.python import PythonWorkload
from ssdgym.workloads.registry import code_hashes
from ssdgym.workloads.stream import load_workload

#: FTL options as pairs of a name, dotted for nested ones, and its value.
FtlOptions = tuple[tuple[str, Any], ...]
#: A comma between two options, and not between parameters in brackets.
_COMMA = re.compile(r",(?![^()]*\))")
#: Preconditionings that play the workload itself before it is measured.
REPEATING = ("repeat", "reads_repeat")


@dataclass(frozen=True)
class RunSpec:
    """One run, described completely; nothing is loaded or run by making one.

    Attributes:
        device: name, path, mapping or model of a device.
        workload: name, path, mapping or model of a workload.
        policy: name of a policy; for a learned agent, its label.
        seed: of the workload and of all random choices.
        ftl: options of the FTL in place of the device's own, such as `("gc.free_blocks", 8)`.
        host_pages: length of the run in pages written by the host; `None`: by `requests`, or the whole
            workload.
        requests: length of the run in requests.
        warmup: host pages before them that are played but not measured, so that the policy's own steady
            state is measured and not the one that the device was preconditioned to.
        days: days without host requests after the warm-up; work in these days is measured. `None`: no days
            pass.
        day_requests: requests after each of which a day passes, in which the host does nothing; warm-up and
            run end with the days in which their pages have been written. `None`: no days pass.
        sample_pages: host pages after each of which the free pages of the device are noted
            (`ssdgym.simulator.simulator`), which changes nothing else; `None`: never.
        preconditioning: what happens before that, as text or as a mapping, which becomes text such as
            `fill(share=0.95)`. `none`, `fill`, `uniform` and `workload`: see `ssdgym.config.device`;
            all seeds and policies start from the same device. `reads`: the pages that the workload reads
            before it writes them are written in zero time. `until_gc`: uniformly random pages are written in
            no time, under the policy itself and by the seed of the run, until every plane has collected.
            `until_gc_greedy`: the same pages under greedy in one stream, whatever the policy; then its own
            placement begins. `reads_until_gc_greedy`: the pages of `reads` before these. `repeat`: the whole
            workload is played until something has been collected; the next time is measured.
            `reads_repeat`: as `repeat`, after `reads`.
        agent: what takes the decisions in place of a policy: file of a trained agent, `module:callable`, or
            the name of a baseline (`ssdgym.agents.playing.files`). It plays a number of `host_pages` or the
            whole workload, after any preconditioning that does not depend on the measured policy.
        environment: that the agent plays, where it comes without one; `None`: `ssdgym/EraseVictim-v0`.
        trust: whether code that comes with the agent, or with rules of a policy, may be executed.
        objective: what that agent was trained for.
        label: name of the workload in results; by default its name or path.
        device_label: name of the device in results; by default its name or path.
    """

    device: Any
    workload: Any
    policy: str
    seed: int
    ftl: FtlOptions = ()
    host_pages: int | None = None
    requests: int | None = None
    warmup: int = 0
    days: int | None = None
    day_requests: int | None = None
    sample_pages: int | None = None
    preconditioning: Any = "workload"
    agent: Path | str | None = None
    environment: EnvironmentConfig | None = None
    trust: bool = False
    objective: str = ""
    label: str = ""
    device_label: str = ""

    def __post_init__(self) -> None:
        """Convert the seed to int and the preconditioning to text, so that equal specs compare equal."""
        object.__setattr__(self, "seed", seed_number(self.seed, "the seed of a run"))
        if not isinstance(self.preconditioning, str):
            object.__setattr__(self, "preconditioning", read_preconditioning(self.preconditioning).text)

    @property
    def decider(self) -> str | None:
        """The policy that the device runs with; `None` for an agent."""
        return None if self.agent else self.policy

    @property
    def device_name(self) -> str:
        """The name of the device in results."""
        return self.device_label or source_name(self.device)

    @property
    def workload_name(self) -> str:
        """The name of the workload in results."""
        return self.label or source_name(self.workload)


def ftl_changes(ftl: FtlOptions) -> dict[str, Any] | None:
    """Return FTL options as the nested mappings that the simulator takes; `None` without any."""
    return with_changes({}, dict(ftl)) or None


def ftl_label(ftl: FtlOptions) -> str:
    """Return FTL options as results name them, e.g. `gc.free_blocks=8,placement=sep_gc`."""
    return ",".join(f"{name}={value}" for name, value in sorted(ftl))


def split_options(text: str) -> list[str]:
    """Return the options of an FTL that `ftl_label` has joined: commas in brackets are no ends."""
    return [option for option in _COMMA.split(text) if option]


def source_name(source: Any) -> str:
    """Return the name of a device or a workload in results; that of its base where it has none of its own."""
    if isinstance(source, str | Path):
        return str(source)
    for attribute in ("name", "path", "kind", "base"):
        value = source.get(attribute) if isinstance(source, dict) else getattr(source, attribute, None)
        if value and attribute == "path":
            return ",".join(Path(path).name for path in ([value] if isinstance(value, str | Path) else value))
        if value:
            return str(value)
    kind = type(source).__name__
    raise SsdgymError(f"a {kind} has neither a name nor a kind to go by in results; give it a name.")


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

    `seeds` are those that an agent plays in one batch: floating-point sums may differ in the last bit with
    the size of the batch.
    """
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
    """Return the device, with fields filled in by the profile of its FTL.

    Fields that it fills in are no part of the device here: read again, they would count as given.
    """
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
    """Read what `spec_text` wrote."""
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
    """Return a hash of all that the metrics of a run depend on: its spec without names, and the code.

    Two devices that differ only in what they are called have the same key. The code is the version of ssdgym,
    the engine (numba included), the workloads and the simulator, and the policy's, the agents' or
    a workload's own sources.
    """
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
    """Return the runs that have to be played together to repeat one: it alone, or an agent's whole batch."""
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
    """Return the source of an agent; `environment` applies if it names none."""
    source = source_of(run.agent or "", trust=run.trust)
    agent = {"path": source.text, "sha256": source.digest(), "seeds": list(seeds)}
    if run.environment is not None:
        agent["environment"] = run.environment.model_dump(mode="json")
    return agent


def _is_file(agent: dict[str, Any]) -> bool:
    """Return whether the agent of a spec is a file, which may be moved, and not a name or a call."""
    return isinstance(untrusted_source_of(agent["path"]), FileSource)


def _code_hash(device: Any, policy: str | None) -> str:
    """Return a hash of the sources beside the engine that a run with this policy, or an agent, depends on."""
    folders = ("workloads", "simulator")
    if policy is None:
        return _sources_hash((*folders, "envs", "agents"))
    return f"{_sources_hash(folders)}-{get_policy(policy).placed_on(device).source_digest()}"


@cache
def _sources_hash(folders: tuple[str, ...]) -> str:
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
