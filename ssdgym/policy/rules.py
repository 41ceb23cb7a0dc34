"""Rules: one function for each kind of decision, with its parameters set and what it needs to run."""

from __future__ import annotations

import hashlib
import os
from collections import namedtuple
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Any, ClassVar, TypeVar

import numpy as np

from ssdgym.config.device import DeviceConfig
from ssdgym.engine.core.family import State
from ssdgym.engine.core.handle import Memory, rule_address
from ssdgym.engine.core.kernel import is_own
from ssdgym.engine.core.records import ERASE_PAIR, MAX_PAIRS, MAX_STREAMS
from ssdgym.engine.decisions import EVENTS, KINDS, MAX_PARAMETERS, ORACLE, PERIOD, RULE, SHAPES
from ssdgym.engine.view import VIEW_TYPE
from ssdgym.enums import Choice, EraseUnit, Isolation, MultiPlane
from ssdgym.errors import SsdgymError
from ssdgym.policy.names import files_of, hint, label_of

RuleT = TypeVar("RuleT", bound="Rule")
ChoiceT = TypeVar("ChoiceT", bound=Choice)
HookT = TypeVar("HookT", bound=Callable[..., Any])
#: The event of time passing, for plain Python: see `PlacementRule.periodic`.
_PERIOD = "period"


def choice_of(kind: type[ChoiceT], word: str, where: str) -> ChoiceT:
    """Return one of several choices by its word; `where` names the field in the error."""
    for choice in kind:
        if choice == word:
            return choice
    raise SsdgymError(f"{where} must be one of {', '.join(kind)}, not {word!r}.")


def new_choice() -> np.ndarray:
    """Return scratch for the erase set that a victim rule writes, shape (MAX_PAIRS,) of ERASE_PAIR."""
    return np.zeros(MAX_PAIRS, ERASE_PAIR)


