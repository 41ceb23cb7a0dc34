"""HTML pages that open from disk: what is the same on all of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from ssdgym.experiments.analysis.summary import Entry


@dataclass(frozen=True)
class SortableTable:
    """A sortable table; the first entry of a row names the row.

    Attributes:
        title: heading of the table.
        caption: what the numbers are.
        headings: of the columns.
        rows: an entry for every column.
    """

    title: str
    caption: str
    headings: tuple[str, ...]
    rows: tuple[tuple[Entry, ...], ...]


def render(template: str, page: Mapping[str, Any]) -> str:
    """Return the text of a page.

    Args:
        template: name of one in this folder.
        page: everything that it shows, by name.
    """
    environment = Environment(
        loader=PackageLoader(__package__, "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template(template).render(page)
