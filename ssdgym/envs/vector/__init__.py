"""Many devices in one compiled call per step, as a vector environment of Gymnasium."""