@dataclass(frozen=True)
class Rule:
    """A function that takes one kind of decision, and its parameters.

    Attributes:
        name: by which it is looked up; unique over all kinds of rules.
        function: the rule; `None` for one that is a part of the engine.
        source: the paper or book it is from.
        compiled: whether it runs inside the engine.
        parameters: values by name, in the order in which they are declared.
        bounds: the smallest and the largest value allowed, by name; without an entry, any is.
        memory: records that the rule keeps, part of the state of every device it runs on.
        hooks: functions called for what happens to pages and blocks, by the name of the event.
        periods: the function called between two steps of the engine, if there is one, by the name `period`.
        table: on a device, the words (u4) of `view.table`; `None` for no table.
        controller_bytes: on a device, the bytes that a controller would need for the records and the table;
            `None`: as many as they have.
        trusted: leave the checks out that rules of other packages are compiled with.
        always_checked: compile it with these checks whatever package it is of.
    """

    name: str
    function: Callable[..., int] | None
    source: str
    compiled: bool = True
    parameters: Mapping[str, float] = field(default_factory=dict)
    bounds: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    memory: Memory = field(default_factory=Memory)
    table: Callable[[DeviceConfig], int] | None = None
    controller_bytes: Callable[[DeviceConfig], int] | None = None
    hooks: dict[str, Callable[..., None]] = field(default_factory=dict)
    periods: dict[str, Callable[..., int]] = field(default_factory=dict)
    trusted: bool = False
    always_checked: bool = field(default=False, compare=False)

    #: The decision, by the name that the engine has for the function's shape.
    decision: ClassVar[str]
    #: What errors call it, in policies that name it beside their main rule.
    called: ClassVar[str] = "rule"
    #: The arguments of the function, as errors name them.
    arguments: ClassVar[tuple[str, ...]]

    @property
    def kind(self) -> int:
        """Number of the decision, of `ssdgym.engine.decisions`."""
        return KINDS.index(self.decision.upper())

    def with_parameters(self: RuleT, given: Mapping[str, float]) -> RuleT:
        """Return the same rule with other parameters.

        A parameter whose default is a whole number takes whole numbers only.

        Raises:
            SsdgymError: a name or value is wrong.
        """
        changed = {name: self._checked(name, value) for name, value in given.items()}
        return replace(self, parameters={**self.parameters, **changed})

    def _checked(self, key: str, value: float) -> float:
        if key not in self.parameters:
            known = ", ".join(self.parameters) or "none"
            raise SsdgymError(f"policy {self.name} has no parameter {key!r}; it has: {known}.")
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not np.isfinite(value):
            raise SsdgymError(f"parameter {key} of policy {self.name} must be a number, not {value!r}.")
        whole = isinstance(self.parameters[key], int)
        if whole and value != int(value):
            raise SsdgymError(f"parameter {key} of policy {self.name} must be whole, not {value!r}.")
        least, most = self.bounds.get(key, (-np.inf, np.inf))
        if not least <= value <= most:
            limit = f"at least {least}" if value < least else f"at most {most}"
            raise SsdgymError(f"parameter {key} of policy {self.name} must be {limit}, not {value:g}.")
        return int(value) if whole else float(value)

    @property
    def label(self) -> str:
        """The name with all parameters, as it is written in a policy."""
        return label_of(self.name, self.parameters)

    @property
    def code(self) -> bytes:
        """The files of the function and the hooks, with what they import from their package.

        It is the code itself of those typed at a prompt.
        """
        hooks = (*self.hooks.values(), *self.periods.values())
        functions = [function for function in (self.function, *hooks) if function is not None]
        files = files_of(functions)
        if all(file.is_file() for file in files):
            return b"".join(file.read_bytes() for file in files)
        return b"".join(getattr(function, "py_func", function).__code__.co_code for function in functions)

    def source_digest(self) -> str:
        """Return a hash of the code of the function and the hooks."""
        return hashlib.sha256(self.code).hexdigest()

    @cached_property
    def vector(self) -> np.ndarray:
        """The parameters for the engine, shape (MAX_PARAMETERS,) float64, in order of declaration."""
        values = np.zeros(MAX_PARAMETERS)
        values[: len(self.parameters)] = list(self.parameters.values())
        return values

    @cached_property
    def values(self) -> Any:
        """The parameters for plain Python: by name, and by number in order of declaration."""
        return _named(tuple(self.parameters))(*map(float, self.parameters.values()))

    @property
    def checked(self) -> bool:
        """Whether it is compiled so that what would end the process is an error.

        Rules of other packages are, unless they are trusted; with `SSDGYM_CHECKED=1` all are.
        """
        if self.always_checked or os.environ.get("SSDGYM_CHECKED", "0") not in ("", "0"):
            return True
        return not self.trusted and self.function is not None and not is_own(self.function)

    @property
    def address(self) -> int:
        """Address of the compiled function; compiles at first use."""
        if not self.compiled:
            raise SsdgymError(f"policy {self.name} is plain Python and cannot run inside the engine.")
        assert self.function is not None, "the engine has the code of this rule"
        return self._address(self.function, self.decision)

    def _address(self, function: Callable[..., Any], shape: str) -> int:
        try:
            return _compile(function, shape, self.memory, tuple(self.parameters), self.checked)[0]
        except ValueError as error:
            raise SsdgymError(
                f"policy {self.name} cannot be compiled: {error}; correct it, or register it with "
                "compiled=False."
            ) from error

    @cached_property
    def record(self) -> np.ndarray:
        """The rule and its hooks for the engine, shape () RULE; compiles at first use."""
        record = np.zeros((), RULE)
        record["choose"] = self.address if self.function else 0
        record["parameters"] = self.vector
        for event, hook in self.hooks.items():
            record["hook"][[*EVENTS].index(event)] = self._address(hook, event)
            record["hooks"] |= EVENTS[event]
        record["hooks"] |= PERIOD if self.periods else 0
        return record

    def on(self, event: str) -> Callable[[HookT], HookT]:
        """Register the decorated function as the rule's hook of an event.

        Raises:
            SsdgymError: there is no such event, or the rule can have no such hook.
        """
        if event == _PERIOD and not isinstance(self, PlacementRule):
            raise SsdgymError(f"policy {self.name}: only placements have periods; give one to a placement.")
        if event not in (*EVENTS, _PERIOD):
            known = (*EVENTS, _PERIOD)
            raise SsdgymError(f"policy {self.name}: event {event} does not exist; {hint(event, known)}")
        if not self.compiled:
            raise SsdgymError(f"policy {self.name} is plain Python and can have no hooks; compile it.")

        def hook(listener: HookT) -> HookT:
            (self.periods if event == _PERIOD else self.hooks)[event] = listener
            return listener

        return hook


