"""When garbage is collected."""

from __future__ import annotations

from typing import Any

from pydantic import Field, model_validator

from ssdgym.config.loading import Config
from ssdgym.enums import GcGrain, GcMode, GcPriority, GcStart


class GcConfig(Config):
    """When garbage is collected. Give the threshold either as a share of pages or in blocks."""

    mode: GcMode = Field(GcMode.BARRIER, description=GcMode.described())
    free_fraction: float | None = Field(
        None, gt=0, lt=1, description="threshold: share of a plane's pages free"
    )
    free_blocks: int | None = Field(None, ge=1, description="threshold: blocks in a plane's pool")
    barrier_fraction: float | None = Field(None, gt=0, lt=1, description="barrier, default the threshold")
    barrier_blocks: int | None = Field(None, ge=1, description="barrier, default the threshold")
    background_fraction: float | None = Field(
        None, gt=0, lt=1, description="idle dies collect planes with a smaller share of free pages"
    )
    idle: str | None = Field(
        None,
        description="how far idle dies go with collecting: an idle rule by name, with its parameters; in "
        "place of background_fraction",
    )
    preemptible: bool = Field(
        False,
        description="pages of the host are programmed in a plane with a background round under way, as long "
        "as the pool has room for what the round still has to move",
    )
    priority: GcPriority = Field(GcPriority.FIRST, description=f"of foreground GC; {GcPriority.described()}")
    start: GcStart = Field(GcStart.AT_ONCE, description=f"in time: {GcStart.described()}")
    grain: GcGrain = Field(GcGrain.COMMAND, description=f"with background_fraction: {GcGrain.described()}")
    # Tiny-Tail Flash (Yan et al., FAST 2017), without its parity reads.
    copyback: bool = Field(
        False,
        description="pages are relocated within their plane without crossing the channel, so without error "
        "correction by the controller; without time it only changes the cost in benefits",
    )

    @model_validator(mode="after")
    def _one_threshold(self) -> GcConfig:
        if (self.free_fraction is None) == (self.free_blocks is None):
            raise ValueError("must give exactly one of free_fraction and free_blocks")
        if self.idle is not None and self.background_fraction is not None:
            raise ValueError("gives both background_fraction and idle; leave one of them out")
        if self.grain == GcGrain.ROUND and (self.idle is not None or self.preemptible):
            raise ValueError("has grain round, which knows neither idle nor preemptible; leave them out")
        if self.grain == GcGrain.ROUND and self.background_fraction is None:
            raise ValueError("has grain round, which is of background_fraction; give that or leave it out")
        for barrier, threshold, unit in (
            (self.barrier_fraction, self.free_fraction, "fraction"),
            (self.barrier_blocks, self.free_blocks, "blocks"),
        ):
            if barrier is None:
                continue
            if threshold is None:
                raise ValueError(f"gives barrier_{unit} without the threshold free_{unit}")
            if barrier < threshold:
                raise ValueError(f"barrier_{unit} = {barrier} must not be below free_{unit} = {threshold}")
        return self

    def with_changes(self, changes: dict[str, Any]) -> dict[str, Any]:
        """Return the fields with other values.

        A new threshold comes with its own unit and barrier, an idle rule without a share, and a share without
        an idle rule.
        """
        fields = self.model_dump(exclude_unset=True)
        if "idle" in changes or "background_fraction" in changes:
            for name in ("idle", "background_fraction"):
                fields.pop(name, None)
        if "free_blocks" in changes or "free_fraction" in changes:
            for name in ("free_blocks", "free_fraction", "barrier_blocks", "barrier_fraction"):
                fields.pop(name, None)
        return {**fields, **changes}
