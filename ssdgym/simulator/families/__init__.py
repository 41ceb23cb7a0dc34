"""What the simulator has for an FTL family: how its devices are built, checked and measured.

A family has a model of its configuration (`ssdgym.config.ftl.register_ftl`), arrays and operations in the
engine, and a builder between the two, which is registered here; all three go by one `mapping`.
"""

from ssdgym.simulator.families.base import (
    FREE,
    INVALID,
    VALID,
    FamilyBuilder,
    PageMap,
    family_of,
    family_of_state,
    mappings_that_ask,
    register_family,
)

__all__ = [
    "FREE",
    "INVALID",
    "VALID",
    "FamilyBuilder",
    "PageMap",
    "family_of",
    "family_of_state",
    "mappings_that_ask",
    "register_family",
]
