"""The old home of `ssdgym.experiments.analysis.comparison`."""

from ssdgym.deprecation import old_names

__getattr__ = old_names(
    __name__,
    {
        name: f"ssdgym.experiments.analysis.comparison.{name}"
        for name in ("advantage", "best_heuristic", "verdict")
    },
)
