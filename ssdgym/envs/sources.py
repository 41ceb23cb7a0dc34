"""Load the devices and workloads that an environment's arguments name, and read requests for episodes."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from ssdgym.config.device import DeviceConfig, PreconditioningConfig, load_device
from ssdgym.config.ftl import FtlConfig
from ssdgym.config.loading import read_named
from ssdgym.envs.batch import CHUNK
from ssdgym.envs.decisions import AtEnd
from ssdgym.errors import SsdgymError
from ssdgym.policy import Policy, device_for
from ssdgym.requests import REQUEST, Requests
from ssdgym.simulator import Recording, Simulator
from ssdgym.simulator.families import family_of
from ssdgym.simulator.input import check_requests
from ssdgym.simulator.preconditioning import precondition
from ssdgym.workloads.base import Loops, RequestStream, WorkloadConfig
from ssdgym.workloads.python import ArrayWorkload
from ssdgym.workloads.stream import check_addresses, load_workload, open_on
from ssdgym.workloads.traces.recorded import PlayedConfig

Ftl = FtlConfig | dict[str, Any] | None


def load_devices(
    source: Any, ftl: Ftl, workloads: Sequence[WorkloadConfig], size_to_trace: bool
) -> list[DeviceConfig]:
    """Load the devices of an environment's arguments `device` (`source`), `ftl` and `size_to_trace`.

    Raises:
        SsdgymError: a device cannot be loaded, or one of the workloads does not fit it.
    """
    sources = source if isinstance(source, (list, tuple)) else [source]
    if not sources:
        raise SsdgymError("device names none; give at least one.")
    if not size_to_trace:
        devices = [device_for(one, ftl) for one in sources]
        for device, workload in product(devices, workloads):
            check_addresses(workload, device)
        return devices
    traces = [workload for workload in workloads if is_sizing(workload)]
    if not traces:
        raise SsdgymError(
            "size_to_trace needs a trace with compact addresses among the workloads; leave it out."
        )
    return [device_for(sized_to_traces(one, traces, ftl=ftl), ftl) for one in sources]


def is_sizing(workload: WorkloadConfig) -> bool:
    """Return whether a workload is a trace with compact addresses, to which devices can be shrunk."""
    return isinstance(workload, PlayedConfig) and workload.addresses == "compact"


def sized_to_traces(
    device: Any,
    traces: Sequence[Any],
    *,
    ftl: Ftl = None,
    policy: str | Policy | None = None,
    seed: int = 0,
    advice: str = "leave out size_to_trace",
) -> DeviceConfig:
    """Shrink a device, with the same over-provisioning, to the smallest size on which each trace fits.

    Args:
        device: name, path, mapping or model of the device to shrink.
        traces: traces with compact addresses, at least one.
        ftl: FTL fields that the caller will change. The size is valid with these changes.
        policy: policy that will run the device; None if an agent takes the decisions.
        seed: seed of synthetic traces.
        advice: the recommendation in the error if no size of the device fits.

    Returns:
        The shrunk device, without the changes of `ftl` and without those that the policy needs.

    Raises:
        SsdgymError: no size of the device fits.
    """
    model = load_device(device)
    whole = device_for(model, ftl, policy)  # first raise the errors that do not depend on the size
    for trace in traces:
        check_addresses(trace, whole)
    pages, label = max((t.touched_pages(model.host_unit_bytes, seed), t.label) for t in traces)
    # On a small device, the blocks that must stay free or open can need more space than the spare space.
    reason = ""
    for more_blocks in range(family_of(whole).whole_blocks_kept(whole) + 2):
        try:
            sized = model.sized_to(pages, more_blocks)
            shrunk = device_for(sized, ftl, policy)
        except SsdgymError as error:
            reason = reason or str(error).removesuffix(".")
            continue
        with suppress(SsdgymError):
            family_of(shrunk).check(shrunk)
            return sized
    if reason:
        raise SsdgymError(f"{label}: the trace touches {pages} pages, and {reason}; {advice}.")
    raise SsdgymError(
        f"{label}: the trace touches {pages} pages, and the device {model.name} shrunk to them has "
        f"no room for its GC threshold; {advice}, or set another threshold."
    )


#: A lap is one pass over a workload that an episode repeats. This number separates its seeds from others.
_LAPS = 5
#: After more consecutive requests than this without a write, an episode raises, as it might never end.
_MOST_WITHOUT_WRITE = 1 << 22


def named_workloads(source: Any, with_test: bool = False) -> list[Any]:
    """Return the workloads that `source` names: one, several, or all workloads of a split (`training:wa`).

    Raises:
        SsdgymError: there is no such suite; or the split is `test`, which agents must not see, without
            `with_test`.
    """
    several = source if isinstance(source, (list, tuple)) else [source]
    named: list[Any] = []
    for one in several:
        split, colon, suite = one.partition(":") if isinstance(one, str) else ("", "", "")
        if not colon or split not in ("training", "validation", "test"):
            named.append(one)
            continue
        if split == "test" and not with_test:
            raise SsdgymError(f"workload {one}: the test split is for results alone; take training:{suite}.")
        named += read_named(suite, "suites")[1]["splits"].get(split, ())
    return named


def name_of(source: Any, config: WorkloadConfig) -> str:
    """Return the name of a workload in infos and errors: `source` if it is a name or path, else a label."""
    if isinstance(source, (str, Path)):
        return str(source)
    return str(getattr(config, "label", None) or getattr(config, "name", None) or config.kind)


def load_workloads(source: Any) -> list[WorkloadConfig]:
    """Load the workloads of an environment's argument `workload` (`source`).

    Raises:
        SsdgymError: a workload cannot be loaded, or writes nothing.
    """
    workloads = [load_workload(one) for one in named_workloads(source)]
    if not workloads:
        raise SsdgymError("workload names none; give at least one.")
    for config in workloads:
        if config.writes_nothing():
            raise SsdgymError(f"workload {config.kind} writes nothing, so no episode would end.")
    return workloads


def check_pace(
    workloads: Sequence[WorkloadConfig], devices: Sequence[DeviceConfig], timed_terms: Sequence[str]
) -> None:
    """Raise if terms need time in an open loop, but all requests of a workload arrive at the same moment."""
    open_loop = any(device.ftl.queue_depth == 0 for device in devices)
    paceless = [workload.kind for workload in workloads if not workload.has_pace]
    if timed_terms and open_loop and paceless:
        raise SsdgymError(
            f"objective.{timed_terms[0]} means nothing where the requests of workload {paceless[0]} "
            "all arrive at once; set ftl.queue_depth (a closed loop) or the workload's interarrival_ns."
        )


def steady_simulator(
    device: DeviceConfig, policy: str | None, workload: WorkloadConfig, how: PreconditioningConfig, seed: int
) -> Simulator:
    """Return a simulator of the preconditioned device, which does not record single latencies."""
    simulator = Simulator(device, policy=policy, recording=Recording(1, 1))
    precondition(simulator, how, workload, seed)
    return simulator


def open_episode(config: WorkloadConfig, device: DeviceConfig, seed: int, at_end: AtEnd) -> EpisodeRequests:
    """Open a workload for an episode. A trace begins at a random request, unless it has a fixed start.

    Raises:
        SsdgymError: the workload does not fit the device, or its trace cannot be read.
    """
    played = config.with_start("random")
    if at_end == "wrap" and isinstance(played, (PlayedConfig, ArrayWorkload)):
        played = played.model_copy(update={"loops": None})
    stream: RequestStream
    if at_end == "truncate" or played.is_endless:
        stream = open_on(played, device, seed)
    else:
        stream = RequestStream(Loops(partial(_stream_lap, played, device, seed), None), dict)
    return EpisodeRequests(stream, device, config)


class EpisodeRequests:
    """The requests of an episode, checked and divided into chunks of at most `CHUNK` requests."""

    def __init__(self, stream: RequestStream, device: DeviceConfig, config: WorkloadConfig) -> None:
        self._stream = stream
        self._device = device
        self._config = config
        self._without_write = 0

    def next(self) -> Requests:
        """Return the next requests in a new array, which is empty after the last request.

        Raises:
            SsdgymError: a request cannot be carried out, or too many requests in a row write nothing.
        """
        # Copied, as a user's function may change its array later. Bytes are copied faster than records.
        requests = self._stream.next(CHUNK).view(np.uint8).copy().view(REQUEST)
        try:
            writes = check_requests(requests, self._device)
        except SsdgymError as error:
            raise SsdgymError(f"workload {name_of(None, self._config)}: {error}") from None
        self._without_write = 0 if writes else self._without_write + len(requests)
        if self._without_write > _MOST_WITHOUT_WRITE:
            raise SsdgymError(
                f"workload {name_of(None, self._config)} writes next to nothing, so the episode "
                "would not end; let it write."
            )
        return requests


def _stream_lap(config: WorkloadConfig, device: DeviceConfig, seed: int, number: int) -> _StreamLap:
    """Return lap `number`, from 0, of a workload. Every lap has another seed; lap 0 has `seed`."""
    draws = np.random.SeedSequence([seed, _LAPS, number]).generate_state(1, np.uint64)
    return _StreamLap(open_on(config, device, int(draws[0]) if number else seed))


class _StreamLap:
    """One pass over a stream of requests, with the interface `ssdgym.workloads.base.Lap`."""

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
