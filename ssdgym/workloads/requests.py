"""The old home of `ssdgym.requests`."""

from ssdgym import requests
from ssdgym.deprecation import old_names

__getattr__ = old_names(
    __name__, {name: f"ssdgym.requests.{name}" for name in vars(requests) if name[0].isupper()}
)
