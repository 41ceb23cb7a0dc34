"""Specifications (specs) of runs, by which runs are found in a store and repeated.

A spec is JSON with everything that a run depends on, except the code. It contains whole configurations, so it
does not depend on configuration files. It names traces and files of agents, with their hashes.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import ssdgym
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

#: FTL options as pairs of name and value; nested options have dotted names.
FtlOptions = tuple[tuple[str, Any], ...]
#: A comma that separates two options; commas between parameters in brackets do not match.
_COMMA = re.compile(r",(?![^()]*\))")
#: Preconditionings that repeat the whole workload before its measured repetition.
REPEATING = ("repeat", "reads_repeat")


@dataclass(frozen=True)
class RunSpec:
    """A complete description of one run; the constructor loads no file and runs nothing.

    Attributes:
        device: name, path, mapping or model of a device.
        workload: name, path, mapping or model of a workload.
        policy: name of a policy; if there is an `agent`, its name in results.
        seed: seed of the workload and of all random choices.
        ftl: FTL options that replace the device's own, such as `("gc.free_blocks", 8)`.
        host_pages: length of the run in pages written by the host; `None`: to the end of the workload.
        warmup: host pages that are written before the measurement, so that the device reaches the steady
            state of the measured policy.
        days: days without host requests after the warm-up. The device's work in these days is measured.
            `None`: no days pass.
        day_requests: number of requests between two days without requests. The warm-up and the run
            each end with such a day, once their pages are written. `None`: no days pass.
        sample_pages: host pages between two samples of free pages and erases (`ssdgym.simulator.sampling`).
            Sampling does not change the run. `None`: no samples.
        preconditioning: how the device is prepared before the warm-up, as text or as a mapping, which is
            converted to text such as `fill(share=0.95)`. `none`, `fill`, `uniform` and `workload`: see
            `ssdgym.config.device`; all seeds and all policies with one placement start from the same device.
            `reads`: the pages that the workload reads before it writes them are written in zero time.
            `until_gc`: the policy writes uniformly random pages, drawn by the run's seed, in zero time until
            every plane has run GC. `until_gc_greedy`: the pages of `until_gc` are written under greedy in one
            stream, and the policy begins afterwards. `reads_until_gc_greedy`: `reads`, then
            `until_gc_greedy`. `repeat`: the whole workload is repeated until a block has been erased; the
            next repetition is measured. `reads_repeat`: `reads`, then `repeat`.
        agent: the agent that takes the decisions in place of a policy: file of a trained agent, name, or
            `module:callable` (`ssdgym.agents.playing.files`). It excludes `days`, `day_requests`,
            `sample_pages`, and the preconditionings `until_gc`, `repeat` and `reads_repeat`.
        environment: environment for an agent whose file names none; `None`: `ssdgym/EraseVictim-v0`.
        trust: whether code that the agent or the policy names (modules, pickled objects) may be executed.
        objective: training objective of the agent.
        label: name of the workload in results; by default its name or path.
        device_label: name of the device in results; by default its name or path.
    """

    device: Any
    workload: Any
    policy: str
    seed: int
    ftl: FtlOptions = ()
    host_pages: int | None = None
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
        """Convert the seed to int and the preconditioning to text, so that equal runs compare equal."""
        object.__setattr__(self, "seed", seed_number(self.seed, "the seed of a run"))
        if not isinstance(self.preconditioning, str):
            object.__setattr__(self, "preconditioning", read_preconditioning(self.preconditioning).text)

    @property
    def decider(self) -> str | None:
        """The policy that the device runs; `None` if an agent takes the decisions."""
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
    """Return FTL options as nested mappings, for the simulator; `None` if there are no options."""
    return with_changes({}, dict(ftl)) or None


def ftl_label(ftl: FtlOptions) -> str:
    """Return FTL options as text for results, e.g. `gc.free_blocks=8,placement=sep_gc`."""
    return ",".join(f"{name}={value}" for name, value in sorted(ftl))


def split_options(text: str) -> list[str]:
    """Split the text of `ftl_label` into options; commas in brackets do not separate options."""
    return [option for option in _COMMA.split(text) if option]


def source_name(source: Any) -> str:
    """Return the name of a device or workload in results.

    A text or path is its own name. The name of a configuration is the first of its fields `name`,
    `path` (without folders), `kind` and `base` that is set.
    """
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
#: Fields for the length and the preconditioning of a run, with the same names as in `RunSpec`.
LENGTH = ("host_pages", "warmup", "preconditioning")
_REQUIRED = {"names", "device", "ftl", "workload", "policy", "agent", "seed", *LENGTH}
#: Fields of a run that its spec contains only if they are not None.
_OPTIONAL = ("days", "day_requests", "sample_pages")
#: Fields of a spec that do not affect the metrics of a run.
_NAMES = ("names", "objective", "format")
#: Fields of a device that describe it and do not affect runs.
_REMARKS = {"name", "description", "assumed"}


def spec_of(run: RunSpec, seeds: Sequence[int] = ()) -> Spec:
    """Return the spec of a run, ready for JSON.

    `seeds` are all seeds that an agent plays in one batch. The spec contains them, because the size of the
    batch can change the last bit of floating-point sums. Raise `SsdgymError` if the workload is Python code.
    """
    workload = load_workload(run.workload)
    if isinstance(workload, PythonWorkload):
        raise SsdgymError(
            "a workload made in Python cannot be named in results; register it as a kind (workload_kind)."
        )
    return {
        "format": _FORMAT,
        "names": {"device": run.device_name, "workload": run.workload_name, "policy": run.policy},
        "device": load_fields(run.device).model_dump(mode="json"),
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


def spec_text(spec: Spec) -> str:
    """Return a spec as one line of JSON; equal specs give equal text."""
    return json.dumps(spec, sort_keys=True, separators=(",", ":"), allow_nan=False)


def read_spec(text: str, subject: str) -> Spec:
    """Read a spec from text that `spec_text` returned; `subject` begins the message of an error."""
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
    """Return a hash of everything that the metrics of a run depend on: its spec without names, and the code.

    Runs whose devices differ only in names have the same key. The code is the version of ssdgym, the engine
    (including numba), the workloads, the simulator, the policies, a user's workload, and either the rules of
    the run's policy or the environments, agents and baselines.
    """
    parts = {name: value for name, value in spec.items() if name not in _NAMES}
    device = device_for(parts["device"], ftl_changes(_ftl(spec)), spec["policy"])
    parts["device"] = device.model_dump(mode="json", exclude=_REMARKS)
    parts["ftl"] = None
    if spec["agent"] is None:
        parts["policy"] = get_policy(spec["policy"]).composition
    else:
        # An agent's file is identified by its hash, not by its path.
        kept = {name: value for name, value in spec["agent"].items() if name != "path"}
        parts["agent"] = kept if _is_file(spec["agent"]) else spec["agent"]
    workload = code_hashes(load_workload(spec["workload"]))
    parts["code"] = [ssdgym.__version__, engine_hash(), _code_hash(device, spec["policy"]), *workload]
    return hashlib.sha256(spec_text(parts).encode()).hexdigest()


def runs_of_spec(spec: Spec, where: str, *, trust: bool = False) -> list[RunSpec]:
    """Return the runs that repeat the run of a spec: that run, and for an agent the others of its batch.

    Raise `SsdgymError`, beginning with `where`, if the spec is malformed or a trace or agent has changed.
    """
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
    """Return the FTL options of a spec in the form of `RunSpec.ftl`."""
    return tuple((str(name), value) for name, value in spec["ftl"])


def _agent(run: RunSpec, seeds: Sequence[int]) -> dict[str, Any]:
    """Return the field `agent` of a spec: path or name, hash, seeds of the batch, and any environment."""
    source = source_of(run.agent or "", trust=run.trust)
    agent = {"path": source.text, "sha256": source.digest(), "seeds": list(seeds)}
    if run.environment is not None:
        agent["environment"] = run.environment.model_dump(mode="json")
    return agent


def _is_file(agent: dict[str, Any]) -> bool:
    """Return whether the agent of a spec is a file and not a name or a callable."""
    return isinstance(untrusted_source_of(agent["path"]), FileSource)


def _code_hash(device: Any, policy: str | None) -> str:
    """Return a hash of the sources, except the engine's, that a run of a policy (None: an agent) uses."""
    folders = ("workloads", "simulator", "policy")
    if policy is None:
        return _sources_hash((*folders, "envs", "agents", "baselines"))
    return f"{_sources_hash(folders)}-{get_policy(policy).placed_on(device).source_digest()}"


@cache
def _sources_hash(folders: tuple[str, ...]) -> str:
    digest = hashlib.sha256()
    for folder in folders:
        root = Path(import_module(f"ssdgym.{folder}").__path__[0])
        for source in sorted(root.rglob("*.py")):
            digest.update(f"{folder}/{source.relative_to(root)}".encode())
            digest.update(source.read_bytes())
    return digest.hexdigest()
