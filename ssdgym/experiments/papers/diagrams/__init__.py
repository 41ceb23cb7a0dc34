"""The kinds of diagrams that a panel of a figure can be: each is one class in one of these modules.

A new kind is a subclass of `Diagram` in a module of this package; a panel names it in its field `diagram`.
"""

import importlib
import pkgutil

from ssdgym.experiments.papers.diagrams.base import DIAGRAM_KINDS

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")

__all__ = ["DIAGRAM_KINDS"]
