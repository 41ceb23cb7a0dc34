"""What rules and features read, for the page on recipes: records with their fields, functions by name."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import ssdgym.policy
from docs.scores import table
from ssdgym.engine.core import observed, records

#: The expression by which a rule reads each kind of record, and the name of the record.
OF_RULES = {
    "view.params[0]": "PARAMS",
    "view.control[0]": "CONTROL",
    "view.plane[plane]": "PLANE",
    "view.block[block]": "BLOCK",
    "view.sub_block[block * sub_blocks + s]": "SUB_BLOCK",
    "view.stream[plane * MAX_STREAMS + stream]": "STREAM",
    "view.die[die]": "DIE",
    "view.logical[lpn]": "LOGICAL",
    "view.physical[page]": "PHYSICAL",
    "plans[number]": "PLAN",
    "case[0]": "CASE",
}
#: The arguments of feature functions, and the name of their record.
OF_FEATURES = {
    "candidate": "CANDIDATE",
    "decision": "DECISION",
    "stream": "STREAM_SEEN",
    "page": "PAGE_SEEN",
    "die": "DIE_SEEN",
    "answer": "ANSWER_SEEN",
    "sector": "SECTOR_SEEN",
    "way": "WAY_SEEN",
    "bundle": "BUNDLE_SEEN",
    "plan": "PLAN_SEEN",
}


def rule_records() -> str:
    """Return a table of the records that rules read."""
    return _table(records, OF_RULES)


def feature_records() -> str:
    """Return a table of the records that features read."""
    return _table(observed, OF_FEATURES)


def calls() -> str:
    """Return how rules and hooks are called, from the docstring of `ssdgym.policy`."""
    text = inspect.getdoc(ssdgym.policy) or ""
    start = text.index("Functions are called with:")
    return text[start : text.index("A composition can have")].strip()


def helpers() -> str:
    """Return a table of the functions that rules may call."""
    named = {name: getattr(ssdgym.policy, name) for name in dir(ssdgym.policy) if name[0].islower()}
    rows = (
        (f"`{name}{inspect.signature(one)}`", (inspect.getdoc(one) or "").partition("\n\n")[0])
        for name, one in named.items()
        if hasattr(one, "__wrapped__") and inspect.getdoc(one)
    )
    return table("function | does", ((name, " ".join(does.split())) for name, does in rows))


def _table(module: ModuleType, named: dict[str, str]) -> str:
    text = Path(inspect.getfile(module)).read_text(encoding="utf-8")
    return table(
        "record | field | meaning",
        (
            (f"`{shown}`" if number == 0 else "", f"`{name}`", meaning)
            for shown, record in named.items()
            for number, (name, meaning) in enumerate(_fields(text, record))
        ),
    )


def _fields(text: str, record: str) -> Iterator[tuple[str, str]]:
    """Yield the fields of a record with the comments behind them, from the source that defines the record."""
    (body,) = re.findall(rf"^{record} = np\.dtype\((.*?)\)\n(?=\S|\n|\Z)", text, re.MULTILINE | re.DOTALL)
    for line in body.splitlines():
        code, _, meaning = line.partition("  # ")
        names = re.findall(r'(?<!fields)\("(\w+)", "\w+"', code)
        for several in re.findall(r'fields\("\w+", "([\w ]+)"\)', code):
            names += several.split()
        yield from ((name, meaning) for name in names)
