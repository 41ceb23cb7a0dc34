"""Model of workloads of small and synchronous writes."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, NonNegativeInt, model_validator

from ssdgym.config.generated import RegionConfig, Share, Weight, as_size_weights
from ssdgym.config.notes import NotedConfig

_Bytes = Annotated[int, Field(ge=1, le=1 << 30)]
ByteWeights = Annotated[dict[_Bytes, Weight], Field(min_length=1), BeforeValidator(as_size_weights)]


class SmallWritesConfig(RegionConfig, NotedConfig):
    """Writes smaller than a flash page mixed with large ones (Kim et al., DAC 2017, sections 2 and 5).

    Sizes and addresses are in bytes and do not depend on the page size of the device; where they cover
    its pages in part, the requests say so. Both kinds of request follow Zipf's law, the small ones over
    the subpages of their part of the footprint, the large ones over all its full pages. Reads are sized
    and placed as the writes are. A request that reaches over the end of the footprint is split there and
    goes on at its start.
    """

    kind: Literal["small_writes"] = "small_writes"
    r_small: Share = Field(description="Share of the requests that are small: smaller than a full page.")
    r_synch: Share = Field(description="Share of the small writes that are synchronous.")
    full_page_bytes: int = Field(16384, ge=2, le=1 << 30, description="Size of a full page in bytes.")
    subpage_bytes: int = Field(
        4096, ge=1, le=1 << 30, description="All addresses and sizes are multiples of so many bytes."
    )
    small_bytes: ByteWeights = Field(
        {4096: 1.0}, description="Bytes per small request: a number, or a mapping of bytes to weights."
    )
    large_bytes: ByteWeights = Field(
        {16384: 1.0}, description="Bytes per large request: a number, or a mapping of bytes to weights."
    )
    aligned_fraction: Share = Field(
        1.0,
        description="Share of the large requests that start with a full page; the others start at any other"
        " subpage, each as likely.",
    )
    small_footprint: float = Field(
        1.0, gt=0, le=1, description="Share of the footprint, from its start, that small requests go to."
    )
    theta: float = Field(0.99, ge=0, le=10, description="Exponent of Zipf's law; 0 is uniform.")
    layout_seed: NonNegativeInt = Field(
        0, description="Seed by which the ranks are spread over the footprint; no part of the stream's seed."
    )

    @model_validator(mode="after")
    def _sizes_fit(self) -> SmallWritesConfig:
        if self.full_page_bytes % self.subpage_bytes or self.full_page_bytes == self.subpage_bytes:
            raise ValueError(
                f"needs full_page_bytes ({self.full_page_bytes}) to be several times subpage_bytes"
                f" ({self.subpage_bytes})"
            )
        for name in ("small_bytes", "large_bytes"):
            for size in getattr(self, name):
                if size % self.subpage_bytes:
                    raise ValueError(
                        f"needs {name} to be multiples of subpage_bytes ({self.subpage_bytes}), not {size}"
                    )
        if max(self.small_bytes) >= self.full_page_bytes:
            raise ValueError(f"needs small_bytes to be below full_page_bytes, not {max(self.small_bytes)}")
        if min(self.large_bytes) < self.full_page_bytes:
            raise ValueError(f"needs large_bytes to be at least full_page_bytes, not {min(self.large_bytes)}")
        return self
