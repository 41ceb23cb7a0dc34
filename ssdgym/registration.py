"""Register the environments with Gymnasium, without importing them.

`import ssdgym` registers them in every process, also in a worker that only unpickles an object of ssdgym.
"""

from __future__ import annotations

from importlib import resources
from typing import Any

import yaml
from gymnasium.envs.registration import register, registry

#: Modules of `ssdgym.envs` by id; `Placement-v0` has the classes `PlacementEnv` and `PlacementVectorEnv`.
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


def tasks() -> dict[str, dict[str, Any]]:
    """Return the tasks of papers by id: the `environment` of each task and the environment's arguments."""
    read: dict[str, dict[str, Any]] = yaml.safe_load(
        resources.files("ssdgym.configs").joinpath("tasks.yaml").read_bytes()
    )
    return read


def registered_id(environment: type) -> str | None:
    """Return the first id under which an environment class is registered; None if there is none."""
    place = f"{environment.__module__}:{environment.__name__}"
    return next((name for name, spec in registry.items() if spec.entry_point in (place, environment)), None)


def register_environments() -> None:
    """Register environments that are not registered yet."""
    for name, arguments in ({name: {"environment": name} for name in ENVIRONMENTS} | tasks()).items():
        environment = arguments.pop("environment")
        if f"ssdgym/{name}" not in registry:
            classes = f"ssdgym.envs.{ENVIRONMENTS[environment]}:{environment.partition('-')[0]}"
            register(
                f"ssdgym/{name}",
                f"{classes}Env",
                vector_entry_point=f"{classes}VectorEnv",
                kwargs=arguments,
            )
