"""Rules: functions that decide, with their parameters, records, hooks and requirements on the device."""

from __future__ import annotations

import os
import traceback
from collections import namedtuple
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self, TypeVar

import numpy as np

from ssdgym.config.device import DeviceConfig
from ssdgym.engine.compiler.checking import MOST_ROUNDS, EndlessLoop
from ssdgym.engine.core.handle import Memory, rule_address
from ssdgym.engine.core.kernel import is_own
from ssdgym.engine.core.records import ERASE_PAIR, MAX_PAIRS, MAX_STREAMS
from ssdgym.engine.decisions import EVENTS, KINDS, MAX_PARAMETERS, ORACLE, PERIOD, RULE, SHAPES
from ssdgym.engine.view import VIEW_TYPE
from ssdgym.enums import Choice, EraseUnit, Isolation, MultiPlane
from ssdgym.errors import SsdgymError
from ssdgym.policy.names import files_of, hint, label_of

ChoiceT = TypeVar("ChoiceT", bound=Choice)
HookT = TypeVar("HookT", bound=Callable[..., Any])
#: The event of which only placements may have a hook, in plain Python.
PERIODIC = "period"

#: What a rule decides. A tracker decides nothing; its hooks record events of a device.
Kind = Literal["victim", "placement", "idle", "allocation", "levelling", "merge", "tracker"]


class About(NamedTuple):
    """How the engine and error messages name a kind of rules."""

    shape: str  # key of the function's signature in `ssdgym.engine.decisions.SHAPES`
    called: str  # name in errors
    arguments: tuple[str, ...] = ()  # arguments of the function, if it may be plain Python


ABOUT: dict[Kind, About] = {
    "victim": About("erase", "victim rule", ("view", "plane", "parameters", "choice")),
    "placement": About("place", "placement"),
    "idle": About("idle", "idle rule"),
    "allocation": About("allocate", "allocation"),
    "levelling": About("level", "levelling rule"),
    "merge": About("merge", "merge rule", ("plans", "case", "parameters")),
    "tracker": About("", "tracker"),
}


def choice_of(kind: type[ChoiceT], word: str, where: str) -> ChoiceT:
    """Return the member of an enumeration that equals `word`; `where` begins the error if there is none."""
    for choice in kind:
        if choice == word:
            return choice
    raise SsdgymError(f"{where} must be one of {', '.join(kind)}, not {word!r}.")


def new_choice() -> np.ndarray:
    """Return an array for the erase set that a victim rule writes, shape (MAX_PAIRS,) of ERASE_PAIR."""
    return np.zeros(MAX_PAIRS, ERASE_PAIR)


