"""The registry of features. A feature is a compiled function that returns one number of an observation.

The kind of a feature is the kind of thing that it describes: a `stream`, a `page`, an idle `die`, and so on.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache
from typing import Any

from ssdgym.config.device import DeviceConfig
from ssdgym.engine.core.handle import Handle, Memory
from ssdgym.engine.core.kernel import compiled_address, inlined, is_own
from ssdgym.engine.core.observed import FEATURE_SHAPES
from ssdgym.engine.view import VIEW_TYPE
from ssdgym.errors import SsdgymError
from ssdgym.own_code import plugins_of
from ssdgym.types import Feature

Function = Callable[..., float]


#: For each kind of decision, the kinds of features that describe its candidates and its context.
_OF_DECISIONS = {
    "ERASE": ("candidate",),
    "LEVEL": ("candidate",),
    "PLACE": ("stream", "page"),
    "RELOCATE": ("stream", "page"),
    "IDLE": ("answer", "die"),
    "REGION": ("way", "sector"),
    "MERGE": ("plan", "bundle"),
}


@dataclass(frozen=True)
class Setting:
    """The properties of an environment on which the selection of its features depends.

    Attributes:
        devices: all devices of the environment.
        most_blocks: largest number of blocks in a candidate that no proposer picked.
        kinds: names of the kinds of decisions that the agent takes.
    """

    devices: tuple[DeviceConfig, ...]
    most_blocks: int = 1
    kinds: tuple[str, ...] = ("ERASE",)

    @property
    def described(self) -> tuple[str, ...]:
        """The kinds of features that apply to these kinds of decisions."""
        own = dict.fromkeys(kind for decision in self.kinds for kind in _OF_DECISIONS.get(decision, ()))
        return (*own, "decision", "device")

    def has(self, test: Callable[[DeviceConfig], bool]) -> bool:
        """Return whether the test is true for at least one device."""
        return any(test(device) for device in self.devices)


#: A function that returns whether, in a setting, a feature is observed by default, or has a meaning.
When = Callable[[Setting], bool]


def always(setting: Setting) -> bool:
    """Return True."""
    return True


@inlined
def clip(value: Any, low: Any, high: Any) -> Any:
    """Return the value, limited to two bounds."""
    return min(max(value, low), high)


@dataclass(frozen=True)
class RegisteredFeature:
    """A registered feature; the arguments of `feature` describe most attributes."""

    feature: Feature
    kind: str
    function: Function = field(compare=False)
    default: When = field(compare=False)
    samples_pages: bool = False
    tracker: str = ""
    fits: When = field(default=always, compare=False)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle only the name, by which the unpickling process finds the feature in its own registry."""
        return _registered, (self.feature.name,)

    def address_on(self, memory: Memory) -> int:
        """Return the address of the compiled function; `memory` is the layout of the tracker's records."""
        try:
            return _compile(self.function, self.kind, memory)[0]
        except ValueError as error:
            raise SsdgymError(
                f"feature {self.feature.name} cannot be compiled: {error}; it is called with "
                f"({', '.join(CALLED_WITH[self.kind])}) and returns a number (fields: docs/extending.md)."
            ) from None


#: The tracker that records the host writes and relocations of each page, and the pages of each stream.
PAGE_HISTORY = "page_history"
#: The kinds of features, each with the arguments of its functions. `view` contains the arrays that rules
#: read, and the tracker's records. Other arguments are records of `ssdgym.engine.core.observed`.
CALLED_WITH = {
    "candidate": ("view", "candidate", "decision"),
    "stream": ("view", "stream", "page"),
    "answer": ("view", "answer", "die"),
    "die": ("view", "die"),
    "way": ("view", "way", "sector"),
    "sector": ("view", "sector"),
    "plan": ("view", "plan", "bundle"),
    "bundle": ("view", "bundle"),
    "decision": ("view", "decision"),
    "page": ("view", "page"),
    "device": ("view",),
}
_FEATURES: dict[str, RegisteredFeature] = {}


