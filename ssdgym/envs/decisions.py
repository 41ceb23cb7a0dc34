"""Base classes of the kinds of decisions that agents take, and of the arguments of environments.

A decision is a choice among K candidates: action k chooses candidate k. Proposers are policies whose choice
(their pick) the engine computes at each decision, for the agent to see.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from inspect import Parameter, Signature, signature
from typing import Any, ClassVar, Literal, Self

import numpy as np

from ssdgym.config.device import DeviceConfig, PreconditioningConfig, read_preconditioning
from ssdgym.config.fields import is_whole, seed_number
from ssdgym.config.ftl import FtlConfig
from ssdgym.engine.core.records import MAX_PAIRS
from ssdgym.engine.decisions import ERASE, KINDS, RULE, no_rules
from ssdgym.engine.observation import ObservationBuffers, ObservationSpec
from ssdgym.envs.features import Features, Selection, Setting, select
from ssdgym.errors import SsdgymError, shown
from ssdgym.policy import Policy, get_policy, new_choice, rules_for
from ssdgym.policy.names import hint
from ssdgym.policy.on_device import rules_on, with_rules
from ssdgym.simulator.families import family_of, mappings_that_ask


def victims_of(victims: str | Policy | None) -> Policy | None:
    """Return the policy `victims`, a compiled victim rule without a placement; None if `victims` is None."""
    if victims is None:
        return None
    policy = get_policy(victims)
    if len(policy.parts) > 1 or not policy.victim.compiled or policy.victim.needs_placement:
        raise SsdgymError(
            f"victims name {policy.label}; give a compiled victim rule alone, such as 'greedy'."
        )
    return policy


def with_victims(device: DeviceConfig, policy: Policy | None) -> DeviceConfig:
    """Return the device with the changes that a policy's victim rule needs; unchanged if `policy` is None."""
    if policy is None:
        return with_rules(device)
    return with_rules(policy.adapt(device), victim=policy.victim)


def basic_spec(external: int, observer: int = 0) -> ObservationSpec:
    """Return a specification of observations without features and proposers.

    Args:
        external: bit set of the kinds of decisions that the agent takes: bit k for kind k.
        observer: address of the function that writes observations; 0 for that of decisions about erases.
    """
    return ObservationSpec(
        rules=no_rules(),
        external=external,
        proposers=np.zeros(0, RULE),
        every=False,
        most_blocks=1,
        pairs=new_choice(),
        observers=np.full(len(KINDS), observer),
    )


#: Largest value of an argument `candidates`.
MOST_CANDIDATES = 4096