@dataclass(frozen=True)
class Rule:
    """A function that takes one kind of decision, and what it needs.

    `ssdgym.policy` describes the arguments and results of the functions of each kind.

    Attributes:
        kind: kind of the decision.
        name: name of the rule, unique over all kinds of rules.
        function: the function that decides; `None` for a tracker, and for a placement of the engine.
        source: the paper or book that describes the rule.
        compiled: whether the function is compiled into the engine. Only victim and merge rules may be plain
            Python, which is called at every decision.
        parameters: values by name, in the order in which they are declared.
        bounds: the smallest and largest allowed value of parameters, by name. A parameter that is missing
            here may have any finite value.
        memory: records that the rule keeps in the state of every device on which it runs.
        table: (device configuration) -> number of u4 words of `view.table`, which are 0 at the start; `None`:
            the rule has no table.
        controller_bytes: (device configuration) -> bytes that a controller would need for the records and the
            table; `None`: the bytes that they take in the simulator.
        hooks: functions called at events of pages, blocks and dies, by the name of the event.
        trusted: whether a rule of another package is compiled without checks. An index out of range can then
            end the process or remain unnoticed.
        erase_unit: the erase unit that a victim rule needs. A device with a different unit is changed to this
            unit and to `isolation`. `None`: the rule erases whole blocks, as every device can.
        isolation: see `erase_unit`.
        multi_plane: which planes of a die one erase may include; `None`: as the device sets it.
        shares_memory_with: placements whose records a victim rule reads, in place of its own, if it runs with
            one of them; its own hooks are then not called. A rule without records runs with these only.
        equivalent: a function that makes the same choices without records. Environments call it to propose
            candidates while another policy decides. A placement of the engine has only this function.
        streams: number of write streams of a placement in a plane, each with its own open block.
        relocation_streams: number of streams that relocated pages of a round can go to. If it is above 1, GC
            keeps at least three free blocks in a plane, otherwise two. 0: they go to sub-blocks of the pool.
        relocated_to: the stream of all relocated pages, so that the function places host pages only; `None`:
            the function places all pages.
        targets: whether a placement may also return sub-blocks of the pool. The old data of a host page is
            then invalidated before the function is called.
        counted: fields of a placement's `view.memory[0]` that are metrics. A hook of the rule must set them
            to 0 at the first host page after a reset of the counters.
        oracle: whether the rule is given the future. A placement's hook of `period` is called with the future
            of an untimed `Simulator.run`, otherwise with `None`. An idle rule is called with the time to the
            next arrival. A levelling rule moves pages to the free block with fewest erases left.
        online: whether a placement learns on the device on which it runs. Tables then list it as learned.
    """

    kind: Kind
    name: str
    function: Callable[..., int] | None
    source: str
    compiled: bool = True
    parameters: Mapping[str, float] = field(default_factory=dict)
    bounds: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    memory: Memory = field(default_factory=Memory)
    table: Callable[[DeviceConfig], int] | None = None
    controller_bytes: Callable[[DeviceConfig], int] | None = None
    hooks: dict[str, Callable[..., Any]] = field(default_factory=dict)
    trusted: bool = False
    erase_unit: EraseUnit | None = None
    isolation: Isolation = Isolation.NONE
    multi_plane: MultiPlane | None = None
    shares_memory_with: tuple[str, ...] = ()
    equivalent: Callable[..., int] | None = None
    streams: int = 1
    relocation_streams: int = 1
    relocated_to: int | None = None
    targets: bool = False
    counted: tuple[str, ...] = ()
    oracle: bool = False
    online: bool = False

    def __post_init__(self) -> None:
        """Raise SsdgymError if the numbers of streams are out of range."""
        if not (0 if self.targets else 1) <= self.relocation_streams <= self.streams <= MAX_STREAMS:
            raise SsdgymError(
                f"policy {self.name} declares {self.streams} streams, {self.relocation_streams} of them for "
                f"relocated pages; at least 1 of these and at most {MAX_STREAMS} in all are possible."
            )

    @property
    def decision(self) -> int:
        """Number of the decision in `ssdgym.engine.decisions`."""
        return KINDS.index(ABOUT[self.kind].shape.upper())

    @property
    def keeps_memory(self) -> bool:
        """Whether the rule has hooks, or uses records of its own or of a placement."""
        return bool(self.hooks or self.shares_memory_with or self.memory != Memory())

    @property
    def needs_placement(self) -> bool:
        """Whether the rule has no records of its own and runs only with placements whose records it uses."""
        return bool(self.shares_memory_with) and self.memory == Memory()

    @property
    def proposing(self) -> Rule:
        """The rule with `equivalent` as its function and without records; without `equivalent`, the rule."""
        if self.equivalent is None:
            return self
        return replace(self, function=self.equivalent, memory=Memory(), hooks={}, shares_memory_with=())

    def with_parameters(self, given: Mapping[str, float]) -> Self:
        """Return the rule with new values of parameters.

        Raises:
            SsdgymError: there is no such parameter, or a value is out of bounds or not whole as its default.
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
        """The name with all parameters, as in the text of a policy."""
        return label_of(self.name, self.parameters)

    @property
    def code(self) -> bytes:
        """The bytes of the source files of function and hooks, and of the modules they import (`files_of`).

        If functions have no files, such as those typed at a prompt, their bytecode.
        """
        functions = [one for one in (self.function, *self.hooks.values()) if one is not None]
        files = files_of(functions)
        if all(file.is_file() for file in files):
            return b"".join(file.read_bytes() for file in files)
        return b"".join(getattr(function, "py_func", function).__code__.co_code for function in functions)

    @cached_property
    def vector(self) -> np.ndarray:
        """The parameters for the engine, shape (MAX_PARAMETERS,) float64, in order of declaration."""
        values = np.zeros(MAX_PARAMETERS)
        values[: len(self.parameters)] = list(self.parameters.values())
        return values

    @cached_property
    def values(self) -> Any:
        """The parameters for plain Python, a named tuple of floats in order of declaration."""
        return _named(tuple(self.parameters))(*map(float, self.parameters.values()))

    @property
    def checked(self) -> bool:
        """Whether the rule is compiled with checks, so that an index out of range is an error.

        Rules of other packages are checked unless they are trusted; `SSDGYM_CHECKED=1` checks all rules.
        """
        if os.environ.get("SSDGYM_CHECKED", "0") not in ("", "0"):
            return True
        return not self.trusted and self.function is not None and not is_own(self.function)

    @property
    def address(self) -> int:
        """Address of the function, compiled at first use; SsdgymError if the function cannot be compiled."""
        if not self.compiled:
            raise SsdgymError(
                f"policy {self.name} is plain Python, which cannot run inside the engine; leave out "
                "compiled=False."
            )
        assert self.function is not None, "the engine has the code of this rule"
        return self._address(self.function, ABOUT[self.kind].shape)

    def _address(self, function: Callable[..., Any], shape: str) -> int:
        try:
            return _compile(function, shape, self.memory, tuple(self.parameters), self.checked)[0]
        except ValueError as error:
            about = ABOUT[self.kind]
            more = "or use compiled=False." if about.arguments else f"since every {about.called} is compiled."
            raise SsdgymError(f"policy {self.name} cannot be compiled: {error}; correct it, {more}") from None

    @cached_property
    def record(self) -> np.ndarray:
        """The rule and its hooks for the engine, shape () RULE; they are compiled at first use."""
        record = np.zeros((), RULE)
        record["choose"] = self.address if self.function else 0
        record["parameters"] = self.vector
        record["hooks"] = ORACLE if self.oracle and self.kind == "idle" else 0
        for event, hook in self.hooks.items():
            if event == PERIODIC:
                record["hooks"] |= PERIOD
            else:
                record["hook"][[*EVENTS].index(event)] = self._address(hook, event)
                record["hooks"] |= EVENTS[event]
        return record

    def on(self, event: str) -> Callable[[HookT], HookT]:
        """Register the decorated function as the rule's hook of an event.

        Raises:
            SsdgymError: there is no such event, or the rule can have no such hook.
        """
        if self.kind == "merge" or not self.compiled:
            what = "a merge rule" if self.kind == "merge" else "plain Python"
            raise SsdgymError(f"policy {self.name} is {what} and can have no hook of {event}; leave it out.")
        known = [*EVENTS, PERIODIC] if self.kind == "placement" else [*EVENTS]
        if event not in known:
            raise SsdgymError(f"policy {self.name} can have no hook of {event}; {hint(event, known)}")

        def hook(listener: HookT) -> HookT:
            self.hooks[event] = listener
            return listener

        return hook


@cache
def _named(names: tuple[str, ...]) -> Any:
    """Return the one class of named tuples with these names: numba compiles kernels anew for each class."""
    return namedtuple("Parameters", names)


@cache
def _compile(
    function: Callable[..., Any], shape: str, memory: Memory, names: tuple[str, ...], checked: bool
) -> tuple[int, Any]:
    """Compile a function once per process; return the code's address, and an object that keeps the code."""
    return rule_address(function, SHAPES[shape], VIEW_TYPE, memory, names, checked)


