"""Sources of `ssdgym trace`: recorded workloads, and the counting of what they hold."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ssdgym.cli.console import progress_bar
from ssdgym.cli.options import recorded_options
from ssdgym.errors import SsdgymError

if TYPE_CHECKING:
    from collections.abc import Callable

    from ssdgym.workloads.traces.recorded import PlayedConfig


def recorded(
    source: str,
    transform: list[str] | None,
    trace_format: str | None,
    skip_bad: int | None,
    window: tuple[float, float] | None,
    volumes: str | None = None,
) -> PlayedConfig:
    """Return a trace or a synthetic trace with what the options say.

    Args:
        source: as written on the command line.
        transform: texts of transforms.
        trace_format: of a trace file.
        skip_bad: so many bad lines may be left out.
        window: where the part that is played begins and ends, as shares.
        volumes: of a trace file; `end_to_end` or `overlay`.

    Raises:
        SsdgymError: there is none, or an option does not fit it.
    """
    from ssdgym.workloads.traces.recorded import PlayedConfig

    config = recorded_options(source, transform, trace_format, skip_bad, window=window, volumes=volumes)
    if not isinstance(config, PlayedConfig):
        raise SsdgymError(
            f"{source}: is a generated workload of the kind {config.kind}, not a trace; give a trace file, "
            "trace:NAME, synthetic:NAME, or a YAML file of the kind trace or synthetic."
        )
    return config


@contextmanager
def counting(config: PlayedConfig, *, quiet: bool) -> Iterator[Callable[[int], None]]:
    """Show a progress bar of requests; it has no total while a file is being parsed."""
    with progress_bar("requests", quiet=quiet) as advance:
        total = _known_requests(config)
        yield lambda done: advance(done, total)


def _known_requests(config: PlayedConfig) -> int | None:
    """Return the number of requests, where it is known beforehand."""
    from ssdgym.workloads.traces.loading import TraceConfig, load_trace

    return load_trace(config).requests if isinstance(config, TraceConfig) and config.is_whole else None