@dataclass(frozen=True)
class VictimRule(Rule):
    """A rule that chooses what is erased.

    `function(view, plane, parameters, choice)` looks at one device, writes an erase set of `plane` to
    `choice` and returns the number of pairs (0: no victim).

    Attributes:
        erase_unit: what the rule has one erase take; `None`: whole blocks, which every device can.
        isolation: what keeps such erases from their neighbours, for devices of another erase unit.
        multi_plane: which planes of a die take part in one erase; `None`: those the device says.
        shares_memory_with: placements whose memory the rule uses where it runs with one of them. It then
            hooks nothing: the placement keeps the records. One without memory of its own runs with no other.
        equivalent: of a rule that keeps memory, a function that chooses the same without it, to show its
            choices where another one decides.
    """

    function: Callable[..., int]
    erase_unit: EraseUnit | None = None
    isolation: Isolation = Isolation.NONE
    multi_plane: MultiPlane | None = None
    shares_memory_with: tuple[str, ...] = ()
    equivalent: Callable[..., int] | None = None

    decision: ClassVar[str] = "erase"
    chooses: ClassVar[str] = "what is erased"
    arguments: ClassVar[tuple[str, ...]] = ("view", "plane", "parameters", "choice")

    @property
    def keeps_memory(self) -> bool:
        """Whether the rule has to follow what happens on a device."""
        return bool(self.hooks or self.shares_memory_with or self.memory != Memory())

    @property
    def needs_placement(self) -> bool:
        """Whether the rule runs with the placements whose memory it uses only."""
        return bool(self.shares_memory_with) and self.memory == Memory()

    @property
    def proposing(self) -> VictimRule:
        """The rule as it proposes where another one decides: by its equivalent, if it has one."""
        if self.equivalent is None:
            return self
        return VictimRule(
            self.name,
            self.equivalent,
            self.source,
            parameters=self.parameters,
            trusted=self.trusted,
            always_checked=self.always_checked,
            erase_unit=self.erase_unit,
            isolation=self.isolation,
            multi_plane=self.multi_plane,
        )


@dataclass(frozen=True)
class PlacementRule(Rule):
    """A rule that chooses where pages are written.

    `function(view, plane, lpn, source, parameters)` returns the target that logical page `lpn` goes to in
    `plane`: a stream or, of a rule with `targets`, `MAX_STREAMS` + a sub-block of the pool. `source` is -1
    for a page of the host, else the physical page it is relocated from. It changes nothing: it may be called
    several times for one page, and learns in hooks. `None` is a placement that the engine has code for.

    Attributes:
        streams: write streams of a plane, each with an open block of its own.
        relocation_streams: how many of them relocated pages of a round can go to; with several, a plane keeps
            three free blocks in place of two; 0: they go to sub-blocks of the pool.
        relocated_to: the stream that all relocated pages go to, so that the function places host pages only;
            `None`: it names it.
        targets: whether it names sub-blocks of the pool, too. The data that a host page replaces is then
            invalid before the function is called.
        counted: fields of its one record that are metrics, cleared by the rule where `view.counters[0]` is.
        oracle: whether its function for periods gets the future of the run; such a placement is a bound,
            which only `Simulator.run` carries out, untimed.
        online: whether tables list it as a learned policy, one that learns on the device it runs on.
        equivalent: of a placement that the engine has code for, a function that chooses the same.
    """

    streams: int = 1
    relocation_streams: int = 1
    relocated_to: int | None = None
    targets: bool = False
    counted: tuple[str, ...] = ()
    oracle: bool = False
    online: bool = False
    equivalent: Callable[..., int] | None = None

    decision: ClassVar[str] = "place"
    called: ClassVar[str] = "placement"
    arguments: ClassVar[tuple[str, ...]] = ("view", "plane", "lpn", "source", "parameters")

    def __post_init__(self) -> None:
        """Raise if there are no streams to place pages in, or too many."""
        if not (0 if self.targets else 1) <= self.relocation_streams <= self.streams <= MAX_STREAMS:
            raise SsdgymError(
                f"policy {self.name} declares {self.streams} streams, {self.relocation_streams} of them for "
                f"relocated pages; at least 1 of these and at most {MAX_STREAMS} in all are possible."
            )

    @property
    def periodic(self) -> Callable[..., int]:
        """The function for periods, called with the view, the parameters and, for an oracle, the future.

        The future is a `ssdgym.simulator.future.Future`, or `None` where none is known. It returns
        after how many host pages it is called again.
        """
        return self.periods["period"]


