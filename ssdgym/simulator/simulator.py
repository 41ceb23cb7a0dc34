"""One simulated device, from plain Python."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel

from ssdgym.config.device import DeviceConfig, FtlConfig
from ssdgym.config.loading import Source
from ssdgym.deprecation import old_arguments, warn_renamed
from ssdgym.engine.core import status as codes
from ssdgym.engine.core.family import State
from ssdgym.engine.core.records import ERASE_PAIR, MAX_PAIRS, PARAMS
from ssdgym.engine.decisions import ERASE
from ssdgym.engine.entries import advance, apply
from ssdgym.engine.page.view import view_arrays
from ssdgym.errors import SsdgymError
from ssdgym.policy import Policy, device_for, get_policy, new_choice, rules_for
from ssdgym.requests import FLUSH, REQUEST, WRITE
from ssdgym.simulator.build import Recording, make_state
from ssdgym.simulator.metrics import metrics_of
from ssdgym.simulator.preconditioning import (
    Preconditioning,
    PreconditioningReport,
    cache_key,
    fill,
    load_preconditioned,
    overwrite,
    save_preconditioned,
)
from ssdgym.simulator.snapshot import copy_device, restore_device, same_device
from ssdgym.workloads.base import RequestStream, WorkloadConfig
from ssdgym.workloads.load import load_workload
from ssdgym.workloads.stream import open_workload

_NO_HORIZON = 2**62
#: Event times are kept in 63 bits together with the number of a channel or die; this leaves room for 2**8 of
#: them.
LAST_ARRIVAL_NS = 2**55
#: Requests handed to the engine at a time.
_CHUNK = 1 << 16
_EMPTY = np.zeros(0, REQUEST)

#: Why the engine refused or gave up, by the code it returns.
_REASONS = {
    codes.OUT_OF_SPACE: "is out of space: no free block is left for relocations",
    codes.NO_VICTIM: "needs a victim, and the policy {policy} named no erase set",
    codes.ILLEGAL_BLOCK: "cannot erase this block: it is open, free, or not of the plane that collects "
    "(with multi_plane, or of another plane of its die in which no round runs)",
    codes.ILLEGAL_MASK: "cannot erase this set of sub-blocks: its erase_unit does not allow it",
    codes.NOTHING_TO_GAIN: "would gain nothing: the erase set holds no invalid page, or no more than its "
    "neighbours hold valid ones while pages have to be won",
    codes.ILLEGAL_PAIRS: f"cannot erase these blocks together: give 1 to {MAX_PAIRS} different ones, at "
    "least one of the plane that collects, and with multi_plane strict of other planes only those with the "
    "number of one of its own",
    codes.NO_ROOM_TO_MOVE: "has no room for the valid pages of all these blocks before they are erased; "
    "erase fewer together",
    codes.NO_DECISION: "waits for no decision now; call advance first",
    codes.OUT_OF_TIME: "has come to a time too far in the future to be counted; let requests arrive earlier",
    codes.ILLEGAL_ANSWER: "has no such stream: the placement of {policy} named one outside the device's",
    codes.STUCK: "has come to a standstill with requests outstanding, which is a fault of ssdgym; please "
    "report it",
}


class Simulator:
    """A device, its FTL and the policy that takes its decisions.

    Args:
        device: name in ``configs/devices``, path of a YAML file, mapping or :class:`DeviceConfig`.
        ftl: another :class:`FtlConfig`, or a mapping of the fields to change (``{"placement": "single"}``).
        policy: by name (``"greedy"``, ``"d_choices(d=5)"``, ``"gsm+hotness_groups"``) or as
            :class:`~ssdgym.policy.Policy`; its placement and, where its rule needs another, its erase unit
            become those of ``self.device`` (:meth:`ssdgym.policy.Policy.adapt`). ``None`` leaves every
            decision to the caller (:meth:`advance`, :meth:`apply`).
        seed: of the device's own randomness (random policies, proposals).
        recording: how many latencies are kept exactly.

    Raises:
        SsdgymError: a configuration that does not fit, or a GC threshold a full device cannot reach.
    """

    def __init__(
        self,
        device: Source | DeviceConfig,
        *,
        ftl: FtlConfig | dict[str, Any] | None = None,
        policy: str | Policy | None = "greedy",
        seed: int = 0,
        recording: Recording | None = None,
    ) -> None:
        if not is_whole(seed):
            raise SsdgymError(f"the seed of a Simulator must be a whole number, not {seed!r:.60}.")
        self.policy = None if policy is None else get_policy(policy)
        self.device = device_for(device, ftl, self.policy)
        self.state: State = make_state([self.device], [seed], recording or Recording())
        self._choice = new_choice()
        self._input = _EMPTY

    @property
    def logical_pages(self) -> int:
        """Pages the host sees."""
        return self.device.logical_pages

    @property
    def now_ns(self) -> int:
        """Simulated time."""
        return int(self.state.control["now"][0, 0])

    # -- running

    @old_arguments(settle="warmup")
    def run(
        self,
        workload: Source | WorkloadConfig | np.ndarray | Iterator[np.ndarray],
        *,
        host_pages: int | None = None,
        warmup: int = 0,
        seed: int = 0,
        progress: Callable[[int], None] | None = None,
    ) -> dict[str, Any]:
        """Carry out a workload to its end, or until ``host_pages`` more have been written; return the
        metrics.

        Args:
            workload: name in ``configs/workloads``, YAML or trace path, mapping or model; or one REQUEST
                array, or an iterator of them. An endless one needs ``host_pages``. Times of a named one count
                from now, those of arrays from the making of the device.
            host_pages: stop after so many host pages.
            warmup: host pages before them that are not measured, so that the policy's own steady state is.
            seed: of the workload's draws.
            progress: called now and then with the host pages written so far by this call.
        """
        chunks = self._chunks(workload, host_pages, seed)
        self.feed(_EMPTY)
        if warmup:
            self.proceed(chunks, warmup)
            self.reset_metrics()
        self.proceed(chunks, host_pages, progress)
        return self.metrics()

    def proceed(
        self,
        chunks: Iterator[np.ndarray],
        host_pages: int | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> None:
        """Go on with the present input and then with ``chunks``, to their end or for ``host_pages``.

        Raises:
            SsdgymError: they end before ``host_pages`` have been written.
        """
        self.set_horizon(host_pages)
        before = int(self.state.counters["host_pages_written"][0, 0])
        kind = self._finish_input(last=False)
        while kind != codes.HORIZON:
            chunk = next(chunks, None)
            self.feed(_EMPTY if chunk is None else chunk)
            kind = self._finish_input(last=chunk is None)
            if progress is not None:
                progress(int(self.state.counters["host_pages_written"][0, 0]) - before)
            if chunk is None:
                break
        self.set_horizon(None)
        if host_pages is not None and kind != codes.HORIZON:
            written = int(self.state.counters["host_pages_written"][0, 0]) - before
            raise SsdgymError(
                f"the workload ended after {written} of {host_pages} host pages; give it more requests or "
                "loops, or ask for fewer host pages."
            )

    def _chunks(self, workload: Any, host_pages: int | None, seed: int) -> Iterator[np.ndarray]:
        """Whatever :meth:`run` takes as an iterator of request arrays."""
        if isinstance(workload, np.ndarray):
            return iter([workload])
        if not isinstance(workload, (str, Path, dict, BaseModel)):
            return iter(workload)
        config = load_workload(workload)
        if host_pages is None and config.is_endless:
            raise SsdgymError(
                f"workload {config.kind} never ends; give host_pages (or requests in the workload)."
            )
        if host_pages is not None and config.writes_nothing():
            raise SsdgymError(f"workload {config.kind} writes nothing, so host_pages would never be reached.")
        stream = open_workload(
            config,
            logical_pages=self.logical_pages,
            page_size=self.device.geometry.page_size_bytes,
            seed=seed,
        )
        return _until_empty(stream, self.now_ns)

    @old_arguments(ageing="settings")
    def precondition(
        self,
        workload: Source | WorkloadConfig | None = None,
        *,
        seed: int = 0,
        settings: Preconditioning | None = None,
        cache: bool = True,
    ) -> PreconditioningReport:
        """Fill this new device and overwrite it until garbage collection is steady; reset the metrics.

        No simulated time passes. The steady state depends on the device, the workload, the seed and the
        policy of the settings, not on the policy of this simulator.

        Args:
            workload: whose writes overwrite the device; uniform writes by default.
            seed: of the workload's draws.
            settings: under which policy, and when the device counts as steady.
            cache: keep the result on disk, and take it from there.

        Returns:
            What was written, and whether the device has become steady.

        Raises:
            SsdgymError: the device is in use, or the policy of the settings would run another device.
        """
        self._require_new("precondition")
        settings = settings or Preconditioning()
        if get_policy(settings.policy).adapt(self.device) != self.device:
            raise SsdgymError(
                f"device {self.device.name} cannot be preconditioned under {settings.policy}, which would "
                "run it another way; precondition it under a policy that takes it as it is, such as greedy."
            )
        config = load_workload("uniform" if workload is None else workload)
        key = cache_key(self, config, seed, settings)
        report = load_preconditioned(self.state, 0, key) if cache else None
        if report is None:
            with self._in_no_time(get_policy(settings.policy), seed):
                fill(self)
                report = overwrite(self, config, seed, settings)
            self.reset_metrics()
            if cache:
                save_preconditioned(self.state, 0, key, report)
        self.feed(_EMPTY)
        return report

    def age(self, *arguments: Any, **named: Any) -> PreconditioningReport:
        """Do what `precondition` does, under its old name."""
        warn_renamed("Simulator.age", "Simulator.precondition")
        return self.precondition(*arguments, **named)

    def fill(self) -> None:
        """Write every logical page of this new device once, in order, in no time; resets the metrics."""
        self._require_new("fill")
        with self._in_no_time(self.policy, int(self.state.params["seed"][0, 0])):
            fill(self)
        self.reset_metrics()

    def _require_new(self, verb: str) -> None:
        """Refuse what passes no time on a device that has commands under way or data of its own."""
        control = self.state.control[0, 0]
        if control["clock"] or control["now"] or control["admitted_pages"]:
            raise SsdgymError(f"device {self.device.name} is in use; {verb} a new Simulator instead.")

    @contextmanager
    def _in_no_time(self, policy: Policy | None, seed: int) -> Iterator[None]:
        """Untimed, under a policy and its seed, for as long as it lasts."""
        params = self.state.params[0, 0]
        own = self.policy, params["timed"], params["seed"]
        self.policy, params["timed"], params["seed"] = policy, 0, seed % 2**64
        try:
            yield
        finally:
            self.policy, params["timed"], params["seed"] = own

    def _finish_input(self, *, last: bool) -> int:
        """Advance to the end of the present input, taking decisions in Python where the policy is not
        compiled.
        """
        while True:
            kind = self.advance(last=last)
            if kind != codes.ERASE_DECISION:
                return kind
            if self.policy is None:
                raise SsdgymError(
                    "a simulator without a policy stops at decisions; use advance() and apply()."
                )
            self._decide_in_python(self.policy)

    def _decide_in_python(self, policy: Policy) -> None:
        plane = int(self.state.control["decision_plane"][0, 0])
        choice = self._choice.view(np.recarray)
        pairs = policy.victim.function(view_arrays(self.state, 0), plane, policy.victim.vector, choice)
        if not isinstance(pairs, (int, np.integer)) or not 1 <= pairs <= MAX_PAIRS:
            self._fail(codes.NO_VICTIM)
        self._choice["mask"][int(pairs) :] = 0
        self._apply(self._choice)

    def set_horizon(self, host_pages: int | None) -> None:
        """Stop admission once ``host_pages`` more host pages have been admitted (None: never)."""
        control = self.state.control[0, 0]
        if host_pages is not None and (not is_whole(host_pages) or not 1 <= host_pages < _NO_HORIZON):
            raise SsdgymError(
                f"host_pages must be a whole number from 1 to 2**62 - 1, not {host_pages!r:.60}."
            )
        control["horizon"] = _NO_HORIZON if host_pages is None else control["admitted_pages"] + host_pages

    def feed(self, requests: np.ndarray) -> None:
        """Make ``requests`` (m,) REQUEST the device's input; what is left of the one before is forgotten."""
        check_requests(requests, self.logical_pages, heeds_arrivals=self._heeds_arrivals)
        start_input(self.state, 0, self._pages_not_admitted())
        self._input = np.ascontiguousarray(requests)

    @property
    def _heeds_arrivals(self) -> bool:
        return self.device.ftl.timing == "event" and not self.device.ftl.queue_depth

    def _pages_not_admitted(self) -> int:
        """Pages of the request in admission that the device has not taken yet."""
        control = self.state.control[0, 0]
        return int(self._input[control["cursor"]]["pages"] - control["offset"]) if control["slot"] >= 0 else 0

    def advance(self, *, last: bool = True) -> int:
        """Run to the end of the input or horizon, or to a decision the caller takes.

        Returns ``INPUT_ENDED``, ``HORIZON`` or ``ERASE_DECISION`` of :mod:`ssdgym.engine.core.status`. With
        ``last`` false more input is to follow, and the device stops the moment the input ends.
        """
        inside = self.policy is not None and self.policy.victim.compiled
        external = 0 if inside else 1 << ERASE
        kind = advance(self.state, 0, self._input, last, self._rules, external, self._choice)
        if kind < 0:
            self._fail(kind)
        return int(kind)

    def apply(self, block: int | list[tuple[int, int]], mask: int | None = None) -> None:
        """Take the ERASE decision that is due.

        Args:
            block: the block to erase; or what to erase together, a list of pairs (block, bit mask of its
                sub-blocks).
            mask: of a single block, the sub-blocks of it to erase (default all).

        Raises:
            SsdgymError: the choice is not legal, or a list comes with a mask; the device is as it was.
        """
        if isinstance(block, list) and mask is not None:
            raise SsdgymError(
                "apply takes a mask with a single block only; give each pair of the list its own."
            )
        whole = (1 << self.device.geometry.sub_blocks_per_block) - 1
        pairs = block if isinstance(block, list) else [(block, whole if mask is None else mask)]
        if not 1 <= len(pairs) <= MAX_PAIRS or not all(isinstance(p, tuple) and len(p) == 2 for p in pairs):
            self._fail(codes.ILLEGAL_PAIRS)
        choice = np.zeros(MAX_PAIRS, ERASE_PAIR)
        for k, (number, chosen) in enumerate(pairs):
            if not is_whole(chosen) or not 1 <= chosen <= whole:
                self._fail(codes.ILLEGAL_MASK)
            if not is_whole(number) or not -(2**31) <= number < 2**31:
                self._fail(codes.ILLEGAL_BLOCK)
            choice[k]["block"], choice[k]["mask"] = number, chosen
        self._apply(choice)

    @property
    def _rules(self) -> np.ndarray:
        return rules_for(self.device, self.policy)

    def _apply(self, choice: np.ndarray) -> None:
        status = apply(self.state, 0, self._rules, choice, 0)
        if status < 0:
            self._fail(status)

    def _fail(self, status: int) -> None:
        raise failure(status, self.device, "none" if self.policy is None else self.policy.label)

    # -- metrics and copies

    def metrics(self) -> dict[str, Any]:
        """What the device has done since the metrics were reset
        (:func:`ssdgym.simulator.metrics.metrics_of`).
        """
        return metrics_of(self.state, 0, self.device)

    def reset_metrics(self) -> None:
        """Start counting anew; the device itself, its wear included, stays as it is."""
        reset_metrics(self.state, 0)

    def snapshot(self) -> tuple[State, np.ndarray]:
        """An independent copy of the device and of the input it is at."""
        return copy_device(self.state, 0), self._input

    def restore(self, snapshot: tuple[State, np.ndarray]) -> None:
        """Make this device the saved one, in place."""
        saved, requests = snapshot
        if not _fits(saved, self.state):
            raise SsdgymError(
                f"device {self.device.name}: the snapshot is of another device, or of one that records "
                "another number of latencies; restore it to a Simulator made as that one was."
            )
        restore_device(self.state, 0, saved)
        self._input = requests

    def same_as(self, other: Simulator) -> bool:
        """Are two devices equal in every value of their state?"""
        return same_device(self.state, 0, other.state, 0)


