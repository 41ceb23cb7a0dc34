"""The old home of `RunSpec`, once `Cell`, and of `run_all`, once `evaluate`."""

from __future__ import annotations

from typing import Any

from ssdgym.deprecation import old_names, warn_renamed
from ssdgym.experiments.runs.run_spec import RunSpec

__getattr__ = old_names(__name__, {"evaluate": "ssdgym.experiments.runs.evaluate.run_all"})


def Cell(*arguments: Any, **fields: Any) -> RunSpec:
    """Return a `RunSpec`; its `warmup` was called `settle`."""
    warn_renamed(f"{__name__}.Cell", f"{RunSpec.__module__}.RunSpec")
    if "settle" in fields:
        fields["warmup"] = fields.pop("settle")
    return RunSpec(*arguments, **fields)
