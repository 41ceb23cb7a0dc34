"""Gymnasium environments; ``import ssdgym`` registers them."""

from ssdgym.envs.erase_victim import EraseVictimEnv, EraseVictimVectorEnv
from ssdgym.envs.parallel_erase import ParallelEraseEnv, ParallelEraseVectorEnv

__all__ = ["EraseVictimEnv", "EraseVictimVectorEnv", "ParallelEraseEnv", "ParallelEraseVectorEnv"]