def failure(status: int, device: DeviceConfig, policy: str) -> SsdgymError:
    """The error for a negative code the engine returned."""
    return SsdgymError(f"device {device.name} {_REASONS[status].format(policy=policy)}.")


def _until_empty(stream: RequestStream, start_ns: int) -> Iterator[np.ndarray]:
    """The stream in chunks, its times counted from ``start_ns``."""
    while len(chunk := stream.next(_CHUNK)):
        if start_ns:
            chunk = chunk.copy()
            chunk["arrival_ns"] += start_ns
        yield chunk


def is_whole(value: Any) -> bool:
    """Is it a whole number of Python or numpy, and no truth value?"""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _fits(saved: State, state: State) -> bool:
    """Is the saved device, but for its seed, made as this one is?"""
    names = [name for name in PARAMS.names or () if name != "seed"]
    return all(a.shape == b.shape for a, b in zip(saved, state, strict=True)) and all(
        np.array_equal(saved.params[name], state.params[name]) for name in names
    )


def start_input(state: State, i: int, not_admitted: int = 0) -> None:
    """Device ``i`` begins a new chunk of input; what is left of the request in admission is forgotten.

    ``not_admitted`` is how many pages that is. If others of its pages are under way it ends with the last of
    those; else (a horizon has cut it) it is no request any more.
    """
    control = state.control[i, 0]
    control["cursor"] = 0
    control["offset"] = 0
    if control["slot"] >= 0:
        slot = state.slot[i, control["slot"]]
        if slot["remaining"] > not_admitted:
            slot["remaining"] -= not_admitted
            control["slot"] = -1
            return
        slot["remaining"] = 0
        control["outstanding"] -= 1
        control["outstanding_writes"] -= slot["op"] == WRITE
        slot["next"] = control["free_slot"]
        control["free_slot"] = control["slot"]
        control["slot"] = -1


