"""One run, and many of them: device x FTL x workload x policy x seed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ssdgym.errors import SsdgymError
from ssdgym.experiments.results import Result

if TYPE_CHECKING:
    from ssdgym.config.preconditioning import Preconditioning
    from ssdgym.config.workload import WorkloadConfig
    from ssdgym.requests import Requests
    from ssdgym.simulator import Simulator
    from ssdgym.workloads import RequestStream

#: Requests handed to the engine at a time: few enough to see progress, enough not to notice the hand-over.
CHUNK_REQUESTS = 1 << 17

#: Of the workload that ages a device; the environments' default.
AGEING_SEED = 0

#: Times that a workload is played before giving up to see anything collected.
_MOST_REPETITIONS = 1000

#: Called with (cells done, cells in all).
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Cell:
    """One run of a grid.

    Attributes:
        device: name, path, mapping or model of a device.
        workload: name, path, mapping or model of a workload.
        policy: name of a victim policy; for a learned agent, the label it goes by.
        seed: of the workload and of all random choices.
        ftl: options of the FTL in place of the device's own, dotted names for nested ones
            (``("gc.free_blocks", 8)``).
        host_pages: length of the run in pages written by the host; ``None``: by ``requests``, or the whole
            workload.
        requests: length of the run in requests.
        settle: host pages before them that are played but not measured, so that what is measured is the
            policy's own steady state and not the one the device was aged to.
        preconditioning: what the device goes through before that: nothing at all, or a fill followed by
            overwrites (uniform, or shaped like the workload) until collection is steady. All seeds and
            policies start from the same aged device. Or ``repeat``: the whole workload again and again
            until something has been collected; the next time is measured. Or ``until_gc``: uniformly random
            pages are written in no time, under the policy itself and by the cell's seed, until every plane
            has collected.
        agent: file of a learned agent that takes the decisions, ``None`` for a policy. It needs a number of
            ``host_pages`` and the preconditioning ``workload``, which is what its environment does.
        objective: what that agent was trained for.
        label: what the results call the workload; by default its name or path.
        device_label: what they call the device, likewise.
    """

    device: Any
    workload: Any
    policy: str
    seed: int
    ftl: tuple[tuple[str, Any], ...] = ()
    host_pages: int | None = None
    requests: int | None = None
    settle: int = 0
    preconditioning: Literal[Preconditioning, "repeat"] = "workload"
    agent: Path | None = None
    objective: str = ""
    label: str = ""
    device_label: str = ""

    @property
    def decider(self) -> str | None:
        """The policy that the device runs with; ``None`` for an agent."""
        return None if self.agent else self.policy

    @property
    def device_name(self) -> str:
        """What the results call the device."""
        return self.device_label or source_name(self.device)

    @property
    def workload_name(self) -> str:
        """What the results call the workload."""
        return self.label or source_name(self.workload)

    def result(
        self, metrics: dict[str, Any], wall_seconds: float, seeds: Sequence[int] = (), spec: str = ""
    ) -> Result:
        """The result that these metrics make.

        Args:
            metrics: by name, possibly nested; facts about the workload are added where they are missing.
            wall_seconds: how long the run took.
            seeds: of an agent, all that were played in the same batch.
            spec: all that the cell depends on, where that is known already.
        """
        from ssdgym.config.workload import assumptions, load_workload
        from ssdgym.engine.core.kernel import engine_hash
        from ssdgym.experiments.runs.spec import spec_of, spec_text

        return Result(
            device=self.device_name,
            ftl=ftl_label(self.ftl),
            workload=self.workload_name,
            policy=self.policy,
            seed=self.seed,
            objective=self.objective,
            assumed=", ".join(assumptions(load_workload(self.workload))),
            engine_hash=engine_hash(),
            metrics=metrics if "workload" in metrics else {**metrics, "workload": _workload_report(self)},
            cell=spec or spec_text(spec_of(self, seeds)),
            wall_seconds=wall_seconds,
        )


def _workload_report(cell: Cell) -> dict[str, int]:
    """Facts about the workload on this device: its footprint, and what was left out of a trace."""
    from ssdgym.config.device import load_device
    from ssdgym.config.workload import load_workload
    from ssdgym.workloads import open_workload

    device = load_device(cell.device)
    stream = open_workload(
        load_workload(cell.workload),
        logical_pages=device.host_pages,
        page_size=device.geometry.page_size_bytes,
        seed=cell.seed,
    )
    return stream.report


def ftl_changes(ftl: tuple[tuple[str, Any], ...]) -> dict[str, Any] | None:
    """FTL options as the simulator takes them: dotted names become nested mappings, ``None`` without any."""
    changes: dict[str, Any] = {}
    for name, value in ftl:
        *outer, last = name.split(".")
        inner = changes
        for part in outer:
            inner = inner.setdefault(part, {})
        inner[last] = value
    return changes or None


def ftl_label(ftl: tuple[tuple[str, Any], ...]) -> str:
    """FTL options as results name them, e.g. ``gc.free_blocks=8,placement=sep_gc``."""
    return ",".join(f"{name}={value}" for name, value in sorted(ftl))


def source_name(source: Any) -> str:
    """What results call a device or a workload: its name or path, or the ``name`` or ``kind`` it has."""
    if isinstance(source, str | Path):
        return str(source)
    for attribute in ("name", "kind"):
        value = source.get(attribute) if isinstance(source, dict) else getattr(source, attribute, None)
        if value:
            return str(value)
    raise SsdgymError(f"a {type(source).__name__} has neither a name nor a kind to go by in results")


def evaluate(cells: Sequence[Cell], workers: int = 2, progress: Progress | None = None) -> list[Result]:
    """Run every cell and return the results in the order of the cells; the first error ends it.

    The results do not depend on ``workers``. Workers are spawned, never forked, and use one thread each.

    Args:
        cells: what to run.
        workers: number of processes; 1 runs in this one.
        progress: called as cells finish.

    Raises:
        SsdgymError: a cell is wrongly configured, or a worker died.
    """
    from ssdgym.experiments.runs.workers import run_locally

    check_cells(cells)
    jobs = jobs_of(cells)
    finished: dict[int, Result] = {}
    with closing(run_locally([[cells[index] for index in job] for job in jobs], workers)) as outcomes:
        for outcome in outcomes:
            if outcome.error is not None:
                raise outcome.error
            finished.update(zip(jobs[outcome.job], outcome.results, strict=True))
            if progress:
                progress(len(finished), len(cells))
    return [finished[index] for index in range(len(cells))]


def check_cells(cells: Sequence[Cell]) -> None:
    """Load and check every device, workload and policy, which takes no time, before anything that does.

    Raises:
        SsdgymError: one of them does not exist, is wrongly configured or does not fit.
    """
    from ssdgym.config.workload import is_endless, load_workload
    from ssdgym.policy import device_for
    from ssdgym.simulator.build import check_reachable, thresholds_of
    from ssdgym.workloads.stream import writes_nothing

    for cell in {(repr(cell.device), cell.ftl, cell.decider): cell for cell in cells}.values():
        device = device_for(cell.device, ftl_changes(cell.ftl), cell.decider)
        check_reachable(device, thresholds_of(device))
    for cell in {(cell.policy, cell.agent): cell for cell in cells if cell.agent}.values():
        if cell.preconditioning != "workload" or cell.host_pages is None or cell.requests is not None:
            raise SsdgymError(
                f"{cell.agent}: an agent is evaluated for a number of host pages on devices aged by "
                "the workload: set host_pages, not requests, and the preconditioning to workload"
            )
    for cell in {(repr(cell.workload), cell.requests, cell.host_pages): cell for cell in cells}.values():
        workload = load_workload(cell.workload)
        if cell.requests is not None or not is_endless(workload):
            continue
        if cell.host_pages is None:
            raise SsdgymError(f"workload {cell.workload_name} never ends: set host_pages or requests")
        if writes_nothing(workload):
            raise SsdgymError(f"workload {cell.workload_name} never ends and writes nothing: set requests")


def run_cell(cell: Cell, progress: Callable[[int], None] | None = None) -> Result:
    """Run one cell with a victim policy, in this process.

    Args:
        cell: what to run; without an agent.
        progress: called now and then with the host pages written so far.
    """
    from ssdgym.config.workload import load_workload
    from ssdgym.simulator import Simulator
    from ssdgym.workloads import open_workload

    started = time.perf_counter()
    simulator = Simulator(cell.device, ftl=ftl_changes(cell.ftl), policy=cell.policy, seed=cell.seed)
    workload = load_workload(cell.workload)
    if cell.preconditioning == "repeat":
        metrics = _repeated(simulator, workload, cell.seed)
        return cell.result(metrics, time.perf_counter() - started)
    _precondition(simulator, workload, cell)
    stream = open_workload(
        workload,
        logical_pages=simulator.logical_pages,
        page_size=simulator.device.geometry.page_size_bytes,
        seed=cell.seed,
    )
    metrics = simulator.run(
        _chunks(stream, cell.requests), host_pages=cell.host_pages, settle=cell.settle, progress=progress
    )
    return cell.result(metrics, time.perf_counter() - started)


def _precondition(simulator: Simulator, workload: WorkloadConfig, cell: Cell) -> None:
    """What comes before the run, in no time."""
    from ssdgym.simulator.ageing import write_until_collecting

    match cell.preconditioning:
        case "fill":
            simulator.fill()
        case "until_gc":
            write_until_collecting(simulator, cell.seed)
        case "uniform" | "workload":
            simulator.age(workload if cell.preconditioning == "workload" else None, seed=AGEING_SEED)


def _repeated(simulator: Simulator, workload: WorkloadConfig, seed: int) -> dict[str, Any]:
    """Play a workload that ends until blocks have been erased, and once more; the metrics of that."""
    for _ in range(_MOST_REPETITIONS):
        has_collected = simulator.run(workload, seed=seed)["erases"] > 0
        simulator.reset_metrics()
        if has_collected:
            return simulator.run(workload, seed=seed)
    raise SsdgymError(
        f"workload {workload.kind}: played {_MOST_REPETITIONS} times it made the device collect nothing; "
        "play more of it, or on a smaller device"
    )


def _chunks(stream: RequestStream, limit: int | None) -> Iterator[Requests]:
    """The stream in portions, up to ``limit`` requests of it."""
    left = CHUNK_REQUESTS if limit is None else limit
    while left > 0:
        chunk = stream.next(min(left, CHUNK_REQUESTS))
        if not len(chunk):
            return
        if limit is not None:
            left -= len(chunk)
        yield chunk


def jobs_of(cells: Sequence[Cell]) -> list[list[int]]:
    """Indices of the cells that run together: those of one agent that differ in nothing but the seed.

    A network decides for a whole batch in about the time it takes for one, so an agent plays all its seeds
    in one vector environment; a compiled policy gains nothing from company.
    """
    groups: dict[Any, list[int]] = {}
    for index, cell in enumerate(cells):
        together = (
            repr(cell.device),
            repr(cell.workload),
            cell.ftl,
            cell.agent,
            cell.host_pages,
            cell.settle,
        )
        groups.setdefault(together if cell.agent else index, []).append(index)
    return list(groups.values())


def run_job(cells: Sequence[Cell]) -> list[Result]:
    """Run the cells of one job, in this process."""
    if cells[0].agent is None:
        return [run_cell(cell) for cell in cells]
    from ssdgym.experiments.runs.play import play_agent

    return play_agent(cells)
