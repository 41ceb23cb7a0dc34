"""Find which arrays of a device the rooms of the engine assign, from their syntax trees.

An array is reached as `dev.NAME` or `view.NAME`, by a local name for it or for one of its records, by a
kernel that returns one, or by a parameter of a kernel that is called with one. An assignment counts for the
room it is written in; one in `core` (the kernels of lists) counts for the room that calls it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

#: Names under which kernels get a device or a part of it.
DEVICES = ("dev", "view", "alone")
#: The room whose assignments count for its callers.
SHARED_ROOM = "core"


class Place(NamedTuple):
    """Something that can be assigned: a field of an array's records, or of what a parameter stands for."""

    root: str | int  # an array by name, or the position of a parameter
    field: str = ""


class Assignment(NamedTuple):
    """An assignment of an array, or of a field of its records ("" for the array's items themselves)."""

    file: str
    array: str
    field: str

    @property
    def room(self) -> str:
        return _room_of(self.file)


def _room_of(file: str) -> str:
    return file.split("/")[0].removesuffix(".py")


@dataclass
class _Kernel:
    """A function, what its names stand for, and what it assigns."""

    file: str
    node: ast.FunctionDef
    constants: Mapping[str, str] = field(default_factory=dict)
    #: Names of arrays or records, by local name.
    names: dict[str, set[str | int]] = field(default_factory=dict)
    #: What calling it assigns, and the file that counts for it ("" for the caller's).
    effects: set[tuple[str, Place]] = field(default_factory=set)

    @property
    def parameters(self) -> list[str]:
        return [argument.arg for argument in self.node.args.args]


