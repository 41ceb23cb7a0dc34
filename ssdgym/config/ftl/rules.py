"""What the rules that run on a device need of it."""

from __future__ import annotations

from pydantic import Field

from ssdgym.config.loading import Config


class MemoryBytes(Config):
    """Sizes of the records that a rule keeps."""

    page: int = Field(0, ge=0, description="bytes per logical page")
    block: int = Field(0, ge=0, description="bytes per block")
    stream: int = Field(0, ge=0, description="bytes per plane and stream")
    device: int = Field(0, ge=0, description="bytes per device")


class RuleNeeds(Config):
    """What the rules that run on a device need of it: filled in when a policy adapts the device."""

    streams: int = Field(1, ge=1, description="write streams of a plane")
    relocation_streams: int = Field(1, ge=1, description="streams that the pages of one victim can go to")
    place: MemoryBytes = Field(MemoryBytes(), description="memory of the placement")
    victim: MemoryBytes = Field(MemoryBytes(), description="memory of the victim rule")
    idle: MemoryBytes = Field(MemoryBytes(), description="memory of the idle rule")
    shared: bool = Field(False, description="the victim rule uses the memory of the placement")
