"""Gymnasium environments; importing this package registers them.

Spawned workers need no extra care: the registration names modules, which a worker imports with ``ssdgym.envs``.
"""

from gymnasium.envs.registration import register, registry

from ssdgym.envs.erase_victim import EraseVictimEnv, EraseVictimVectorEnv

__all__ = ["EraseVictimEnv", "EraseVictimVectorEnv"]

if "ssdgym/EraseVictim-v0" not in registry:
    register(
        id="ssdgym/EraseVictim-v0",
        entry_point="ssdgym.envs.erase_victim:EraseVictimEnv",
        vector_entry_point="ssdgym.envs.erase_victim:EraseVictimVectorEnv",
    )