def reset_metrics(state: State, i: int) -> None:
    """Clear the counters and latencies of device ``i``, and which pages are beside relocated ones."""
    control = state.control[i, 0]
    state.counters[i] = 0
    state.block["relocated_run"][i] = 0
    # Requests under way are numbered anew, so that serial - outstanding counts those finished from now on.
    slots = state.slot[i]
    under_way = np.flatnonzero(slots["remaining"] > 0)
    under_way = under_way[np.argsort(slots["serial"][under_way])]
    slots["serial"][under_way] = np.arange(len(under_way))
    control["serial"] = len(under_way)
    control["metrics_start_ns"] = control["now"]
    state.latency[i] = 0
    state.histogram[i] = 0
    state.tail[i] = 0


def check_requests(requests: np.ndarray, logical_pages: int, *, heeds_arrivals: bool = True) -> None:
    """Refuse requests the device cannot carry out, naming the first of them.

    A closed loop, or a device without time, takes no notice of when they arrive.

    Raises:
        SsdgymError: wrong dtype, a page outside the logical space, a size below 1, an unknown op, arrivals
            out of range or out of order.
    """
    if not isinstance(requests, np.ndarray) or requests.dtype != REQUEST or requests.ndim != 1:
        raise SsdgymError("requests must be a one-dimensional array of ssdgym.requests.REQUEST.")
    lpn, pages, op = requests["lpn"], requests["pages"], requests["op"]
    end = lpn.astype(np.int64) + pages
    flush = op == FLUSH
    _refuse_first(requests, op > FLUSH, "its op must be 0 (read), 1 (write), 2 (trim) or 3 (flush)")
    _refuse_first(requests, ~flush & (pages < 1), "it must be of at least one page")
    outside = ~flush & ((lpn < 0) | (end > logical_pages))
    _refuse_first(requests, outside, f"it reaches outside the {logical_pages} logical pages")
    if not heeds_arrivals:
        return
    late = requests["arrival_ns"] >= LAST_ARRIVAL_NS
    _refuse_first(
        requests,
        late | (requests["arrival_ns"] < 0),
        "its arrival is not a time from 0 ns to 417 days; play it in a closed loop (queue_depth), in fewer "
        "loops, or with its times scaled down",
    )
    backwards = np.zeros(len(requests), bool)
    backwards[1:] = np.diff(requests["arrival_ns"]) < 0
    _refuse_first(requests, backwards, "it arrives before the one in front of it")


def _refuse_first(requests: np.ndarray, bad: np.ndarray, reason: str) -> None:
    if bad.any():
        number = int(np.argmax(bad))
        raise SsdgymError(f"request {number} {requests[number].tolist()} cannot be carried out: {reason}.")
