"""Features of observations: numbers by name, each computed by a registered function.

To add a feature, write a function with the decorator `feature` in a module, and import the module. An
environment observes the feature if its argument `features` contains the name of the function. Installed
packages register features through the entry point group `ssdgym.features`.
"""

import ssdgym.envs.features.candidates
import ssdgym.envs.features.context
import ssdgym.envs.features.idle
import ssdgym.envs.features.merges
import ssdgym.envs.features.pages
import ssdgym.envs.features.regions
import ssdgym.envs.features.streams  # noqa: F401 - these register the features of ssdgym
from ssdgym.envs.features.registry import Setting, feature, registered_features
from ssdgym.envs.features.selection import PROPOSED_BY, Features, Selection, select

__all__ = ["PROPOSED_BY", "Features", "Selection", "Setting", "feature", "registered_features", "select"]
