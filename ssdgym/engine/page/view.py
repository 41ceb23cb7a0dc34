"""The old home of `ssdgym.engine.view`."""

from ssdgym.deprecation import old_names

__getattr__ = old_names(
    __name__,
    {name: f"ssdgym.engine.view.{name}" for name in ("PolicyView", "VIEW_TYPE", "view_arrays", "whole_view")},
)
