"""The workloads of an environment, and the requests that an episode plays of one."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from ssdgym.config.device import DeviceConfig
from ssdgym.envs.stepping.batches import CHUNK
from ssdgym.errors import SsdgymError
from ssdgym.requests import REQUEST, WRITE, Requests
from ssdgym.simulator.input import check_requests
from ssdgym.workloads.base import ChunkedStream, Loops, RequestStream, WorkloadConfig
from ssdgym.workloads.python import ArrayWorkload, FunctionWorkload
from ssdgym.workloads.stream import load_workload, open_on
from ssdgym.workloads.traces.recorded import PlayedConfig

#: What happens where a workload ends before the episode does.
AtEnd = Literal["wrap", "truncate"]
AT_END: tuple[AtEnd, ...] = ("wrap", "truncate")

#: Keeps the seeds of laps apart from other users of an episode's seed.
_LAPS = 5
#: Requests without a write, one after the other, after which an episode counts as one that never ends.
_MOST_WITHOUT_WRITE = 1 << 22


def load_workloads(source: Any) -> list[WorkloadConfig]:
    """Return the workloads that an environment names.

    Args:
        source: a workload, or several in a list.

    Raises:
        SsdgymError: there is no such workload, or it writes nothing.
    """
    workloads = [load_workload(w) for w in (source if isinstance(source, (list, tuple)) else [source])]
    if not workloads:
        raise SsdgymError("workload names none; give at least one.")
    for config in workloads:
        if config.writes_nothing():
            raise SsdgymError(f"workload {config.kind} writes nothing, so no episode would end.")
    return workloads


def open_episode(config: WorkloadConfig, device: DeviceConfig, seed: int, at_end: AtEnd) -> EpisodeRequests:
    """Start what an episode plays of a workload; a trace that leaves its start open begins at random.

    Args:
        config: the workload.
        device: that carries it out.
        seed: of the episode.
        at_end: what happens where the workload ends.

    Raises:
        SsdgymError: the workload does not fit the device, or its trace cannot be read.
    """
    played = config.with_start("random")
    if at_end == "wrap" and isinstance(played, (PlayedConfig, ArrayWorkload)):
        played = played.without_end()
    stream: RequestStream
    if at_end == "truncate" or played.is_endless:
        stream = open_on(played, device, seed)
    else:
        stream = ChunkedStream(Loops(_StreamLaps(played, device, seed), None), dict)
    return EpisodeRequests(stream, device, config)


class EpisodeRequests:
    """The requests of an episode, checked, in chunks that a batch of devices takes.

    Args:
        stream: the requests.
        device: that carries them out.
        config: the workload, for errors.
    """

    def __init__(self, stream: RequestStream, device: DeviceConfig, config: WorkloadConfig) -> None:
        self._stream = stream
        self._device = device
        self._config = config
        self._without_write = 0

    def next(self) -> Requests:
        """Return the next requests, an array of the caller's own; empty at the end.

        Raises:
            SsdgymError: a request cannot be carried out, or nothing is ever written.
        """
        # As bytes: numpy copies records one by one. What a function hands out it may change later.
        requests = self._stream.next(CHUNK).view(np.uint8).copy().view(REQUEST)
        try:
            check_requests(requests, self._device)
        except SsdgymError as error:
            raise SsdgymError(f"workload {self._label}: {error}") from None
        writes = (requests["op"] == WRITE).any()
        self._without_write = 0 if writes else self._without_write + len(requests)
        if self._without_write > _MOST_WITHOUT_WRITE:
            raise SsdgymError(
                f"workload {self._label} writes next to nothing, so the episode would not end; let it write."
            )
        return requests

    @property
    def _label(self) -> str:
        return self._config.name if isinstance(self._config, FunctionWorkload) else self._config.kind


class _StreamLaps:
    """Laps over a workload that ends by itself, each with draws of its own; see `laps.Circuit`."""

    def __init__(self, config: WorkloadConfig, device: DeviceConfig, seed: int) -> None:
        self._config = config
        self._device = device
        self._seed = seed

    def lap(self, number: int) -> _StreamLap:
        draws = np.random.SeedSequence([self._seed, _LAPS, number]).generate_state(1, np.uint64)
        seed = int(draws[0]) if number else self._seed
        return _StreamLap(open_on(self._config, self._device, seed))


class _StreamLap:
    """A stream once through; see `ssdgym.workloads.base.Lap`."""

    def __init__(self, stream: RequestStream) -> None:
        self._stream = stream
        self.requests = 0
        self.last_ns = 0

    def chunk(self) -> Requests:
        requests = self._stream.next(CHUNK).copy()
        if len(requests):
            self.requests += len(requests)
            self.last_ns = int(requests["arrival_ns"][-1])
        return requests
