"""Tell Gymnasium which environments there are, without importing them.

``import ssdgym`` does it, in every process: a worker that unpickles anything of ssdgym has the environments
registered.
"""

from __future__ import annotations

from gymnasium.envs.registration import register, registry

#: Id -> module and the names of the single and the vector class in it.
ENVIRONMENTS = {
    "ssdgym/EraseVictim-v0": ("ssdgym.envs.erase_victim", "EraseVictimEnv", "EraseVictimVectorEnv"),
    "ssdgym/ParallelErase-v0": ("ssdgym.envs.parallel_erase", "ParallelEraseEnv", "ParallelEraseVectorEnv"),
}


def register_environments() -> None:
    """Register what is not registered yet."""
    for env_id, (module, single, vector) in ENVIRONMENTS.items():
        if env_id not in registry:
            register(id=env_id, entry_point=f"{module}:{single}", vector_entry_point=f"{module}:{vector}")
