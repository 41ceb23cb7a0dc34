"""ssdgym: a compiled SSD and flash-translation-layer simulator, wrapped as Gymnasium environments."""

from ssdgym.registration import register_environments

__version__ = "0.2.0"

register_environments()
