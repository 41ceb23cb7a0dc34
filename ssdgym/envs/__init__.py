"""Gymnasium environments; `import ssdgym` registers them."""

from ssdgym.garbage import uncollected

with uncollected():
    from ssdgym.envs.background_gc import BackgroundGCEnv, BackgroundGCVectorEnv
    from ssdgym.envs.decision_env import DecisionEnv
    from ssdgym.envs.decisions import EraseDecision, Options
    from ssdgym.envs.erase_victim import (
        EraseVictimEnv,
        EraseVictimVectorEnv,
        ParallelEraseEnv,
        ParallelEraseVectorEnv,
    )
    from ssdgym.envs.joint_gc import JointGCEnv, JointGCVectorEnv
    from ssdgym.envs.merge_plan import MergePlanEnv, MergePlanVectorEnv
    from ssdgym.envs.placement import PlacementEnv, PlacementVectorEnv
    from ssdgym.envs.subpage_region import SubpageRegionEnv, SubpageRegionVectorEnv
    from ssdgym.envs.vector import DecisionVectorEnv, vectorized
    from ssdgym.envs.wear import WearLevelEnv, WearLevelVectorEnv

__all__ = [
    "BackgroundGCEnv",
    "BackgroundGCVectorEnv",
    "DecisionEnv",
    "DecisionVectorEnv",
    "EraseDecision",
    "EraseVictimEnv",
    "EraseVictimVectorEnv",
    "JointGCEnv",
    "JointGCVectorEnv",
    "MergePlanEnv",
    "MergePlanVectorEnv",
    "Options",
    "ParallelEraseEnv",
    "ParallelEraseVectorEnv",
    "PlacementEnv",
    "PlacementVectorEnv",
    "SubpageRegionEnv",
    "SubpageRegionVectorEnv",
    "WearLevelEnv",
    "WearLevelVectorEnv",
    "vectorized",
]
