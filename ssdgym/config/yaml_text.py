"""YAML as configurations use it: mappings, lists, words and numbers; anything else is one short sentence."""

from __future__ import annotations

import copy
import functools
from collections.abc import Hashable
from typing import Any

import yaml

from ssdgym.errors import SsdgymError, shown

#: What the constructors of YAML raise for a text that its tag does not fit, such as `!!int said` or `0x_`.
_UNFIT = (ValueError, TypeError, AttributeError, LookupError, ArithmeticError)
#: Deepest nesting, and most values, those that aliases repeat counted each time: far more than needed.
MOST_LEVELS = 50
MOST_VALUES = 1_000_000
#: Most characters of a number; longer ones are typing errors, and Python refuses to print them from 4,300 on.
MOST_DIGITS = 100
_NUMBERS = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")


class _Strict(yaml.constructor.BaseConstructor):
    """Raise an error with a place for whatever a configuration cannot be made of."""

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        if node.tag in _NUMBERS and len(node.value) > MOST_DIGITS:
            raise _problem(f"{shown(node.value)} has too many digits for a number", node)
        try:
            return super().construct_object(node, deep)
        except _UNFIT:
            kind = node.tag.rpartition(":")[2]
            raise _problem(f"{shown(node.value)} cannot be read as {shown(kind)}", node) from None

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        """Construct a mapping; a key that is given twice is refused, where YAML lets the last one count."""
        if not isinstance(node, yaml.MappingNode):
            raise _problem("a mapping of fields to values is expected here", node)
        seen = set()
        for key_node, _ in node.value:
            # Keys that are no scalars are refused below.
            key = key_node.value if isinstance(key_node, yaml.ScalarNode) else id(key_node)
            if key in seen:
                raise _problem(f"the key {shown(key)} is given twice", key_node)
            seen.add(key)
        return super().construct_mapping(node, deep)

    def construct_document(self, node: yaml.Node) -> Any:
        _count(node, {}, 1)
        return super().construct_document(node)


class _Loader(_Strict, yaml.SafeLoader):
    """YAML as usual."""


class _TextLoader(_Strict, yaml.BaseLoader):
    """YAML whose every value is a text: 007 stays 007, and yes is a word."""


def _problem(text: str, node: yaml.Node) -> yaml.MarkedYAMLError:
    return yaml.constructor.ConstructorError(None, None, text, node.start_mark)


def _count(node: yaml.Node, known: dict[int, int], level: int) -> int:
    """Return how many values a node stands for; aliases can make few lines stand for any number of them."""
    if level > MOST_LEVELS:
        raise _problem(f"its values are nested too deeply (more than {MOST_LEVELS} levels)", node)
    if id(node) not in known:
        parts = [] if isinstance(node, yaml.ScalarNode) else node.value
        if isinstance(node, yaml.MappingNode):
            parts = [part for pair in node.value for part in pair]
        known[id(node)] = 1 + sum(_count(part, known, level + 1) for part in parts)
    if known[id(node)] > MOST_VALUES:
        raise _problem(f"its aliases repeat too much (more than {MOST_VALUES} values)", node)
    return known[id(node)]


def parse_value(text: str, where: str, *, as_texts: bool = False) -> Any:
    """Return what is written in `text` as YAML.

    Args:
        text: the YAML.
        where: what errors start with.
        as_texts: leave every value a text.

    Raises:
        SsdgymError: it is no valid YAML, or more than a configuration needs.
    """
    try:
        return copy.deepcopy(_loaded(text, as_texts=as_texts))
    except yaml.MarkedYAMLError as error:
        line = "" if error.problem_mark is None else f"line {error.problem_mark.line + 1}: "
        raise SsdgymError(f"{where}: {line}not valid YAML, {error.problem}.") from None
    except RecursionError:
        raise SsdgymError(f"{where}: not valid YAML, its values are nested too deeply.") from None
    except (yaml.YAMLError, *_UNFIT) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise SsdgymError(f"{where}: not valid YAML, {reason}.") from None


@functools.lru_cache(256)
def _loaded(text: str, *, as_texts: bool) -> Any:
    """Return what is written in a text; once, as grids and figures read a few files again and again."""
    return yaml.load(text, Loader=_TextLoader if as_texts else _Loader)


def parse_mapping(text: str, where: str, *, as_texts: bool = False) -> dict[str, Any]:
    """Return the mapping that is written in `text` as YAML.

    Args:
        text: the YAML.
        where: what errors start with.
        as_texts: leave every value a text.

    Raises:
        SsdgymError: it is no valid YAML, or no mapping.
    """
    data = parse_value(text, where, as_texts=as_texts)
    if not isinstance(data, dict):
        raise SsdgymError(f"{where}: must be a mapping of fields to values, not {shown(data)}.")
    return data