class Decision(ABC):
    """The decisions that an agent takes: their candidates, and the features that observations contain.

    Attributes:
        kind: number of the kind of decision, from `ssdgym.engine.decisions`.
        kinds: numbers of all kinds of decisions that the agent takes. If it is empty, the only one is `kind`.
        candidates: number of candidates K, or `"all"` for all erase sets of a plane.
        most_blocks: largest number of blocks in a candidate that no proposer picked.
        features: features of the candidates and of the context. `observe` selects them among the registered
            features, unless a subclass defines this attribute.
        selection: the registered features that `observe` has selected.
        proposers: victim policies or merge rules whose picks the engine computes for each observation.
        names: names of the proposers in the order of `info["proposed"]`; empty if that order varies.
        labels: labels of the proposers, by the kind of candidate that they pick: `candidate` (an erase set
            or block), `stream`, `answer` (commands of an idle die), `way` (an area for data) or `plan`.
        policy: policy that chooses victims inside the engine; None if the agent or the device chooses them.
    """

    kind: ClassVar[int]
    kinds: Sequence[int] = ()
    candidates: int | str
    most_blocks: int = 1
    features: Features
    selection = Selection((), (), {})
    proposers: Sequence[Policy] = ()
    names: Sequence[str] = ()
    labels: Mapping[str, Sequence[str]]
    policy: Policy | None = None

    @abstractmethod
    def spec(self) -> ObservationSpec:
        """Return the specification of observations without features; it is valid in this process only."""

    def candidates_on(self, devices: Sequence[DeviceConfig]) -> int:
        """Return K, the number of candidates; actions are numbers from 0 to K - 1.

        Args:
            devices: all devices of the environment, after `adapt`.

        Raises:
            SsdgymError: the decision cannot be taken on one of the devices.
        """
        return int(self.candidates)

    def propose(self, kind: str, names: Sequence[str]) -> None:
        """Set the names of proposers, which pick candidates of one kind, and select the default features."""
        self.names, self.labels = names, {kind: names}
        self.observe("default", ())

    def setting(self, devices: Sequence[DeviceConfig]) -> Setting:
        """Return the properties of the environment that determine which features apply."""
        kinds = tuple(KINDS[kind] for kind in self.kinds or (self.kind,))
        return Setting(tuple(devices), self.most_blocks, kinds)

    def observe(self, features: Any, devices: Sequence[DeviceConfig]) -> None:
        """Select the features to observe on devices: `"default"`, `"all"` or a list of names.

        Raises:
            SsdgymError: `features` has another form, or names a feature that is unknown or does not apply.
        """
        if not hasattr(type(self), "features"):
            self.selection = select(features, self.setting(devices), self.labels)
            self.features = self.selection.features
        elif features != "default":
            raise SsdgymError(f"features cannot be chosen here; leave them out, not {features!r:.60}.")

    def buffers(self, count: int, candidates: int) -> ObservationBuffers:
        """Return arrays for the observations of `count` devices, each with K candidates."""
        columns, entries = len(self.features.candidates), len(self.features.context)
        count_of = {kind: len(labels) for kind, labels in self.selection.proposers.items()}
        # `proposed` has places for picks of erase sets, then of streams. Other picks use the first places.
        in_turn = count_of.pop("candidate", 0) + count_of.pop("stream", 0)
        proposers = max(in_turn, *count_of.values(), 0)
        return ObservationBuffers.allocate(count, candidates, columns, entries, proposers)

    def ask(self, candidates: int, device: DeviceConfig) -> ObservationSpec:
        """Return `spec` with the features, arrays for K `candidates`, and the rules of `device`.

        All devices of a batch have the same rules.
        """
        memories = {rule.name: rule.memory for rule in rules_on(device)[1:]}
        spec = self.selection.ask(self.spec(), candidates, memories)
        return spec._replace(rules=rules_for(device, self.policy))

    def credits(self, batches: Sequence[Any], view: ObservationBuffers) -> Any:
        """Return the credits of batches, observed in `view`; None: infos contain no costs of decisions.

        Credits have the methods of `ssdgym.envs.rewards.credit.PageCredits`.
        """
        return None

    def check_asked_on(self, device: DeviceConfig) -> None:
        """Raise SsdgymError if the device's FTL family has no decisions of this kind for agents."""
        if self.kind not in family_of(device).agent_decisions:
            mappings = " or ".join(mappings_that_ask(self.kind)) or "a family that has it in agent_decisions"
            raise SsdgymError(
                f"device {device.name} of ftl.mapping {device.ftl.mapping} never waits for the decision of "
                f"this environment; choose one of mapping {mappings}."
            )

    def adapt(self, device: DeviceConfig) -> DeviceConfig:
        """Return the device with the changes that this decision needs, such as rules; by default none.

        Raises:
            SsdgymError: the decision cannot be taken on the device.
        """
        return device


class EraseDecision(Decision):
    """The decision which erase set garbage collection erases next in a plane.

    The first candidates are the picks of the proposers, without repetitions. Half of the other candidates are
    the sets with most invalid pages, and the rest are random sets.

    Args:
        candidates: number of candidates K, or `"all"` for all erase sets of a plane in a fixed order.
        proposers: victim policies whose picks are always candidates.
        most_blocks: largest number of blocks in a candidate that no proposer picked, 1 to `MAX_PAIRS`.

    Raises:
        SsdgymError: an argument has a wrong type or value.
    """

    kind = ERASE

    def __init__(self, candidates: int | str, proposers: Sequence[str], most_blocks: int = 1) -> None:
        if isinstance(proposers, str) or not isinstance(proposers, Sequence):
            raise SsdgymError(f"proposers must be a list of policies, not {proposers!r}.")
        _check_candidates(candidates, len(proposers))
        if not is_whole(most_blocks) or not 1 <= most_blocks <= MAX_PAIRS:
            raise SsdgymError(
                f"most_blocks must be a whole number from 1 to {MAX_PAIRS}, not {most_blocks!r}."
            )
        self.candidates = candidates
        self.proposers = [get_policy(name) for name in proposers]
        self.most_blocks = most_blocks
        self.propose("candidate", [name if isinstance(name, str) else name.label for name in proposers])

    def candidates_on(self, devices: Sequence[DeviceConfig]) -> int:
        """Return the number of candidates; raise SsdgymError if a proposer does not fit a device."""
        _check_proposers(self.proposers, devices)
        return _count_sets(devices) if self.candidates == "all" else int(self.candidates)

    def spec(self) -> ObservationSpec:
        """Return the specification of observations without features, which `ask` adds."""
        return basic_spec(1 << self.kind)._replace(
            proposers=np.stack([policy.victim.proposing.record for policy in self.proposers]),
            every=self.candidates == "all",
            most_blocks=self.most_blocks,
        )


