"""Models of the configurations of devices and FTLs, and functions that read configurations."""
