"""Heuristic policies, classic and of papers, one small file per source; importing this registers them."""

import importlib
import pkgutil

for _module in pkgutil.walk_packages(__path__, f"{__name__}."):
    importlib.import_module(_module.name)
