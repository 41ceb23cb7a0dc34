"""Read a configuration from a name, a YAML file, a mapping or a ready model, and check it."""

import copy
import difflib
import functools
from collections.abc import Collection, Hashable
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from ssdgym.config.fields import plain
from ssdgym.errors import SsdgymError, in_words, shown

#: Exceptions of YAML's constructors for a text that does not fit its tag, such as `!!int said` or `0x_`.
_UNFIT = (ValueError, TypeError, AttributeError, LookupError, ArithmeticError)
#: Most levels of nesting, and most values of a file; each repetition of a value by an alias counts.
MOST_LEVELS = 50
MOST_VALUES = 1_000_000
#: Most characters of a number. Python could not print a number of more than 4,300 digits in an error.
MOST_DIGITS = 100
_NUMBERS = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")


class _Strict(yaml.constructor.BaseConstructor):
    """A YAML loader that raises errors with file, line and column."""

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        if node.tag in _NUMBERS and len(node.value) > MOST_DIGITS:
            raise _problem(f"{shown(node.value)} has too many digits for a number", node)
        try:
            return super().construct_object(node, deep)
        except _UNFIT:
            kind = node.tag.rpartition(":")[2]
            raise _problem(f"{shown(node.value)} cannot be read as {shown(kind)}", node) from None

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        """Construct a mapping; refuse a key that is given twice, which YAML itself allows."""
        if not isinstance(node, yaml.MappingNode):
            raise _problem("a mapping of fields to values is expected here", node)
        seen = set()
        for key_node, _ in node.value:
            # `super().construct_mapping` refuses keys that are no scalars.
            key = key_node.value if isinstance(key_node, yaml.ScalarNode) else id(key_node)
            if key in seen:
                raise _problem(f"the key {shown(key)} is given twice", key_node)
            seen.add(key)
        return super().construct_mapping(node, deep)

    def construct_document(self, node: yaml.Node) -> Any:
        _count(node, {}, 1)
        return super().construct_document(node)


class _Loader(_Strict, yaml.SafeLoader):
    """A YAML loader that converts scalars to numbers, booleans and so on."""


class _TextLoader(_Strict, yaml.BaseLoader):
    """A YAML loader that returns every scalar as text, such as `007` and `yes`."""


def _problem(text: str, node: yaml.Node) -> yaml.MarkedYAMLError:
    return yaml.constructor.ConstructorError(None, None, text, node.start_mark)


def _count(node: yaml.Node, known: dict[int, int], level: int) -> int:
    """Return the number of values of a node, each repetition by an alias included; refuse too many values.

    `known` caches the results by the id of a node; `level` is the level of nesting, 1 for the document.
    """
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
    """Parse `text` as YAML.

    Args:
        text: the YAML.
        where: first words of errors.
        as_texts: whether to return every scalar as text.

    Raises:
        SsdgymError: the text is no valid YAML, or exceeds `MOST_LEVELS` or `MOST_VALUES`.
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
    """Parse a text; results are cached, since grids and figures read the same files many times."""
    return yaml.load(text, Loader=_TextLoader if as_texts else _Loader)


def parse_mapping(text: str, where: str, *, as_texts: bool = False) -> dict[str, Any]:
    """Parse `text` as `parse_value` does.

    Raises:
        SsdgymError: the text is no valid YAML, or no mapping.
    """
    data = parse_value(text, where, as_texts=as_texts)
    if not isinstance(data, dict):
        raise SsdgymError(f"{where}: must be a mapping of fields to values, not {shown(data)}.")
    return data


ModelT = TypeVar("ModelT")
Source = str | Path | dict[str, Any] | BaseModel

_PACKAGE = "ssdgym.configs"
_YAML_SUFFIXES = (".yaml", ".yml")


#: Fields with notes on values, by field name: where a value was published, or why it is assumed.
NOTES = ("sources", "assumed")


class Config(BaseModel):
    """Base of every configuration model: immutable, and unknown fields are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    #: Groups of fields that exclude each other: a change of one field of a group drops the other fields.
    alternatives: ClassVar[tuple[tuple[str, ...], ...]] = ()

    @model_validator(mode="before")
    @classmethod
    def _known_fields(cls, data: Any) -> Any:
        """Return the data with numbers of Python; refuse unknown fields, and suggest known ones."""
        if not isinstance(data, dict):
            return data
        known = cls.model_fields
        if unknown := [name for name in data if name not in known]:
            name = unknown[0]
            parts = {part: getattr(info.annotation, "model_fields", {}) for part, info in known.items()}
            inside = [f"{part}.{name}" for part in parts if name in parts[part]]
            near = f"{_near(str(name), [*inside, *known])}: choose one of {', '.join(known)}"
            about = {"name": f"{name!s:.60}".encode(errors="backslashreplace").decode(), "near": near}
            raise PydanticCustomError("unknown_field", "field {name} is unknown{near}", about)
        return {name: plain(value) for name, value in data.items()}

    def with_changes(self, changes: dict[str, Any]) -> dict[str, Any]:
        """Return the fields that were set, nested as mappings, with changes.

        Args:
            changes: new values by name. A mapping changes only some fields of a nested model.
        """
        fields = self.model_dump(exclude_unset=True)
        for group in self.alternatives:
            if not changes.keys().isdisjoint(group):
                fields = {name: fields[name] for name in fields if name not in group}
        for name, value in changes.items():
            part = getattr(self, name, None)
            if isinstance(part, Config) and isinstance(value, dict):
                value = part.with_changes(value)
            fields[name] = value
        return fields


