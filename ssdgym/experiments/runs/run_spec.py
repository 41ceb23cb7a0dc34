"""What one run is: device, FTL options, workload, policy or agent, seed and length."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ssdgym.config.fields import with_changes
from ssdgym.errors import SsdgymError

if TYPE_CHECKING:
    from ssdgym.agents.environments import EnvironmentConfig

#: FTL options as pairs of a name, dotted for nested ones, and its value.
FtlOptions = tuple[tuple[str, Any], ...]
#: A comma between two options, and not between parameters in brackets.
_COMMA = re.compile(r",(?![^()]*\))")
#: Preconditionings that play the workload itself before it is measured.
REPEATING = ("repeat", "reads_repeat")


@dataclass(frozen=True)
class RunSpec:
    """One run, described completely; nothing is loaded or run by making one.

    Attributes:
        device: name, path, mapping or model of a device.
        workload: name, path, mapping or model of a workload.
        policy: name of a policy; for a learned agent, its label.
        seed: of the workload and of all random choices.
        ftl: options of the FTL in place of the device's own, such as `("gc.free_blocks", 8)`.
        host_pages: length of the run in pages written by the host; `None`: by `requests`, or the whole
            workload.
        requests: length of the run in requests.
        warmup: host pages before them that are played but not measured, so that the policy's own steady
            state is measured and not the one that the device was preconditioned to.
        days: days that pass behind the warm-up, in which the host does nothing; what is done in them is
            measured. `None`: no days pass.
        day_requests: requests after each of which a day passes, in which the host does nothing; warm-up and
            run end with the days in which their pages have been written. `None`: no days pass.
        sample_pages: host pages after each of which the free pages of the device are noted
            (`ssdgym.simulator.sampling`), which changes nothing else; `None`: never.
        preconditioning: what happens before that, as text or as a mapping, which becomes text such as
            `fill(share=0.95)`. `none`, `fill`, `uniform` and `workload`: see `ssdgym.config.preconditioning`;
            all seeds and policies start from the same device. `reads`: the pages that the workload reads
            before it writes them are written in no time. `until_gc`: uniformly random pages are written in
            no time, under the policy itself and by the seed of the run, until every plane has collected.
            `until_gc_greedy`: the same pages under greedy in one stream, whatever the policy; then its own
            placement begins. `repeat`: the whole workload is played until something has been collected; the
            next time is measured. `reads_repeat`: likewise, after `reads`.
        agent: what takes the decisions in place of a policy: file of a trained agent, `module:callable`, or
            the name of a baseline (`ssdgym.agents.playing.sources`). It needs a number of `host_pages` and
            a preconditioning that its environment takes: `none`, `fill`, `uniform` or `workload`.
        environment: that the agent plays, where it does not know its own; `None`: `ssdgym/EraseVictim-v0`.
        trust: whether code that comes with the agent, or with rules of a policy, may be executed.
        objective: what that agent was trained for.
        label: name of the workload in results; by default its name or path.
        device_label: name of the device in results, likewise.
    """

    device: Any
    workload: Any
    policy: str
    seed: int
    ftl: FtlOptions = ()
    host_pages: int | None = None
    requests: int | None = None
    warmup: int = 0
    days: int | None = None
    day_requests: int | None = None
    sample_pages: int | None = None
    preconditioning: Any = "workload"
    agent: Path | str | None = None
    environment: EnvironmentConfig | None = None
    trust: bool = False
    objective: str = ""
    label: str = ""
    device_label: str = ""

    def __post_init__(self) -> None:
        """Keep a preconditioning that is no text as text, so that what is the same run is equal."""
        if not isinstance(self.preconditioning, str):
            from ssdgym.config.preconditioning import read_preconditioning

            object.__setattr__(self, "preconditioning", read_preconditioning(self.preconditioning).text)

    @property
    def decider(self) -> str | None:
        """The policy that the device runs with; `None` for an agent."""
        return None if self.agent else self.policy

    @property
    def device_name(self) -> str:
        """The name of the device in results."""
        return self.device_label or source_name(self.device)

    @property
    def workload_name(self) -> str:
        """The name of the workload in results."""
        return self.label or source_name(self.workload)


def ftl_changes(ftl: FtlOptions) -> dict[str, Any] | None:
    """Return FTL options as the simulator takes them.

    Args:
        ftl: pairs of a dotted name and a value.

    Returns:
        Nested mappings; `None` without any option.
    """
    return with_changes({}, dict(ftl)) or None


def ftl_label(ftl: FtlOptions) -> str:
    """Return FTL options as results name them, e.g. `gc.free_blocks=8,placement=sep_gc`."""
    return ",".join(f"{name}={value}" for name, value in sorted(ftl))


def split_options(text: str) -> list[str]:
    """Return the options of an FTL that `ftl_label` has joined: commas in brackets are no ends."""
    return [option for option in _COMMA.split(text) if option]


def source_name(source: Any) -> str:
    """Return the name of a device or a workload in results.

    Args:
        source: a name, a path, or a mapping or model with a `name`, the `path` of a trace, or a `kind`.

    Raises:
        SsdgymError: it has neither.
    """
    if isinstance(source, str | Path):
        return str(source)
    for attribute in ("name", "path", "kind"):
        value = source.get(attribute) if isinstance(source, dict) else getattr(source, attribute, None)
        if value:
            return Path(value).name if attribute == "path" else str(value)
    raise SsdgymError(f"a {type(source).__name__} has neither a name nor a kind to go by in results")
