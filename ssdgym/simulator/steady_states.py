"""A cache on disk of preconditioned devices: its keys, and functions to save and load."""

import hashlib
import json
import warnings
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ssdgym.config.device import DeviceConfig
from ssdgym.engine.compiler.cache import engine_hash
from ssdgym.engine.core.family import State
from ssdgym.enums import PlaneRows
from ssdgym.errors import SsdgymError
from ssdgym.files import DAMAGED_ZIP, cache_folder, write_atomically
from ssdgym.policy import get_policy
from ssdgym.policy.on_device import rules_on
from ssdgym.simulator.families import family_of, family_of_state
from ssdgym.workloads.base import WorkloadConfig
from ssdgym.workloads.registry import code_hashes

#: Arrays that are not stored, because they are empty in a preconditioned device.
_CLEARED = (
    "latency",
    "histogram",
    "gc_histogram",
    "tail",
    "channel",
    "transaction",
    "slot",
    "event",
    "ready",
    "endurance",
    "life",
)
#: Fields of the control record for queues. They are not loaded, because queues of devices differ in size.
_QUEUES = ("slot", "free_slot", "free_transaction", "free_transactions", "ready_head", "ready_count")
#: The only fields of a device, its FTL and GC that do not change a steady state: descriptions, costs, and
#: fields that matter only in simulated time or to queues. `FamilyBuilder.weighed` has the times that matter.
_OF_NO_EFFECT = {"name", "description", "assumed", "energy", "timing"}
_OF_NO_EFFECT_ON_FTL = {
    "timing",
    "queue_depth",
    "window_pages",
    "multi_plane_writes",
    "multi_plane_reads",
    "multi_plane_rows",
    "pad_limit",
    "write_completes",
}
_OF_NO_EFFECT_ON_GC = {"preemptible", "idle"}


@dataclass(frozen=True)
class PreconditioningReport:
    """What preconditioning did.

    Attributes:
        host_pages: host pages written after the device was filled.
        write_amplification: write amplification of the last window, of writes of half the logical pages.
        steady: whether `write_amplification` differed by less than `TOLERANCE` from the previous window's.
    """

    host_pages: int
    write_amplification: float
    steady: bool


def cache_key(device: DeviceConfig, workload: WorkloadConfig, seed: int, share: float) -> str:
    """Return a hash of all that a steady state depends on, including the sources of the code that makes it.

    The hash covers every field of the device except those named above. `share` of the pages is filled first.
    """
    fields = device.model_dump(mode="json", exclude=_OF_NO_EFFECT)
    fields["ftl"] = {name: value for name, value in fields["ftl"].items() if name not in _OF_NO_EFFECT_ON_FTL}
    # If no time passes, `multi_plane_rows` has an effect on where pages go only if it is `aligned`.
    fields["ftl"]["aligned"] = getattr(device.ftl, "multi_plane_rows", None) == PlaneRows.ALIGNED
    if gc := fields["ftl"].get("gc"):
        kept = {name: value for name, value in gc.items() if name not in _OF_NO_EFFECT_ON_GC}
        # With an idle rule, whichever it is, rounds must reclaim pages, even if no time passes.
        fields["ftl"]["gc"] = {**kept, "idle": gc.get("idle") is not None}
    parts = {
        "device": fields,
        "weighed": family_of(device).weighed(device),
        "workload": workload.model_dump(mode="json"),
        "seed": seed,
        "share": share,
        "sources": _sources_hash(device),
        "traces": workload.trace_hashes(),
        "code": code_hashes(workload),
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:32]


def _sources_hash(device: DeviceConfig) -> str:
    """Return a hash of the code that makes a steady state: parts of ssdgym, rules, and files of agents.

    The rules are those of the default policy and of the device, except its idle rule.
    """
    package = Path(__file__).parents[1]
    folders = ("config", "policy", "workloads", "simulator")
    sources = [source for folder in folders for source in package.glob(f"{folder}/**/*.py")]
    digest = hashlib.sha256(engine_hash().encode())
    for source in sorted(sources):
        digest.update(source.read_bytes())
    digest.update(get_policy(device.ftl.usual_policy).source_digest().encode())
    for rule in (*rules_on(device), *rules_on(device, "wear")):
        digest.update(rule.code)
    return digest.hexdigest()


def _path(key: str) -> Path:
    return cache_folder() / "preconditioned" / f"{key}.npz"


def load_preconditioned(state: State, i: int, key: str) -> PreconditioningReport | None:
    """Load a preconditioned device from disk; return its report, or None if there is no valid file.

    A damaged file is removed.
    """
    path = _path(key)
    try:
        with np.load(path) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except (FileNotFoundError, NotADirectoryError):
        return None
    except DAMAGED_ZIP:
        arrays = {}
    report = arrays.pop("report", None)
    longer = (array.shape[0] > getattr(state, name).shape[1] for name, array in arrays.items())
    if report is None or any(longer):
        with suppress(OSError):
            path.unlink()
        return None
    control = state.control[i, 0]
    own = {name: control[name].copy() for name in _QUEUES}
    for name, array in arrays.items():
        getattr(state, name)[i, : array.shape[0]] = array
    for name, value in own.items():
        control[name] = value
    return PreconditioningReport(int(report[0]), float(report[1]), bool(report[2]))


def save_preconditioned(state: State, i: int, key: str, report: PreconditioningReport) -> None:
    """Save a preconditioned device and its report on disk; warn if saving fails."""
    family = family_of_state(state)
    own = {*family.fixed, *family.scratch, *_CLEARED}
    arrays = {name: array[i] for name, array in state._asdict().items() if name not in own}
    arrays["report"] = np.array([report.host_pages, report.write_amplification, report.steady], np.float64)
    path = _path(key)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, lambda file: np.savez(file, **arrays))
    except (OSError, SsdgymError) as error:
        warnings.warn(
            f"the preconditioned device is not kept and will be made anew: {error}",
            RuntimeWarning,
            stacklevel=3,
        )