@dataclass(frozen=True)
class IdleRule(Rule):
    """A rule that chooses how many commands of background GC an idle die carries out.

    `function(view, die, gap_ns, parameters)` returns the number of commands, moves and at last the erase, of
    the round that goes on or starts; the erase ends them in any case, and a negative number lets the die wait
    for so many ns until the next call. It changes nothing and learns in hooks.

    Attributes:
        oracle: whether it gets the time to the next arrival, which is -1 for other rules.
    """

    oracle: bool = False

    decision: ClassVar[str] = "idle"
    called: ClassVar[str] = "idle rule"
    arguments: ClassVar[tuple[str, ...]] = ("view", "die", "gap_ns", "parameters")

    @cached_property
    def record(self) -> np.ndarray:
        """The rule and its hooks for the engine, shape () RULE; compiles at first use."""
        record = super().record.copy()
        record["hooks"] |= ORACLE if self.oracle else 0
        return record


@dataclass(frozen=True)
class AllocationRule(Rule):
    """A rule that chooses which free block a stream goes on in.

    `function(view, plane, stream, parameters)` returns a block of the pool of `plane`, which has one. It
    changes nothing: it may be called several times for one block, and learns in hooks.
    """

    decision: ClassVar[str] = "allocate"
    called: ClassVar[str] = "allocation"
    arguments: ClassVar[tuple[str, ...]] = ("view", "plane", "stream", "parameters")


@dataclass(frozen=True)
class LevellingRule(Rule):
    """A rule that levels wear: it chooses which block is emptied although nothing is to be won by that.

    `function(view, plane, parameters)` returns a closed block of `plane`, one in its index, whose valid pages
    move to a worn block, or -1. It is called where the collection of a plane has ended, changes nothing, and
    learns in hooks: `view.plane[plane].levelling` is `LEVELLING_RUNS` in those of its own rounds.

    Attributes:
        oracle: whether it has the limits of cells; pages then move to the block with least erases left.
    """

    oracle: bool = False

    decision: ClassVar[str] = "level"
    called: ClassVar[str] = "levelling rule"
    arguments: ClassVar[tuple[str, ...]] = ("view", "plane", "parameters")


@dataclass(frozen=True)
class Tracker(Rule):
    """A rule that decides nothing: it follows what happens on a device and keeps records of it."""


@cache
def _named(names: tuple[str, ...]) -> Any:
    """Return the one class for parameters of these names: kernels are compiled anew for every class."""
    return namedtuple("Parameters", names)


@cache
def _compile(
    function: Callable[..., Any], shape: str, memory: Memory, names: tuple[str, ...], checked: bool
) -> tuple[int, Any]:
    """Return the address of a rule's machine code, compiled once in a process, and what keeps it alive."""
    return rule_address(function, SHAPES[shape], VIEW_TYPE, memory, names, checked)


@dataclass(frozen=True)
class MergeRule(Rule):
    """A rule that chooses how the blocks of a bundle are merged.

    `function(plans, case, parameters)` returns the number of a candidate: 0 is a Merge, `1 + l` an M-Merge
    with partial blocks of level `l`, and the last one the M-Merge by Algorithm 1. `plans[k]` has the figures
    of candidate `k`, and `case[0]` what is merged (PLAN and CASE of `ssdgym.engine.core.records`). It sees
    nothing else of the device, and keeps no records.
    """

    function: Callable[..., int]

    decision: ClassVar[str] = "merge"
    chooses: ClassVar[str] = "how blocks are merged"
    arguments: ClassVar[tuple[str, ...]] = ("plans", "case", "parameters")
    #: It needs nothing of a device, where victim rules may.
    erase_unit: ClassVar[EraseUnit | None] = None
    isolation: ClassVar[Isolation] = Isolation.NONE
    multi_plane: ClassVar[MultiPlane | None] = None
    shares_memory_with: ClassVar[tuple[str, ...]] = ()

    def on(self, event: str) -> Callable[[HookT], HookT]:
        """Refuse a hook."""
        raise SsdgymError(
            f"policy {self.name} chooses {self.chooses} and can have no hook of {event}; leave it out."
        )


def merge_arguments(state: State, i: int) -> tuple[Any, Any]:
    """Return copies of the candidates, (K,) PLAN, and of what is merged, (1,) CASE, for plain Python."""
    arrays: Any = state
    case = arrays.case[i].copy()
    plans = arrays.figure[i, : int(case["candidates"][0])].copy()
    return plans.view(np.recarray), case.view(np.recarray)
