"""Convert records to the units of a format, or raise an error that names what does not fit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ssdgym.errors import SsdgymError
from ssdgym.requests import FLUSH, OP_NAMES
from ssdgym.types import IntArray
from ssdgym.workloads.records.record import Records, Volumes
from ssdgym.workloads.traces.parsing.lines import TEN_YEARS_NS


@dataclass(frozen=True)
class Limits:
    """What a format can hold.

    Attributes:
        name: of the format.
        tick_ns: its clock.
        offset_unit, size_unit: in bytes.
        ops: the operations it has.
        has_volumes: it has a column for volumes.
    """

    name: str
    tick_ns: int
    offset_unit: int
    size_unit: int
    ops: frozenset[int]
    has_volumes: bool


@dataclass(frozen=True)
class Values:
    """The requests of a block in the units of a format, arrays of shape (n,)."""

    ticks: IntArray
    offset: IntArray
    size: IntArray
    op: npt.NDArray[np.uint8]
    volume: npt.NDArray[np.uint16]


def values(blocks: Iterable[Records], limits: Limits) -> Iterator[Values]:
    """Yield the requests in the units of a format; times count from the first request.

    Args:
        blocks: the requests.
        limits: what the format can hold.

    Raises:
        SsdgymError: the format cannot hold one of them.
    """
    number, base_ns, only = 1, 0, -1
    for records in blocks:
        if not len(records):
            continue
        if number == 1:
            base_ns, only = int(records["time_ns"][0]), int(records["volume"][0])
        elapsed = records["time_ns"] - base_ns
        _check(records, elapsed, number, only, limits)
        number += len(records)
        yield Values(
            elapsed // limits.tick_ns,
            records["offset_bytes"] // limits.offset_unit,
            records["size_bytes"].astype(np.int64) // limits.size_unit,
            records["op"],
            records["volume"],
        )


def _check(records: Records, elapsed: IntArray, number: int, only: int, limits: Limits) -> None:
    name = limits.name
    offset, size = records["offset_bytes"], records["size_bytes"]
    is_access = records["op"] != FLUSH
    checks = (
        (
            ~np.isin(records["op"], list(limits.ops)),
            lambda row: (
                f"is a {OP_NAMES[records['op'][row]]}, which the format {name} does not have; keep other "
                "operations only by the transform only"
            ),
        ),
        (
            (records["volume"] != only) & (not limits.has_volumes),
            lambda row: (
                f"is on another volume, and the format {name} has one; keep one by the transform volumes"
            ),
        ),
        (
            elapsed % limits.tick_ns != 0,
            lambda row: (
                f"comes {elapsed[row]} ns after the first, and the clock of the format {name} has ticks of "
                f"{limits.tick_ns} ns; round times (--round-times)"
            ),
        ),
        (
            np.abs(elapsed) > TEN_YEARS_NS,
            lambda row: "comes more than 10 years from the first; leave it out",
        ),
        (
            is_access & (offset % limits.offset_unit != 0),
            lambda row: (
                f"starts at byte {offset[row]}, and the format {name} counts in {limits.offset_unit} bytes; "
                "use the transform align"
            ),
        ),
        (
            is_access & (size % limits.size_unit != 0),
            lambda row: (
                f"has {size[row]} bytes, and the format {name} counts in {limits.size_unit} bytes; use the "
                "transform align"
            ),
        ),
    )
    for wrong, reason in checks:
        if wrong.any():
            row = int(np.argmax(wrong))
            raise SsdgymError(f"request {number + row} {reason(row)}, or choose another format.")


def volume_texts(volumes: Volumes, refused: str, *, numbers: bool) -> list[str]:
    """Return how volumes are written: by their names, or by their numbers where names do not do.

    Args:
        volumes: which.
        refused: characters that no name may hold.
        numbers: names must be numbers.
    """
    names = list(volumes.names)
    fit = all(
        name.isascii() and name.isprintable() and not set(name) & set(refused + ' \t"#') for name in names
    )
    if fit and (not numbers or all(name.isdigit() for name in names)):
        return names
    return [str(number) for number in range(len(names))]


def texts_of(codes: npt.NDArray[np.integer], texts: Mapping[int, str | int]) -> npt.NDArray[np.object_]:
    """Return the text (number) of each code, shape (n,).

    Args:
        codes: shape (n,).
        texts: by code.
    """
    table = np.array([texts.get(code, "") for code in range(max(texts) + 1)], object)
    return table[codes]
