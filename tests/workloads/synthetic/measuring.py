"""Count what a synthetic trace generates: a bit per page, and nothing that ssdgym counts with."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ssdgym.workloads import READ, WRITE
from ssdgym.workloads.synthetic.config import SyntheticTraceConfig
from ssdgym.workloads.traces.record import Records

PAGE = 4096
_SUFFIXES = {READ: "read", WRITE: "written"}


def measure(config: SyntheticTraceConfig, seed: int) -> dict[str, int]:
    """Return the columns of `SyntheticTraceConfig.published`, generated; one pass."""
    source = config.source(seed)
    pages = -(-source.volumes.end_bytes[0] // PAGE)
    touched = {op: np.zeros(pages // 8 + 1, np.uint8) for op in _SUFFIXES}
    requests = dict.fromkeys(_SUFFIXES, 0)
    sizes = dict.fromkeys(_SUFFIXES, 0)
    while len(chunk := source.chunk()):
        assert (chunk["offset_bytes"] >= 0).all()
        assert (chunk["offset_bytes"] + chunk["size_bytes"] <= source.volumes.end_bytes[0]).all()
        for op in _SUFFIXES:
            records = chunk[chunk["op"] == op]
            requests[op] += len(records)
            sizes[op] += int(records["size_bytes"].sum(dtype=np.int64))
            _mark(touched[op], records)
    columns = {
        "requests": sum(requests.values()),
        "reads": requests[READ],
        "writes": requests[WRITE],
    }
    for op, suffix in _SUFFIXES.items():
        columns[f"bytes_{suffix}"] = sizes[op]
        columns[f"unique_bytes_{suffix}"] = int(_ones(touched[op])) * PAGE
    return columns


def skew_of(config: SyntheticTraceConfig, seed: int) -> tuple[float, float]:
    """Return the share of page writes on the hottest 1 % of the pages, and that of pages written once."""
    source, parts = config.source(seed), []
    while len(chunk := source.chunk()):
        parts.append(_pages_of(chunk[chunk["op"] == WRITE]))
    writes = np.sort(np.unique(np.concatenate(parts), return_counts=True)[1])[::-1]
    top = np.interp(0.01 * len(writes), np.arange(len(writes) + 1), np.append(0, np.cumsum(writes)))
    return float(top / writes.sum()), float(np.mean(writes == 1))


def _mark(bits: npt.NDArray[np.uint8], records: Records) -> None:
    page = _pages_of(records)
    np.bitwise_or.at(bits, page >> 3, (1 << (page & 7)).astype(np.uint8))


def _pages_of(records: Records) -> npt.NDArray[np.int64]:
    """Return every page of every record."""
    first = records["offset_bytes"] // PAGE
    count = (records["offset_bytes"] + records["size_bytes"] - 1) // PAGE - first + 1
    number = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
    pages: npt.NDArray[np.int64] = np.repeat(first, count) + number
    return pages


def _ones(bits: npt.NDArray[np.uint8]) -> int:
    return sum(
        int(np.unpackbits(bits[start : start + (1 << 20)]).sum()) for start in range(0, len(bits), 1 << 20)
    )