class BasedConfig(Config):
    """A configuration whose missing fields are those of another configuration, which `base` names.

    Attributes:
        folder: folder of `configs` that contains the configurations that `base` can name.
        by_field: fields that are mappings and are merged key by key.
    """

    folder: ClassVar[str]
    by_field: ClassVar[tuple[str, ...]] = ()

    @model_validator(mode="before")
    @classmethod
    def _values_of_others(cls, data: Any) -> Any:
        return cls.resolved(data) if isinstance(data, dict) else data

    @classmethod
    def resolved(cls, data: dict[str, Any], below: tuple[str, ...] = ()) -> dict[str, Any]:
        """Return the fields with those of `base`; `below` are the files whose `base` led to this file."""
        return cls.joined(data, "base", below=below)

    @classmethod
    def joined(
        cls,
        data: dict[str, Any],
        field: str,
        names: Collection[str] | None = None,
        below: tuple[str, ...] = (),
    ) -> dict[str, Any]:
        """Return the fields together with those fields of another configuration that `data` lacks.

        Args:
            data: the fields. They are returned unchanged if `field` is not among them.
            field: name of the field that names the other configuration. The result does not have it.
            names: fields to use of the other configuration, nested ones as `reads.bytes`; None: all.
            below: the files whose `base` led to this file.

        Raises:
            ValueError: no configuration has the name, or the configuration refers back to itself.
        """
        if field not in data:
            return data
        if data[field] not in available(cls.folder):
            raise ValueError(f"names in {field} {data[field]!r:.60}, which is none of configs/{cls.folder}")
        own = {name: value for name, value in data.items() if name != field}
        where, fields = read_named(data[field], cls.folder)
        if where in below:
            raise ValueError(f"names in {field} {where}, which leads back to itself; correct that")
        other = cls.resolved(fields, (*below, where))
        taken = (lambda name: True) if names is None else names.__contains__
        merged = {name: value for name, value in other.items() if taken(name)} | own
        parts = {part: own.get(part, {}) for part in cls.by_field if isinstance(other.get(part), dict)}
        for part, given in parts.items():
            if isinstance(given, dict):
                prefix = "" if part in NOTES else f"{part}."
                others = {name: value for name, value in other[part].items() if taken(prefix + name)}
                merged[part] = others | given
        # A given note replaces the other configuration's note on the field in `sources` and in `assumed`.
        for notes, opposite in (NOTES, NOTES[::-1]):
            if isinstance(parts.get(opposite), dict) and isinstance(own.get(notes), dict):
                replaced = own[notes].keys() - parts[opposite].keys()
                merged[opposite] = {
                    name: why for name, why in merged[opposite].items() if name not in replaced
                }
        return merged


def load_config(
    model: type[ModelT] | TypeAdapter[ModelT], source: Source, folder: str, where: str | None = None
) -> ModelT:
    """Return `source` as a checked `model`.

    Args:
        model: a pydantic model, or a `TypeAdapter` of a union of models with a field `kind`.
        source: a name in `configs/<folder>`, the path of a YAML file, a mapping or a ready model.
        folder: folder of `configs`, such as `"devices"`.
        where: first words of errors about a mapping or a ready model.

    Raises:
        SsdgymError: unknown name, unreadable file, bad YAML or a field that does not fit.
    """
    adapter = model if isinstance(model, TypeAdapter) else TypeAdapter(model)
    where, data = _read(source, folder, where)
    try:
        return adapter.validate_python(data)
    except ValidationError as error:
        raise SsdgymError(f"{where}: {_describe(error, data)}") from None
    except (ArithmeticError, RecursionError) as error:
        raise SsdgymError(
            f"{where}: a number is too large, or values are nested too deeply ({error})."
        ) from None


