"""Heuristic rules, classic and from papers, one module per source; importing the package registers them."""

import importlib
import pkgutil

for _module in pkgutil.walk_packages(__path__, f"{__name__}."):
    importlib.import_module(_module.name)
