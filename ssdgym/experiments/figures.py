"""The old home of `ssdgym.experiments.report.figures`."""

from ssdgym.deprecation import old_names

__getattr__ = old_names(
    __name__,
    {"write_amplification_figure": "ssdgym.experiments.report.figures.write_amplification_figure"},
)