def registered_features() -> tuple[RegisteredFeature, ...]:
    """Return all features, including those of installed packages, in the order of their registration."""
    for plugin in plugins_of("ssdgym.features"):
        plugin.load()
    return tuple(_FEATURES.values())


def find_features(names: Sequence[str]) -> list[RegisteredFeature]:
    """Return the features with the given names; raise SsdgymError if one does not exist."""
    if not _FEATURES.keys() >= set(names):
        registered_features()
    for name in names:
        if name not in _FEATURES:
            near = "".join(f"take {one}, " for one in get_close_matches(name, _FEATURES, n=1))
            raise SsdgymError(
                f"feature {name!r} does not exist; {near}import the module that registers it (--import), "
                "or choose one of `ssdgym list features`."
            )
    return [_FEATURES[name] for name in names]


def _registered(name: str) -> RegisteredFeature:
    return find_features([name])[0]


@cache
def _compile(function: Function, kind: str, memory: Memory) -> tuple[int, Any]:
    """Return the address of a feature's machine code, and an object that keeps the code in memory."""
    shape = FEATURE_SHAPES[kind]
    # Checks of indices and of writes keep a user's function from ending the process and changing a device.
    checked = not is_own(function)
    arguments = (Handle(VIEW_TYPE, memory, checked=checked), *shape.args[1:])
    return compiled_address(function, shape.return_type(*arguments), checked=checked)


def feature(
    *,
    unit: str = "share",
    low: float = 0.0,
    high: float = 1.0,
    default: When = lambda setting: False,
    fits: When = always,
    samples_pages: bool = False,
    tracker: str = "",
) -> Callable[[Function], Function]:
    """Register the decorated function as a feature.

    The feature has the name of the function, and its meaning is the first paragraph of the docstring without
    "Return". The names of the function's arguments determine the feature's kind (see `CALLED_WITH`).

    Args:
        unit: unit of the values.
        low: smallest value. Environments raise SsdgymError if the function returns a lower value.
        high: largest value. Environments raise SsdgymError if the function returns a higher value.
        default: function of a `Setting` that returns whether `features="default"` includes the feature. By
            default, it returns False.
        fits: function of a `Setting` that returns whether the feature has a meaning. By default, it returns
            True.
        samples_pages: for features of a candidate: whether the function reads `sampled`, `updates`,
            `neighbours` or `neighbour_updates`. If it is false, the engine may leave these fields 0.
        tracker: for features of a stream or a page: name of the tracker whose records the function reads.
            By default it is `PAGE_HISTORY`. Environments add the tracker to their devices.

    Raises:
        SsdgymError: another module has registered a feature of this name, the arguments of the function are
            those of no kind, or `low` is not below `high`.
    """

    def add(function: Function) -> Function:
        name = function.__name__
        if not low < high:
            raise SsdgymError(f"feature {name} has the bounds {low} and {high}; give low below high.")
        known = _FEATURES.get(name)
        if known is not None and known.function.__module__ != function.__module__:
            raise SsdgymError(
                f"feature {name} is registered already by {known.function.__module__}; choose another name."
            )
        kind = _kind_of(function)
        _FEATURES[name] = RegisteredFeature(
            Feature(name, _meaning(function), unit, low, high),
            kind,
            function,
            default,
            samples_pages,
            tracker or (PAGE_HISTORY if kind in ("stream", "page") else ""),
            fits,
        )
        return function

    return add


def _kind_of(function: Function) -> str:
    """Return the kind of feature whose arguments a function has."""
    arguments = tuple(inspect.signature(function).parameters)
    for kind, called_with in CALLED_WITH.items():
        if arguments == called_with:
            return kind
    those = " or ".join(f"({', '.join(called_with)})" for called_with in CALLED_WITH.values())
    raise SsdgymError(
        f"feature {function.__name__} has the arguments ({', '.join(arguments)}); name them {those}."
    )


def _meaning(function: Function) -> str:
    """Return the meaning of a feature: the first paragraph of its docstring, or its name."""
    first = (inspect.getdoc(function) or function.__name__).partition("\n\n")[0]
    return " ".join(first.split()).removeprefix("Return ").rstrip(".")
