"""Features of observations: numbers by name, each computed by a registered function.

A feature of one's own is a function with a decorator, in any module that is imported. An environment observes
it where its argument `features` names the function. Packages of features are found by the entry point group
`ssdgym.features`.
"""

import ssdgym.envs.features.candidates
import ssdgym.envs.features.context
import ssdgym.envs.features.idle
import ssdgym.envs.features.merges
import ssdgym.envs.features.pages
import ssdgym.envs.features.regions
import ssdgym.envs.features.streams  # noqa: F401 - these register the features of ssdgym
from ssdgym.envs.features.registry import (
    ENTRY_POINT_GROUP,
    Setting,
    feature,
    registered_features,
)
from ssdgym.envs.features.selection import PROPOSED_BY, Features, Selection, select

__all__ = [
    "ENTRY_POINT_GROUP",
    "PROPOSED_BY",
    "Features",
    "Selection",
    "Setting",
    "feature",
    "registered_features",
    "select",
]
