"""The devices, workloads and other settings that come with ssdgym: YAML, one file per thing."""