def rule_error(error: Exception, rules: Iterable[Rule]) -> Exception:
    """Return an SsdgymError that names the rules which may have raised an exception; or the exception itself.

    Suspects are the rules whose functions are in the traceback, otherwise all rules of other packages. For a
    rule in plain Python the error also contains the line.
    """
    rules = [rule for rule in rules if rule.function is not None]
    frames = traceback.extract_tb(error.__traceback__)
    places = {(frame.filename, frame.name) for frame in frames}
    suspects = [rule for rule in rules if places & _places_of(rule)]
    suspects = suspects or [rule for rule in rules if rule.function and not is_own(rule.function)]
    if isinstance(error, SsdgymError) or not suspects:
        return error
    names = " or ".join(dict.fromkeys(rule.name for rule in suspects))
    if isinstance(error, EndlessLoop):
        reason = f"its loops go round more than {MOST_ROUNDS:,} times in one call"
        return SsdgymError(f"policy {names} does not end: {reason}; correct it.")
    reason = f"{type(error).__name__}, {error}" if str(error) else type(error).__name__
    files = {file for rule in suspects for file, _ in _places_of(rule)}
    if lines := [frame for frame in frames if frame.filename in files]:
        file, text = Path(lines[-1].filename).name, lines[-1].line
        reason += f" ({file}, line {lines[-1].lineno}{f': `{text:.60}`' if text else ''})"
    plain = not lines and any(rule.kind in ("victim", "merge") for rule in suspects)
    remedy = "; registered with compiled=False it fails with index and line" if plain else ""
    return SsdgymError(f"policy {names} failed: {reason}; correct it{remedy}.")


def _places_of(rule: Rule) -> set[tuple[str, str]]:
    """Return pairs of file and name, one for each function and hook of a rule."""
    functions = (function for function in (rule.function, *rule.hooks.values()) if function is not None)
    codes = [getattr(function, "py_func", function).__code__ for function in functions]
    return {(code.co_filename, code.co_name) for code in codes}
