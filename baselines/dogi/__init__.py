"""DOGI: a placement that learns how long pages live, its victims, and what is computed between two steps."""

import importlib
import pkgutil

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")
