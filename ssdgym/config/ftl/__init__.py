"""The flash translation layer: what every family has, and the page-mapping family.

A family is identified by its `mapping`. Those of installed code are added by `register_ftl`.
"""

from ssdgym.config.ftl.base import AnyFtl, FtlConfig, MemoryBytes, RuleNeeds, ftl_model, register_ftl
from ssdgym.config.ftl.gc import MAX_DEGREE, GcConfig, HotnessConfig
from ssdgym.config.ftl.page import MOST_STREAMS, STREAMS, SUB_BLOCK_PLACEMENTS, PageFtl

__all__ = [
    "MAX_DEGREE",
    "MOST_STREAMS",
    "STREAMS",
    "SUB_BLOCK_PLACEMENTS",
    "AnyFtl",
    "FtlConfig",
    "GcConfig",
    "HotnessConfig",
    "MemoryBytes",
    "PageFtl",
    "RuleNeeds",
    "ftl_model",
    "register_ftl",
]
