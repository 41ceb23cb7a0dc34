"""Register the environments with Gymnasium, without importing them.

`import ssdgym` does it, in every process: a worker that unpickles anything of ssdgym has the environments
registered.
"""

from __future__ import annotations

from gymnasium.envs.registration import register, registry

#: Id -> module of `ssdgym.envs`; its classes have the name of the id with `Env` and `VectorEnv`.
ENVIRONMENTS = {
    "EraseVictim-v0": "erase_victim",
    "ParallelErase-v0": "erase_victim",
    "Placement-v0": "placement",
    "JointGC-v0": "joint_gc",
    "BackgroundGC-v0": "background_gc",
    "SubpageRegion-v0": "subpage_region",
    "MergePlan-v0": "merge_plan",
    "WearLevel-v0": "wear",
}


def register_environments() -> None:
    """Register what is not registered yet."""
    for name, module in ENVIRONMENTS.items():
        if f"ssdgym/{name}" not in registry:
            classes = f"ssdgym.envs.{module}:{name.partition('-')[0]}"
            register(f"ssdgym/{name}", f"{classes}Env", vector_entry_point=f"{classes}VectorEnv")
