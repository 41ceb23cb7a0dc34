"""Formats with fixed columns that can be written, too: by pyarrow, column by column."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from ssdgym.types import IntArray
from ssdgym.workloads.records.record import Records, Volumes
from ssdgym.workloads.traces.parsing.delimited import DelimitedFormat
from ssdgym.workloads.traces.writing.values import Limits, Values, texts_of, values, volume_texts

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, kw_only=True)
class WritableDelimitedFormat(DelimitedFormat):
    """One that can also be written.

    Attributes:
        op_texts: how operations are written.
        constants: what is written into the columns that are not read.
        numbered_volumes: volumes have numbers, not names.
    """

    op_texts: Mapping[int, str]
    constants: Mapping[str, str] = field(default_factory=dict)
    numbered_volumes: bool = True

    def write(self, file: IO[bytes], blocks: Iterable[Records], volumes: Volumes) -> None:
        """See `WritableFormat`."""
        import pyarrow as pa
        import pyarrow.csv

        names = self._written_volumes(volumes)
        if self.header is not None:
            file.write(self.header + b"\n")
        options = pa.csv.WriteOptions(include_header=False, delimiter=self.separator, quoting_style="none")
        for block in values(blocks, self._limits):
            columns = self._written(block, names)
            table = pa.table({name: columns[name] for name in self.columns})
            pa.csv.write_csv(table, file, options)

    @property
    def _limits(self) -> Limits:
        return Limits(
            self.name,
            self.tick_ns,
            self.offset_unit,
            self.size_unit,
            frozenset(self.op_texts),
            bool(self.volume_columns),
        )

    def _written(self, block: Values, names: list[tuple[str, ...]]) -> dict[str, Any]:
        time = _decimals(block.ticks, self.time_decimals) if self.time_decimals else block.ticks
        columns: dict[str, Any] = {"time": time, "offset": block.offset, "size": block.size}
        columns["op"] = texts_of(block.op, self.op_texts)
        for number, column in enumerate(self.volume_columns):
            columns[column] = np.array([parts[number] for parts in names], object)[block.volume]
        for column, text in self.constants.items():
            columns[column] = np.full(len(block.ticks), text, object)
        return columns

    def _written_volumes(self, volumes: Volumes) -> list[tuple[str, ...]]:
        """Return the volume columns of each volume."""
        texts = volume_texts(volumes, self.separator, numbers=self.numbered_volumes)
        if len(self.volume_columns) < 2:
            return [(text,) for text in texts]
        split: list[tuple[str, ...]] = [_host_and_disk(text) for text in texts]
        # Two names may become one; numbers never do.
        distinct = len(set(split)) == len(split)
        return split if distinct else [(str(number), "0") for number in range(len(texts))]


def _host_and_disk(name: str) -> tuple[str, str]:
    host, _, disk = name.rpartition("_")
    return (host, disk) if host and disk.isdigit() else (name, "0")


def _decimals(ticks: IntArray, places: int) -> pa.Array:
    """Return the text of whole numbers whose last `places` digits are behind the point.

    The decimals of pyarrow would be written with an exponent, as in 0E-9, where they are small.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    whole, fraction = np.divmod(np.abs(ticks), 10**places)
    sign = pa.array(np.where(ticks < 0, "-", ""))
    digits = pc.utf8_lpad(pc.cast(pa.array(fraction), pa.string()), places, "0")
    return pc.binary_join_element_wise(
        pc.binary_join_element_wise(sign, pc.cast(pa.array(whole), pa.string()), ""), digits, "."
    )
