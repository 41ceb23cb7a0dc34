"""Gymnasium environments; ``import ssdgym`` registers them."""

from ssdgym.envs.erase_victim import EraseVictimEnv, EraseVictimVectorEnv

__all__ = ["EraseVictimEnv", "EraseVictimVectorEnv"]
