"""Open workloads that are records of requests: traces, and what stands in for them."""

from __future__ import annotations

from functools import lru_cache, partial

from ssdgym.config.recorded import TraceConfig
from ssdgym.config.stand_in import StandInConfig
from ssdgym.config.workload import RecordedConfig
from ssdgym.errors import SsdgymError
from ssdgym.requests import WRITE
from ssdgym.workloads.chunks import ChunkedStream
from ssdgym.workloads.records.record import RecordSource
from ssdgym.workloads.records.replay import play, report_on
from ssdgym.workloads.records.survey import Survey, survey
from ssdgym.workloads.records.transforms import Transformed
from ssdgym.workloads.stand_ins import open_stand_in
from ssdgym.workloads.traces.loading import file_stamp, load_trace


def open_records(config: RecordedConfig, seed: int = 0) -> RecordSource:
    """Return the records of a trace or a stand-in, its transforms carried out, from the first on.

    Args:
        config: the workload.
        seed: not negative; traces do not use it.

    Raises:
        SsdgymError: the trace cannot be read, or a transform does not fit it.
    """
    source: RecordSource = (
        load_trace(config).open() if isinstance(config, TraceConfig) else open_stand_in(config, seed)
    )
    return Transformed(source, config.transforms) if config.transforms else source


def open_recorded(config: RecordedConfig, logical_pages: int, page_size: int, seed: int) -> ChunkedStream:
    """See `ssdgym.workloads.stream.open_workload`."""
    compact = None
    if config.addresses == "compact":
        known = _known(config, page_size, seed)
        if known.pages > logical_pages:
            raise SsdgymError(
                f"{_name(config)}: the trace touches {known.pages} pages but the device has {logical_pages} "
                "logical pages; use a larger device, or set addresses to fold."
            )
        compact = known.compact
    elif not len(open_records(config, seed).chunk()):
        raise _nothing_to_play(config)
    return play(
        open_records(config, seed),
        compact=compact,
        loops=config.loops,
        logical_pages=logical_pages,
        page_size=page_size,
        report=partial(_report, config, logical_pages, page_size, seed),
    )


def _report(config: RecordedConfig, logical_pages: int, page_size: int, seed: int) -> dict[str, int]:
    report = report_on(_known(config, page_size, seed), config.addresses, logical_pages)
    if isinstance(config, TraceConfig):
        report["skipped_lines"] = load_trace(config).skipped_lines
    return report


def recorded_pages(config: RecordedConfig, page_size: int, seed: int = 0) -> int:
    """See `ssdgym.workloads.stream.footprint_pages`."""
    return _known(config, page_size, seed).pages


def has_writes(config: RecordedConfig, seed: int = 0) -> bool:
    """Is there a write among the records?"""
    source = open_records(config, seed)
    while len(chunk := source.chunk()):
        if (chunk["op"] == WRITE).any():
            return True
    return False


def _known(config: RecordedConfig, page_size: int, seed: int) -> Survey:
    # What is done after the survey does not change it.
    plain = config.model_copy(update={"loops": 1, "addresses": "compact"}).model_dump_json()
    if isinstance(config, TraceConfig):
        return _surveyed(TraceConfig, plain, file_stamp(config.path), page_size, 0)
    return _surveyed(StandInConfig, plain, (), page_size, seed)


@lru_cache(maxsize=8)
def _surveyed(
    kind: type[RecordedConfig], text: str, stamp: tuple[int, ...], page_size: int, seed: int
) -> Survey:
    """Survey once per process and content; a reset opens its workload anew every time."""
    config = kind.model_validate_json(text)
    known = survey(open_records(config, seed), page_size)
    if not known.requests:
        raise _nothing_to_play(config)
    for array in (known.starts, *known.ranges):
        array.flags.writeable = False
    return known


def _nothing_to_play(config: RecordedConfig) -> SsdgymError:
    return SsdgymError(
        f"{_name(config)}: the trace has no request that can be played; give one with requests, or fewer "
        "transforms."
    )


def _name(config: RecordedConfig) -> str:
    return str(config.path) if isinstance(config, TraceConfig) else f"like:{config.name}"