def available(folder: str) -> list[str]:
    """Return the names of the configurations in `configs/<folder>`, sorted."""
    names = (Path(entry.name) for entry in resources.files(_PACKAGE).joinpath(folder).iterdir())
    return sorted(name.stem for name in names if name.suffix in _YAML_SUFFIXES)


def is_yaml_path(source: str | Path) -> bool:
    """Return whether `source` ends in `.yaml` or `.yml`, and so is a path and no name."""
    return str(source).endswith(_YAML_SUFFIXES)


def _read(source: Source, folder: str, where: str | None) -> tuple[str, Any]:
    """Return the first words of errors about a source, and the data of the source."""
    if not isinstance(source, (str, Path)):
        return where or f"{folder.removesuffix('s')} configuration", source
    if isinstance(source, Path) or is_yaml_path(source) or "/" in source or "\\" in source:
        return str(source), _parse_yaml(Path(source), str(source))
    return read_named(source, folder)


def read_named(name: str, folder: str) -> tuple[str, Any]:
    """Return the path of a configuration in `configs/<folder>`, for errors, and the content of its file."""
    names = available(folder)
    if name not in names:
        raise SsdgymError(
            f"there is no {folder.removesuffix('s')} named '{name}' in configs/{folder}{_near(name, names)}: "
            f"choose one of {', '.join(names)}, or give the path of a YAML file."
        )
    where = f"configs/{folder}/{name}.yaml"
    return where, _parse_yaml(resources.files(_PACKAGE).joinpath(folder, f"{name}.yaml"), where)


def _near(name: str, known: Collection[str]) -> str:
    """Return ", did you mean" and up to 3 known names like an unknown one; empty if there are none."""
    near = difflib.get_close_matches(name, known, n=3)
    return f", did you mean {' or '.join(near)}" if near else ""


def _parse_yaml(file: Path | Traversable, where: str) -> Any:
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise SsdgymError(f"{where}: cannot be read ({error.strerror}); check the path.") from None
    except UnicodeDecodeError:
        raise SsdgymError(f"{where}: is not UTF-8 text; give a YAML file.") from None
    return parse_mapping(text, where)


def _describe(error: ValidationError, data: Any) -> str:
    """Return a sentence about the first problem of an error, with the number of further problems."""
    first, *others = error.errors(include_url=False)
    more = f" (and {len(others)} more problem{'s' if len(others) > 1 else ''})" if others else ""
    return f"{_describe_one(first, data)}{more}."


def _describe_one(problem: Any, data: Any) -> str:
    field = _field_name(problem["loc"], data)
    subject = f"field {field} " if field else ""
    context = problem.get("ctx", {})
    match problem["type"]:
        case "missing":
            return f"field {field} is missing"
        case "unknown_field":
            return f"field {_join(field, context['name'])} is unknown{context['near']}"
        case "union_tag_not_found":
            return f"field {_join(field, context['discriminator'])} is missing"
        case "union_tag_invalid":
            tag = _join(field, context["discriminator"])
            return f"field {tag} must be one of {context['expected_tags']}, not '{context['tag']}'"
        case "value_error":
            return f"{subject}{context['error']}"
        case "model_type" | "model_attributes_type":
            return f"{subject}must be a mapping of fields to values, not {shown(problem['input'])}"
        case "tuple_type" | "list_type":
            return f"{subject}must be a list; for one value write [{problem['input']!s:.60}]"
    text, given = f"{subject}{in_words(problem['msg'])}", problem["input"]
    shows = isinstance(given, (bool, int, float, str, type(None)))
    return f"{text}, not {shown(given)}" if shows else text


def _field_name(location: tuple[int | str, ...], data: Any) -> str:
    """Return the dotted name of a field without the tags that pydantic adds for the members of a union."""
    parts = []
    untagged = None
    for number, part in enumerate(location):
        if _is_tag(location, number, data) and data is not untagged:
            untagged = data
            continue
        parts.append(f"{part!s:.60}")
        data = _child(data, part)
    return ".".join(parts)


def _is_tag(location: tuple[int | str, ...], number: int, data: Any) -> bool:
    """Return whether part `number` of a location is the tag of a union; a field can have the same name."""
    part, below = location[number], location[number + 1 : number + 2]
    return (
        isinstance(data, dict)
        and data.get("kind") == part
        and (part not in data or (below != () and isinstance(below[0], str)))
    )


def _child(data: Any, part: int | str) -> Any:
    if isinstance(data, dict):
        return data.get(part)
    if isinstance(data, (list, tuple)) and isinstance(part, int) and part < len(data):
        return data[part]
    return None


def _join(field: str, discriminator: str) -> str:
    name = discriminator.strip("'")
    return f"{field}.{name}" if field else name
