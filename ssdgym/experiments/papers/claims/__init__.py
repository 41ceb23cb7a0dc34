"""The kinds of claims that papers make about figures: each is one class in one of these modules.

A new kind is a class with a field `kind` in a module of this package; importing the package registers it.
"""

from __future__ import annotations

import functools
import importlib
import operator
import pkgutil
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from ssdgym.experiments.papers.claims.base import CLAIM_KINDS, Claim

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")

if TYPE_CHECKING:
    AnyClaim = Claim
else:
    #: A claim of any kind, as YAML files give it.
    AnyClaim = Annotated[functools.reduce(operator.or_, CLAIM_KINDS), Field(discriminator="kind")]