def _check_candidates(candidates: int | str, proposers: int) -> None:
    if not proposers:
        raise SsdgymError("proposers must name at least one policy.")
    if candidates == "all":
        return
    if isinstance(candidates, str) or not is_whole(candidates):
        raise SsdgymError(f"candidates must be a number or 'all', not {candidates!r}.")
    if not proposers <= candidates <= MOST_CANDIDATES:
        raise SsdgymError(
            f"candidates must be from {proposers} (one for each proposer) to {MOST_CANDIDATES}, "
            f"not {candidates}."
        )


def _count_sets(devices: Sequence[DeviceConfig]) -> int:
    """Return the number of erase sets in a plane, the largest of all devices."""
    most = 0
    for device in devices:
        s = device.geometry.sub_blocks_per_block
        sets = {"block": 1, "sub_block_run": s * (s + 1) // 2, "sub_block_set": 2**s - 1}[device.erase_unit]
        most = max(most, device.geometry.blocks_per_plane * sets)
    if most > MOST_CANDIDATES:
        raise SsdgymError(
            f"candidates='all' would list {most} erase sets of a plane; at most {MOST_CANDIDATES} are "
            "possible, so give a number of candidates."
        )
    return most


def _check_proposers(policies: Sequence[Policy], devices: Sequence[DeviceConfig]) -> None:
    """Raise if a proposer's rule keeps memory, or needs another erase unit or placement than a device has."""
    for policy in policies:
        if policy.victim.proposing.keeps_memory:
            raise SsdgymError(
                f"proposers name {policy.label}, whose victim rule keeps memory, which only the policy that "
                "decides can; choose another proposer."
            )
        for device in devices:
            wanted = policy.adapt(device)
            for field, has, needs in (
                ("erase_unit", device.erase_unit, wanted.erase_unit),
                ("multi_plane", device.multi_plane, wanted.multi_plane),
                ("ftl.placement", *(getattr(one.ftl, "placement", None) for one in (device, wanted))),
            ):
                if has != needs:
                    raise SsdgymError(
                        f"proposers name {policy.label}, which needs {field} {needs}, and device "
                        f"{device.name} has {has}; choose {_proposer_instead(policy, device)}, or a device "
                        "or ftl that has it."
                    )


def _proposer_instead(policy: Policy, device: DeviceConfig) -> str:
    """Return the name of the policy's victim rule, or "another proposer" if it does not fit the device."""
    # A composed policy may need changes of the device that its victim rule alone does not need.
    rule = get_policy(policy.victim.label).main if policy.alias else policy.victim
    fits = rule.erase_unit in (None, device.erase_unit) and rule.multi_plane in (None, device.multi_plane)
    return rule.label if fits else "another proposer"


#: Values of `invalid`: an action outside the mask raises, is replaced, or is replaced at a penalty of 1.
Invalid = Literal["error", "replace", "penalty"]
INVALID: tuple[Invalid, ...] = ("error", "replace", "penalty")
#: Values of `at_end`: a workload that ends before the episode is repeated, or ends the episode.
AtEnd = Literal["wrap", "truncate"]
AT_END: tuple[AtEnd, ...] = ("wrap", "truncate")
#: Values of `size`: the keys of a mapping `device` that contains a small device and the device of a paper.
SIZES = ("small", "paper")
#: `horizon` and `warmup` must be below this number of host pages.
LONGEST_EPISODE = 2**62


@dataclass(frozen=True, kw_only=True)
class Options(ABC):
    """The arguments of an environment.

    Each environment has a subclass, which adds the arguments of its decision and changes defaults.
    `ssdgym.envs.DecisionEnv` describes the arguments that all environments have.
    """

    device: Any = "demo"
    size: str | None = None
    ftl: FtlConfig | dict[str, Any] | None = None
    workload: Any = "zipf99"
    size_to_trace: bool = False
    at_end: AtEnd = "wrap"
    objective: Mapping[str, float] | None = None
    horizon: int = 8192
    warmup: int = 0
    preconditioning: str | dict[str, Any] = "workload"
    preconditioning_seed: int = 0
    features: str | Sequence[str] = "default"
    reward: str | Mapping[str, Any] | None = None
    invalid: Invalid = "error"

    default_objective: ClassVar[Mapping[str, float]] = {"relocations": 1.0}
    default_reward: ClassVar[str | Mapping[str, Any]] = "plain"

    def __post_init__(self) -> None:
        """Replace a mapping of sizes in `device` by the device of `size`, and check arguments."""
        if isinstance(self.device, Mapping) and set(self.device) == set(SIZES):
            if self.size not in (None, *SIZES):
                raise SsdgymError(f"size must be {' or '.join(SIZES)}, not {shown(self.size)}.")
            object.__setattr__(self, "device", self.device[self.size or SIZES[0]])
        elif self.size is not None:
            raise SsdgymError("size chooses among the devices of a paper's task; leave it out here.")
        for name, minimum in (("horizon", 1), ("warmup", 0)):
            value = getattr(self, name)
            if not is_whole(value) or not minimum <= value < LONGEST_EPISODE:
                raise SsdgymError(
                    f"{name} must be a whole number of host pages from {minimum} up, not {value!r}."
                )
        if self.how_preconditioned.kind == "until_gc":
            raise SsdgymError("preconditioning until_gc needs a measured policy; take until_gc_greedy.")
        seed_number(self.preconditioning_seed, "preconditioning_seed")
        for name, known in (("at_end", AT_END), ("invalid", INVALID)):
            if getattr(self, name) not in known:
                raise SsdgymError(f"{name} must be {' or '.join(known)}, not {shown(getattr(self, name))}.")

    @classmethod
    def of(cls, arguments: Mapping[str, Any]) -> Self:
        """Return the options with the values of keyword arguments.

        Raises:
            SsdgymError: the environment has no such argument.
        """
        names = [field.name for field in fields(cls)]
        unknown = next((name for name in arguments if name not in names), None)
        if unknown is not None:
            raise SsdgymError(f"the environment has no argument {unknown}; {hint(unknown, names)}")
        return cls(**arguments)

    @property
    def how_preconditioned(self) -> PreconditioningConfig:
        """The argument `preconditioning` as a model."""
        return read_preconditioning(self.preconditioning)

    @abstractmethod
    def decision(self) -> Decision:
        """Return the `Decision` that has the values of these arguments."""

    @classmethod
    def decision_arguments(cls) -> tuple[str, ...]:
        """Return the names of the decision's arguments: `features`, and all that `Options` does not have.

        `credit` is not among them, since only training uses it.
        """
        shared = {field.name for field in fields(Options)} - {"features"} | {"credit"}
        return tuple(field.name for field in fields(cls) if field.name not in shared)


def described(options: Options, decision: Decision) -> dict[str, Any]:
    """Return the arguments, by name, whose values must be the same in an agent's training and in its use."""
    names = decision.features.names()
    found = {name: getattr(options, name) for name in (*options.decision_arguments(), "invalid")}
    # Features are listed by name, because those of "default" depend on the device.
    return {**found, "features": [*names["candidates"], *names["context"]] or "default"}


def sign(environment: Any) -> None:
    """Set the signature of an environment's class, with the fields of its `Options` as arguments."""
    own = list(signature(environment.__init__).parameters.values())[1:]
    if own and own[-1].kind is Parameter.VAR_KEYWORD and hasattr(environment, "options_type"):
        own[-1:] = signature(environment.options_type).parameters.values()
    environment.__signature__ = Signature(own)