class _Engine:
    """The kernels of some modules, by file and name."""

    def __init__(self, sources: Mapping[str, str], arrays: frozenset[str]) -> None:
        self.arrays = arrays
        trees = {file: ast.parse(source) for file, source in sources.items()}
        self.kernels = {
            (file, node.name): _Kernel(file, node)
            for file, tree in trees.items()
            for node in tree.body
            if isinstance(node, ast.FunctionDef)
        }
        self.imported = {file: dict(self._imports(tree)) for file, tree in trees.items()}
        for file, tree in trees.items():
            self._make_lists(file, tree)

    def _imports(self, tree: ast.Module) -> Iterator[tuple[str, tuple[str, str]]]:
        for node in tree.body:
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("ssdgym.engine."):
                file = "/".join(str(node.module).split(".")[2:]) + ".py"
                yield from ((alias.asname or alias.name, (file, alias.name)) for alias in node.names)

    def _make_lists(self, file: str, tree: ast.Module) -> None:
        """Add the kernels that a call at module level makes: `push, pop = queue_kernels("head", ...)`."""
        for node in tree.body:
            if not (isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)):
                continue
            factory = self._called(file, node.value)
            target = node.targets[0]
            if factory is None or not isinstance(target, ast.Tuple):
                continue
            constants = {
                name: str(value.value)
                for name, value in zip(factory.parameters, node.value.args, strict=True)
                if isinstance(value, ast.Constant)
            }
            parts = {part.name: part for part in factory.node.body if isinstance(part, ast.FunctionDef)}
            returned = factory.node.body[-1]
            assert isinstance(returned, ast.Return) and isinstance(returned.value, ast.Tuple)
            made = [parts[ast.unparse(name)] for name in returned.value.elts]
            for name, part in zip(target.elts, made, strict=True):
                self.kernels[(file, ast.unparse(name))] = _Kernel(factory.file, part, constants)

    def _called(self, file: str, call: ast.Call) -> _Kernel | None:
        """Return the kernel of the engine that a call is of, if it is of one."""
        if not isinstance(call.func, ast.Name):
            return None
        return self.kernels.get(self.imported[file].get(call.func.id, (file, call.func.id)))

    def roots(self, kernel: _Kernel, node: ast.expr) -> set[str | int]:
        """Return the arrays and parameters that an expression is, or is a part of."""
        if isinstance(node, ast.Name):
            return kernel.names.get(node.id, set())
        if isinstance(node, ast.Attribute):
            device = isinstance(node.value, ast.Name) and node.value.id in DEVICES
            return {node.attr} if device and node.attr in self.arrays else set()
        if isinstance(node, ast.Subscript):
            return self.roots(kernel, node.value)
        if isinstance(node, ast.IfExp):
            return self.roots(kernel, node.body) | self.roots(kernel, node.orelse)
        called = self._called(kernel.file, node) if isinstance(node, ast.Call) else None
        if called is None:
            return set()
        returns = [
            part.value for part in ast.walk(called.node) if isinstance(part, ast.Return) and part.value
        ]
        found = {root for value in returns for root in self.roots(called, value)}
        given = node.args  # type: ignore[attr-defined]
        return {
            inner
            for root in found
            for inner in (self.roots(kernel, given[root]) if isinstance(root, int) else {root})
        }

    def _bind(self, kernel: _Kernel, target: ast.expr, value: ast.expr) -> None:
        """Note what the names of an assignment stand for."""
        if isinstance(target, ast.Name):
            kernel.names.setdefault(target.id, set()).update(self.roots(kernel, value))
        elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            for part, source in zip(target.elts, value.elts, strict=True):
                self._bind(kernel, part, source)

    def _places(self, kernel: _Kernel, target: ast.expr) -> Iterator[Place]:
        """Yield what an assignment to `target` changes."""
        if isinstance(target, (ast.Tuple, ast.List)):
            for part in target.elts:
                yield from self._places(kernel, part)
        elif isinstance(target, ast.Attribute):
            yield from (Place(root, target.attr) for root in self.roots(kernel, target.value))
        elif isinstance(target, ast.Subscript):
            named = kernel.constants.get(target.slice.id, "") if isinstance(target.slice, ast.Name) else ""
            yield from (Place(root, named) for root in self.roots(kernel, target.value))

    def _effects(self, kernel: _Kernel) -> Iterator[tuple[str, Place]]:
        file = "" if _room_of(kernel.file) == SHARED_ROOM else kernel.file
        for node in (inner for statement in kernel.node.body for inner in ast.walk(statement)):
            targets = node.targets if isinstance(node, ast.Assign) else []
            targets = [node.target] if isinstance(node, (ast.AugAssign, ast.AnnAssign)) else targets
            for target in targets:
                yield from ((file, place) for place in self._places(kernel, target))
            called = self._called(kernel.file, node) if isinstance(node, ast.Call) else None
            for by, place in called.effects if called else ():
                if isinstance(place.root, int):
                    for root in self.roots(kernel, node.args[place.root]):
                        yield by or file, Place(root, place.field)

    def assignments(self) -> set[Assignment]:
        """Collect what all kernels assign, following names and calls until nothing new is found."""
        before = -1
        while before != (known := sum(len(k.effects) + len(k.names) for k in self.kernels.values())):
            before = known
            for kernel in self.kernels.values():
                for position, name in enumerate(kernel.parameters):
                    if name not in DEVICES:
                        kernel.names.setdefault(name, set()).add(position)
                for node in ast.walk(kernel.node):
                    if isinstance(node, ast.Assign):
                        self._bind(kernel, node.targets[0], node.value)
                    elif isinstance(node, ast.For):
                        self._bind(kernel, node.target, node.iter)
                kernel.effects |= set(self._effects(kernel))
        return {
            Assignment(by, place.root, place.field)
            for kernel in self.kernels.values()
            for by, place in kernel.effects
            if by and isinstance(place.root, str)
        }


def assignments(sources: Mapping[str, str], arrays: frozenset[str]) -> set[Assignment]:
    """Find what the kernels of the engine assign.

    Args:
        sources: texts of its modules, by their path within the engine.
        arrays: names of the arrays of a device.

    Returns:
        The assignments of arrays and of fields of their records.
    """
    return _Engine(sources, arrays).assignments()
