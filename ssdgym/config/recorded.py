"""Models of workloads that are records of requests: traces, and what stands in for them."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field, NonNegativeInt, PositiveInt

from ssdgym.config.loading import Config
from ssdgym.config.transforms import AnyTransformConfig

FormatName = Literal[
    "auto",
    "alibaba",
    "blkparse",
    "cloudphysics",
    "disksim",
    "fio_v2",
    "fio_v3",
    "mqsim",
    "msr",
    "msr_no_size",
    "spc",
    "ssdsim",
    "systor17",
    "tencent",
    "vscsi",
]


class PlayedConfig(Config):
    """How records are played on a device: first the transforms in order, then pages, then loops."""

    transforms: tuple[AnyTransformConfig, ...] = Field(
        (), description="Changes to the requests, in this order."
    )
    loops: PositiveInt | None = Field(1, description="How often the requests are played; null: for ever.")
    addresses: Literal["compact", "fold"] = Field(
        "compact",
        description="compact: the pages touched are numbered 0..n-1 in address order;"
        " fold: page numbers are taken modulo the logical pages of the device. Volumes lie one after"
        " the other.",
    )


class TraceConfig(PlayedConfig):
    """A recorded trace, replayed in file order."""

    kind: Literal["trace"] = "trace"
    path: Path = Field(
        description="The file, plain or packed (gz, bz2, xz, zst); a relative path is looked for in the"
        " folder that the environment variable SSDGYM_TRACES names, too."
    )
    format: FormatName = Field("auto", description="Format of the file; auto: recognised from its content.")
    skip_bad: NonNegativeInt = Field(0, description="Bad lines that are left out before giving up.")
