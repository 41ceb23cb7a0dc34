"""Registered features: one compiled function each, of a candidate, of a decision, or of a device."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import entry_points
from typing import Any

from ssdgym.config.device import DeviceConfig
from ssdgym.engine.core.handle import Handle, Memory
from ssdgym.engine.core.kernel import compiled_address, is_own
from ssdgym.engine.core.observed import FEATURE_SHAPES
from ssdgym.engine.page.view import VIEW_TYPE
from ssdgym.errors import SsdgymError
from ssdgym.types import Feature

#: Entry points of installed packages; loading one has to register its features.
ENTRY_POINT_GROUP = "ssdgym.features"
Function = Callable[..., float]


@dataclass(frozen=True)
class Setting:
    """What the features of an environment are chosen by.

    Attributes:
        devices: all that the environment has.
        most_blocks: most blocks of a candidate.
    """

    devices: tuple[DeviceConfig, ...]
    most_blocks: int = 1

    def has(self, test: Callable[[DeviceConfig], bool]) -> bool:
        """Return whether some device passes a test."""
        return any(test(device) for device in self.devices)


#: Says whether a feature tells anything in a setting.
When = Callable[[Setting], bool]


@dataclass(frozen=True)
class RegisteredFeature:
    """A feature and the function that computes it.

    Attributes:
        feature: name, meaning and bounds.
        kind: `candidate`, `decision` or `device`.
        function: to be compiled.
        default: in which settings it is observed without being named.
        samples_pages: whether it needs the updates of sampled pages to be counted.
    """

    feature: Feature
    kind: str
    function: Function = field(compare=False)
    default: When = field(compare=False)
    samples_pages: bool = False

    def __reduce__(self) -> tuple[Any, ...]:
        """Be pickled by name: the functions are found where the module is imported."""
        return _registered, (self.feature.name,)

    @property
    def address(self) -> int:
        """Address of the compiled function; compiles at first use.

        Raises:
            SsdgymError: it cannot be compiled.
        """
        try:
            return _compile(self.function, self.kind)[0]
        except ValueError as error:
            raise SsdgymError(
                f"feature {self.feature.name} cannot be compiled: {error}; it is called with "
                f"({', '.join(_ARGUMENTS[self.kind])}) and returns a number."
            ) from error


_ARGUMENTS = {
    "candidate": ("view", "candidate", "decision"),
    "decision": ("view", "decision"),
    "device": ("view",),
}
_FEATURES: dict[str, RegisteredFeature] = {}


def _never(setting: Setting) -> bool:
    return False


def candidate_feature(
    name: str,
    meaning: str,
    *,
    unit: str = "share",
    low: float = 0.0,
    high: float = 1.0,
    default: When = _never,
    samples_pages: bool = False,
) -> Callable[[Function], Function]:
    """Register the decorated function as a feature of every candidate.

    It is called with `(view, candidate, decision)`: what a victim rule sees, and records of
    `ssdgym.engine.core.observed`, CANDIDATE and DECISION.

    Args:
        name: by which environments and agents have it.
        meaning: what it says, as a phrase.
        unit: of its values.
        low: smallest value.
        high: largest value.
        default: in which settings it is observed without being named; never, unless said.
        samples_pages: whether it reads `sampled`, `updates`, `neighbours` or `neighbour_updates`.

    Returns:
        The decorator; the function stays as it is.

    Raises:
        SsdgymError: another module has registered a feature of this name, or the bounds are wrong.
    """
    return _register(Feature(name, meaning, unit, low, high), "candidate", default, samples_pages)


def decision_feature(
    name: str,
    meaning: str,
    *,
    unit: str = "share",
    low: float = 0.0,
    high: float = 1.0,
    default: When = _never,
) -> Callable[[Function], Function]:
    """Register the decorated function as an entry of the context that changes from decision to decision.

    It is called with `(view, decision)`.

    Args:
        name: by which environments and agents have it.
        meaning: what it says, as a phrase.
        unit: of its values.
        low: smallest value.
        high: largest value.
        default: in which settings it is observed without being named; never, unless said.

    Returns:
        The decorator; the function stays as it is.

    Raises:
        SsdgymError: another module has registered a feature of this name, or the bounds are wrong.
    """
    return _register(Feature(name, meaning, unit, low, high), "decision", default)


def device_feature(
    name: str,
    meaning: str,
    *,
    unit: str = "share",
    low: float = 0.0,
    high: float = 1.0,
    default: When = _never,
) -> Callable[[Function], Function]:
    """Register the decorated function as an entry of the context that tells devices apart.

    It is called with `(view)`.

    Args:
        name: by which environments and agents have it.
        meaning: what it says, as a phrase.
        unit: of its values.
        low: smallest value.
        high: largest value.
        default: in which settings it is observed without being named; never, unless said.

    Returns:
        The decorator; the function stays as it is.

    Raises:
        SsdgymError: another module has registered a feature of this name, or the bounds are wrong.
    """
    return _register(Feature(name, meaning, unit, low, high), "device", default)


def _register(
    feature: Feature, kind: str, default: When, samples_pages: bool = False
) -> Callable[[Function], Function]:
    if not feature.low < feature.high:
        raise SsdgymError(
            f"feature {feature.name} has the bounds {feature.low} and {feature.high}; give low below high."
        )

    def register(function: Function) -> Function:
        known = _FEATURES.get(feature.name)
        if known is not None and known.function.__module__ != function.__module__:
            raise SsdgymError(
                f"feature {feature.name} is registered already by {known.function.__module__}; choose "
                "another name."
            )
        _FEATURES[feature.name] = RegisteredFeature(feature, kind, function, default, samples_pages)
        return function

    return register


def registered_features() -> tuple[RegisteredFeature, ...]:
    """Return all features, those of installed packages included, in the order of their registration."""
    for plugin in entry_points(group=ENTRY_POINT_GROUP):
        plugin.load()
    return tuple(_FEATURES.values())


def find_features(names: Sequence[str]) -> list[RegisteredFeature]:
    """Return features by name.

    Raises:
        SsdgymError: there is none of a name.
    """
    if not _FEATURES.keys() >= set(names):
        registered_features()
    for name in names:
        if name not in _FEATURES:
            raise SsdgymError(f"feature {name!r} does not exist; there are {', '.join(_FEATURES)}.")
    return [_FEATURES[name] for name in names]


def _registered(name: str) -> RegisteredFeature:
    return find_features([name])[0]


@cache
def _compile(function: Function, kind: str) -> tuple[int, Any]:
    """Return the address of a feature's machine code, compiled once in a process, and what keeps it alive."""
    shape = FEATURE_SHAPES[kind]
    # A function of a user must not be able to end the process by a bad index, or to change a device.
    checked = not is_own(function)
    arguments = (Handle(VIEW_TYPE, Memory(), checked=checked), *shape.args[1:])
    return compiled_address(function, shape.return_type(*arguments), checked=checked)
