"""What a device and its decision look like: a scene, and what draws one."""
