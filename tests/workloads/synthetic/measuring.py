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


def _mark(bits: npt.NDArray[np.uint8], records: Records) -> None:
    first = records["offset_bytes"] // PAGE
    count = (records["offset_bytes"] + records["size_bytes"] - 1) // PAGE - first + 1
    number = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
    page = np.repeat(first, count) + number
    np.bitwise_or.at(bits, page >> 3, (1 << (page & 7)).astype(np.uint8))


def _ones(bits: npt.NDArray[np.uint8]) -> int:
    return sum(
        int(np.unpackbits(bits[start : start + (1 << 20)]).sum()) for start in range(0, len(bits), 1 << 20)
    )
