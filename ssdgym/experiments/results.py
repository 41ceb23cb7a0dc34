"""Results of runs, and the files of results. A run is one policy on one device, workload and seed.

A file contains one row per result. Each metric is a column whose name joins nested names by `/`
(`metrics/read_latency_ns/p99`); the cell is empty if the run did not have the metric.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

import ssdgym
from ssdgym.errors import SsdgymError
from ssdgym.files import write_atomically

if TYPE_CHECKING:
    import pandas as pd

_PREFIX = "metrics/"
#: File names of results, in the order in which a folder is searched for them.
_FILE_NAMES = ("results.parquet", "run.parquet")


@dataclass(frozen=True)
class Result:
    """One finished run.

    Two results are equal if all fields except `spec`, `series` and `wall_seconds` are equal.

    Attributes:
        device: name or path of the device configuration.
        ftl: FTL options that replaced the device's own, as text such as `placement=sep_gc`; may be empty.
        workload: name or path of the workload.
        policy: name of the policy, or of the agent that took the decisions.
        seed: seed of the workload and of all random choices.
        objective: training objective of a learned agent; empty for a policy.
        assumed: names of the workload's fields whose values have no source but an assumption, joined by `, `.
        version: version of ssdgym that made the result.
        engine_hash: hash of the engine's sources and compiler. Equal hashes give bit-identical results.
        metrics: numbers by name, possibly nested, with units in the names. `None` and NaN entries (such as a
            read latency without reads) are left out.
        spec: everything that the run depended on, except the code, as JSON; empty if unknown. The run can be
            repeated from `spec` (`ssdgym.experiments.runs.spec`).
        series: samples that were taken during the run, as columns of equal length by name
            (`ssdgym.simulator.sampling`); empty if none were taken. Tables of results leave them out.
        wall_seconds: wall-clock time of the run. It is in `timings.csv`, but not in files of results.
    """

    device: str
    ftl: str
    workload: str
    policy: str
    seed: int
    objective: str = ""
    assumed: str = ""
    version: str = ssdgym.__version__
    engine_hash: str = ""
    metrics: Mapping[str, Any] = field(default_factory=dict)
    spec: str = field(default="", repr=False, compare=False)
    series: Mapping[str, Sequence[float]] = field(default_factory=dict, repr=False, compare=False)
    wall_seconds: float = field(default=0.0, compare=False)

    def __post_init__(self) -> None:
        """Leave out metrics without a value."""
        object.__setattr__(self, "metrics", _nested(_flat(self.metrics)))

    def metric(self, name: str) -> float:
        """Return the metric `name`, such as `read_latency_ns/p99`; raise `SsdgymError` if there is none."""
        value = self._find(name)
        if value is None:
            raise SsdgymError(
                f"the result of {self.policy} on {self.workload} (seed {self.seed}) has no metric "
                f"{name!r}: it has {', '.join(_flat(self.metrics))}"
            )
        return float(value)

    def measured(self, name: str) -> bool:
        """Return whether the metric exists and has at least one observation.

        A summary of latencies has the number of its requests in `count`, which may be 0.
        """
        value = self._find(name)
        return value is not None and self._find(f"{name.rpartition('/')[0]}/count") != 0

    def _find(self, name: str) -> int | float | None:
        """Return the metric `name`, or None if it is missing or a group of metrics."""
        value: Any = self.metrics
        for part in name.split("/"):
            value = value.get(part) if isinstance(value, Mapping) else None
        return None if isinstance(value, Mapping) else value

    def as_dict(self) -> dict[str, Any]:
        """Return the fields by name, with nested metrics, ready for JSON; an empty `series` is left out."""
        names = (item.name for item in fields(self) if item.name != "series" or self.series)
        return {name: getattr(self, name) for name in names}

    def as_row(self) -> dict[str, Any]:
        """Return one flat row: fields except `series` and `wall_seconds`, then metrics with joined names."""
        row = {name: getattr(self, name) for name in _IDENTITY}
        return row | {_PREFIX + name: value for name, value in _flat(self.metrics).items()}

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Result:
        """Return the result of a row that `as_row` returned; `None` stands for a missing metric."""
        metrics = {
            name.removeprefix(_PREFIX): value
            for name, value in row.items()
            if name.startswith(_PREFIX) and value is not None
        }
        identity = {name: row[name] for name in _IDENTITY}
        for name, value in identity.items():
            if not isinstance(value, int if name == "seed" else str):
                raise ValueError(f"its {name} is {value!r:.60}")
        return cls(**identity, metrics=_nested(metrics))


#: Fields that are columns of a results file, besides the metrics.
_IDENTITY = tuple(
    item.name for item in fields(Result) if item.name not in ("metrics", "series", "wall_seconds")
)


def to_pandas(results: Path | str | Sequence[Result]) -> pd.DataFrame:
    """Return a table with one row per run, from results or from the folder or file that contains them.

    The columns are the fields of `Result` except `spec`, `series` and `wall_seconds`, the metrics, the FTL
    options (`ftl.NAME`), and the dotted fields in which the devices differ. Raise `SsdgymError` if a path
    cannot be read.
    """
    import pandas as pd

    found = read_results(find_results(Path(results))) if isinstance(results, Path | str) else results
    specs = [json.loads(result.spec or "{}") for result in found]
    ftls = ({f"ftl.{name}": value for name, value in spec.get("ftl", ())} for spec in specs)
    table = pd.DataFrame([one.as_row() | ftl for one, ftl in zip(found, ftls, strict=True)])
    devices = pd.json_normalize([spec.get("device", {}) for spec in specs])
    for name in devices.columns.difference(["name", "description"], sort=False):
        if name not in table and devices[name].astype(str).nunique() > 1:
            table[name] = devices[name]
    return table.drop(columns="spec").rename(columns=lambda name: str(name).removeprefix(_PREFIX))


def listed(values: Iterable[str]) -> str:
    """Join the distinct values by commas, in order of first appearance."""
    return ", ".join(dict.fromkeys(values))


def write_results(results: Sequence[Result], stem: Path) -> tuple[Path, Path]:
    """Write results as Parquet and as CSV, each file atomically; return both paths.

    Args:
        results: results to write.
        stem: path of the files without the ending.

    Raises:
        SsdgymError: the folder cannot be written.
    """
    import pandas as pd

    rows = _table_rows(results)
    paths = stem.with_name(stem.name + ".parquet"), stem.with_name(stem.name + ".csv")
    write_atomically(paths[0], lambda file: _write_parquet(rows, file))
    write_csv(paths[1], pd.DataFrame(rows, columns=None if rows else _IDENTITY, dtype=object))
    return paths


def read_results(path: Path) -> list[Result]:
    """Read a Parquet file that `write_results` wrote; the CSV file is for other tools.

    Raises:
        SsdgymError: the file is missing, of another kind, or damaged.
    """
    if not path.is_file():
        raise SsdgymError(f"{path}: there is no such results file")
    if path.suffix != ".parquet":
        raise SsdgymError(f"{path}: results are read from .parquet files, not from {path.suffix!r}")
    results = []
    for number, row in enumerate(_read_parquet(path), start=1):
        try:
            results.append(Result.from_row(row))
        except KeyError as error:
            raise SsdgymError(f"{path}: no column {error}; this is not a file that ssdgym wrote") from error
        except (TypeError, ValueError, AttributeError) as error:
            raise SsdgymError(f"{path}, row {number}: not a result ({error})") from error
    return results


def find_results(source: Path) -> Path:
    """Return the results file in the folder `source`; return `source` itself if it is not a folder."""
    if not source.is_dir():
        return source
    for name in _FILE_NAMES:
        if (source / name).is_file():
            return source / name
    raise SsdgymError(f"{source}: holds no {_FILE_NAMES[0]}; evaluate into it first, or correct the path")


def _flat(metrics: Mapping[str, Any]) -> dict[str, int | float]:
    flat: dict[str, int | float] = {}
    for name, value in metrics.items():
        if isinstance(value, Mapping):
            flat |= {f"{name}/{inner}": number for inner, number in _flat(value).items()}
        elif value is not None and value == value:
            flat[name] = _number(name, value)
    return flat


def _number(name: str, value: Any) -> int | float:
    """Convert a number to Python's type, because files and JSON must not contain NumPy's types."""
    plain = value.item() if hasattr(value, "item") else value
    if not isinstance(plain, int | float):
        raise SsdgymError(f"the metric {name!r} must be a number, not {type(value).__name__}")
    return plain


def _nested(flat: Mapping[str, int | float]) -> dict[str, Any]:
    nested: dict[str, Any] = {}
    for name, value in flat.items():
        *outer, last = name.split("/")
        inner = nested
        for part in outer:
            inner = inner.setdefault(part, {})
        inner[last] = value
    return nested


def _table_rows(results: Sequence[Result]) -> list[dict[str, Any]]:
    """Return one row per result. All rows have the same columns; a missing metric is `None`."""
    rows = [result.as_row() for result in results]
    columns = list(dict.fromkeys([*_IDENTITY, *(name for row in rows for name in row)]))
    return [{name: row.get(name) for name in columns} for row in rows]


def _write_parquet(rows: list[dict[str, Any]], file: IO[bytes]) -> None:
    import pyarrow as pa
    import pyarrow.parquet

    # pyarrow stores a Python int as a signed 64-bit integer, which is too small for the largest seeds.
    typed = [{**row, "seed": np.uint64(row["seed"])} for row in rows]
    pyarrow.parquet.write_table(pa.Table.from_pylist(typed), file, write_page_checksum=True)


def _read_parquet(path: Path) -> Iterable[Mapping[str, Any]]:
    import pyarrow as pa
    import pyarrow.parquet

    try:
        with path.open("rb") as file:
            return pyarrow.parquet.read_table(
                file, use_threads=False, pre_buffer=False, page_checksum_verification=True
            ).to_pylist()
    except (pa.ArrowException, OSError, ValueError) as error:
        raise SsdgymError(f"{path}: not a readable Parquet file; write the results again") from error


def write_csv(path: Path, table: pd.DataFrame) -> Path:
    """Write a table as CSV with line feeds, atomically and without its index; return the path."""
    write_atomically(path, table.to_csv(index=False).encode())
    return path
