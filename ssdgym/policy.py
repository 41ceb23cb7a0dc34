"""Policies: what one is, how it is registered, how it is looked up.

A victim policy is one decorated function. Written in the subset of Python that numba compiles it runs inside
the engine at full speed; with ``compiled=False`` it is plain Python, called at every decision::

    from ssdgym.policy import victim_policy, whole_block, eligible, blocks_of

    @victim_policy("youngest", source="an example")
    def youngest(dev, plane, parameters, choice):
        best, best_time = -1, -1
        for block in blocks_of(dev, plane):
            if eligible(dev, block) and dev.block[block].closed_at > best_time:
                best, best_time = block, dev.block[block].closed_at
        return whole_block(dev, choice, best)

Packages of policies are found by the entry point group ``ssdgym.policies``.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cache, cached_property
from importlib.metadata import entry_points
from typing import Any

import numpy as np

from ssdgym.engine.gc import POLICY_SIGNATURE
from ssdgym.engine.index import fullest_block
from ssdgym.engine.kernel import compiled_address, kernel
from ssdgym.engine.layout import ERASE_PAIR, MAX_PAIRS
from ssdgym.engine.rng import POLICY_STREAM
from ssdgym.engine.victims import best_run, blocks_of, eligible, random_eligible, whole_block
from ssdgym.errors import SsdgymError

__all__ = [
    "POLICY_STREAM",
    "Policy",
    "available_policies",
    "best_run",
    "blocks_of",
    "eligible",
    "fullest_block",
    "get_policy",
    "kernel",
    "new_choice",
    "random_eligible",
    "victim_policy",
    "whole_block",
]

#: Most parameters of a policy.
MAX_PARAMETERS = 8
ENTRY_POINT_GROUP = "ssdgym.policies"


def new_choice() -> np.ndarray:
    """Scratch for the erase set a policy writes, shape (MAX_PAIRS,) of ERASE_PAIR."""
    return np.zeros(MAX_PAIRS, ERASE_PAIR)


@dataclass(frozen=True)
class Policy:
    """A victim policy with its parameters set.

    ``function(dev, plane, parameters, choice)`` looks at one device
    (:class:`ssdgym.engine.layout.PolicyView`), writes an erase set of ``plane`` to ``choice`` and returns the
    number of pairs (0: no victim).
    """

    name: str
    function: Callable[..., int]
    source: str
    compiled: bool = True
    parameters: Mapping[str, float] = field(default_factory=dict)
    least: Mapping[str, float] = field(default_factory=dict)

    def with_parameters(self, given: Mapping[str, float]) -> Policy:
        """The same policy with other parameters; a wrong name or value is an error.

        A parameter whose default is a whole number takes whole numbers only.
        """
        changed = dict(self.parameters)
        for key, value in given.items():
            if key not in self.parameters:
                known = ", ".join(self.parameters) or "none"
                raise SsdgymError(f"policy {self.name} has no parameter {key!r}; it has: {known}.")
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not np.isfinite(value):
                raise SsdgymError(f"parameter {key} of policy {self.name} must be a number, not {value!r}.")
            whole = isinstance(self.parameters[key], int)
            if whole and value != int(value):
                raise SsdgymError(f"parameter {key} of policy {self.name} must be whole, not {value!r}.")
            if value < self.least.get(key, -np.inf):
                raise SsdgymError(
                    f"parameter {key} of policy {self.name} must be at least {self.least[key]}, "
                    f"not {value:g}."
                )
            changed[key] = int(value) if whole else float(value)
        return replace(self, parameters=changed)

    @property
    def label(self) -> str:
        """The name with the parameters, as it is parsed by :func:`get_policy`."""
        if not self.parameters:
            return self.name
        inner = ", ".join(f"{key}={_number(value)}" for key, value in self.parameters.items())
        return f"{self.name}({inner})"

    @cached_property
    def vector(self) -> np.ndarray:
        """The parameters for the engine, shape (MAX_PARAMETERS,) float64, in order of declaration."""
        values = np.zeros(MAX_PARAMETERS)
        values[: len(self.parameters)] = list(self.parameters.values())
        return values

    @cached_property
    def _machine_code(self) -> tuple[int, Any]:
        try:
            return _compile(self.function)
        except ValueError as error:
            raise SsdgymError(
                f"policy {self.name} cannot be compiled: {error}; correct it, or register it with "
                "compiled=False."
            ) from error

    @property
    def address(self) -> int:
        """Address of the compiled function; compiles at first use."""
        if not self.compiled:
            raise SsdgymError(f"policy {self.name} is plain Python and cannot run inside the engine.")
        return self._machine_code[0]

    def __reduce__(self) -> tuple[Any, ...]:
        return (get_policy, (self.label,))


_REGISTRY: dict[str, Policy] = {}


@cache
def _compile(function: Callable[..., int]) -> tuple[int, Any]:
    """Address of a policy's machine code, compiled once in a process."""
    return compiled_address(function, POLICY_SIGNATURE)


