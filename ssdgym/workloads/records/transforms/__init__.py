"""Transforms: changes to records before they are played, each with its model."""

from ssdgym.workloads.records.transforms.chain import (
    AnyTransformConfig,
    TransformConfig,
    Transformed,
    parse_transform,
)
from ssdgym.workloads.records.transforms.kinds import HeadConfig, OnlyConfig
from ssdgym.workloads.records.transforms.scale_space import ScaleSpaceConfig

__all__ = [
    "AnyTransformConfig",
    "HeadConfig",
    "OnlyConfig",
    "ScaleSpaceConfig",
    "TransformConfig",
    "Transformed",
    "parse_transform",
]
