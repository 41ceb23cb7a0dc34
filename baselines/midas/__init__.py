"""MiDAS and its hot filter: placements, and what is computed between two steps of the engine."""

import importlib
import pkgutil

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")