def victim_policy(
    name: str,
    *,
    source: str,
    compiled: bool = True,
    parameters: Mapping[str, float] | None = None,
    least: Mapping[str, float] | None = None,
) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Register the decorated function as a victim policy.

    ``source`` names the paper or book it is from; ``parameters`` declares names and defaults, in the order in
    which the function finds them in its ``parameters`` array, ``least`` the smallest values allowed.
    """
    if not re.fullmatch(r"[A-Za-z_][\w.-]*", name):
        raise SsdgymError(
            f"policy name {name!r} must start with a letter and hold only letters, digits, _, . and -."
        )
    declared = dict(parameters or {})
    if len(declared) > MAX_PARAMETERS:
        raise SsdgymError(
            f"policy {name} declares {len(declared)} parameters; at most {MAX_PARAMETERS} are possible."
        )

    def register(function: Callable[..., int]) -> Callable[..., int]:
        known = _REGISTRY.get(name)
        if known is not None and inspect.getmodule(known.function) is not inspect.getmodule(function):
            raise SsdgymError(
                f"policy {name} is registered already by {known.function.__module__}; choose another name."
            )
        if not compiled and len(inspect.signature(function).parameters) != 4:
            raise SsdgymError(f"policy {name} must take the four arguments (dev, plane, parameters, choice).")
        _REGISTRY[name] = Policy(name, function, source, compiled, declared, dict(least or {}))
        return function

    return register


def _load_plugins() -> None:
    importlib.import_module("ssdgym.baselines")
    for plugin in entry_points(group=ENTRY_POINT_GROUP):
        plugin.load()


def available_policies() -> dict[str, Policy]:
    """All registered policies by name, ours and those of installed packages."""
    _load_plugins()
    return dict(sorted(_REGISTRY.items()))


def get_policy(spec: str | Policy) -> Policy:
    """A policy by name, with parameters in brackets: ``greedy``, ``d_choices(d=5)``."""
    if isinstance(spec, Policy):
        return spec
    if not isinstance(spec, str):
        raise SsdgymError(f"policy {spec!r} is neither a name nor a Policy.")
    match = re.fullmatch(r"\s*([\w.-]+)\s*(?:\((.*)\))?\s*", spec)
    if match is None:
        raise SsdgymError(f"policy {spec!r} is not of the form NAME or NAME(parameter=value, ...).")
    name, inner = match.groups()
    if name not in _REGISTRY:
        known = available_policies()
        if name not in known:
            near = get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(known)}."
            raise SsdgymError(f"policy {name} does not exist; {hint}")
    return _REGISTRY[name].with_parameters(_parse_parameters(name, inner))


def _parse_parameters(name: str, inner: str | None) -> dict[str, float]:
    given: dict[str, float] = {}
    for part in filter(None, (piece.strip() for piece in (inner or "").split(","))):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals:
            raise SsdgymError(f"parameter {part!r} of policy {name} is not of the form parameter=value.")
        if key in given:
            raise SsdgymError(f"parameter {key} of policy {name} is given twice.")
        try:
            given[key] = float(value)
        except ValueError:
            raise SsdgymError(f"parameter {key} of policy {name} must be a number, not {value!r}.") from None
    return given


def _number(value: float) -> str:
    """A number in full, whole ones without a fraction."""
    return repr(float(value)).removesuffix(".0")
