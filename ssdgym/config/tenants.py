"""Model of several workloads that share a device."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from ssdgym.config.generated import GeneratedConfig, PacedConfig, Weight
from ssdgym.config.loading import Config
from ssdgym.config.recorded import TraceConfig
from ssdgym.config.small_writes import SmallWritesConfig
from ssdgym.config.stand_in import StandInConfig

#: Every workload of a single host.
SoloConfig = GeneratedConfig | SmallWritesConfig | TraceConfig | StandInConfig


def _called(value: Any) -> Any:
    """Let a name stand for the workload of that name."""
    if not isinstance(value, str):
        return value
    # Names are resolved by the module that knows every kind of workload, this one too.
    from ssdgym.config.workload import load_workload

    return load_workload(value)


AnySoloConfig = Annotated[SoloConfig, Field(discriminator="kind"), BeforeValidator(_called)]


class TenantConfig(Config):
    """One of the workloads that share a device."""

    workload: AnySoloConfig = Field(
        description="A workload, or the name of one; of its own it may be anything but tenants."
    )
    share: Weight = Field(1.0, description="Share of the logical space, relative to the other shares.")
    name: str | None = Field(None, min_length=1, description="What to call it in errors.")

    @model_validator(mode="after")
    def _has_a_pace(self) -> TenantConfig:
        if isinstance(self.workload, PacedConfig) and not self.workload.interarrival_ns:
            name = f" of tenant {self.name}" if self.name else ""
            raise ValueError(
                f"needs workload.interarrival_ns{name} to be above 0: requests that arrive all at once would"
                " go before those of every other tenant"
            )
        return self


class TenantsConfig(Config):
    """Several workloads at once, each in a part of the logical space of its own, merged by arrival.

    The parts lie one after the other in the order of the list.
    """

    kind: Literal["tenants"] = "tenants"
    tenants: tuple[TenantConfig, ...] = Field(min_length=1, description="The workloads.")
