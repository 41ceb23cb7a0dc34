"""The arguments that all environments take."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from inspect import Parameter, Signature, signature
from typing import Any, ClassVar

from ssdgym.config.device import PreconditioningConfig, read_preconditioning
from ssdgym.config.fields import is_whole, seed_number
from ssdgym.config.ftl import FtlConfig
from ssdgym.envs.decisions import Decision
from ssdgym.envs.sources import AT_END, AtEnd
from ssdgym.errors import SsdgymError, shown

#: Host pages of an episode are fewer than this.
_LONGEST_EPISODE = 2**62


@dataclass(frozen=True, kw_only=True)
class Options(ABC):
    """The arguments of an environment.

    An environment has a frozen dataclass of its own, derived from this one: it adds the arguments that
    describe its decision and makes the decision of them. `ssdgym.envs.DecisionEnv` has their meaning.
    """

    device: Any = "demo"
    ftl: FtlConfig | dict[str, Any] | None = None
    workload: Any = "zipf99"
    size_to_trace: bool = False
    at_end: AtEnd = "wrap"
    objective: Mapping[str, float] | None = None
    horizon: int = 8192
    warmup: int = 0
    preconditioning: str | dict[str, Any] = "workload"
    preconditioning_seed: int = 0
    features: str | Sequence[str] = "default"
    reward: str | Mapping[str, Any] | None = None

    default_objective: ClassVar[Mapping[str, float]] = {"relocations": 1.0}
    default_reward: ClassVar[str | Mapping[str, Any]] = "plain"

    def __post_init__(self) -> None:
        """Check the numbers."""
        for name, minimum in (("horizon", 1), ("warmup", 0)):
            value = getattr(self, name)
            if not is_whole(value) or not minimum <= value < _LONGEST_EPISODE:
                raise SsdgymError(
                    f"{name} must be a whole number of host pages from {minimum} up, not {value!r}."
                )
        if (how := self.how_preconditioned).is_the_runs_own:
            raise SsdgymError(
                f"preconditioning {how.kind} is for runs of a policy; an environment takes none, fill, "
                "uniform or workload."
            )
        seed_number(self.preconditioning_seed, "preconditioning_seed")
        if self.at_end not in AT_END:
            raise SsdgymError(f"at_end must be {' or '.join(AT_END)}, not {shown(self.at_end)}.")

    @property
    def how_preconditioned(self) -> PreconditioningConfig:
        """The preconditioning of the devices, read."""
        return read_preconditioning(self.preconditioning)

    @abstractmethod
    def decision(self) -> Decision:
        """Return the decision that the agent takes."""

    @classmethod
    def decision_arguments(cls) -> tuple[str, ...]:
        """Name the arguments that describe the decision: an agent needs them as they were in training."""
        shared = {field.name for field in fields(Options)} - {"features"}
        return tuple(field.name for field in fields(cls) if field.name not in shared)


def sign(environment: Any) -> None:
    """Show the arguments of its options in the signature of a class that has no constructor of its own."""
    own = list(signature(environment.__init__).parameters.values())[1:]
    if own and own[-1].kind is Parameter.VAR_KEYWORD and hasattr(environment, "options_type"):
        own[-1:] = signature(environment.options_type).parameters.values()
    environment.__signature__ = Signature(own)
