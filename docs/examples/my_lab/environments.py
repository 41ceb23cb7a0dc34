"""Register the environments of the package on import."""

from gymnasium.envs.registration import register

register(
    "my_lab/GentleErase-v0",
    "my_lab.gentle_erase:GentleEraseEnv",
    vector_entry_point="my_lab.gentle_erase:GentleEraseVectorEnv",
)
