"""ssdgym: a compiled SSD and flash-translation-layer simulator, wrapped as Gymnasium environments."""

__version__ = "0.1.0"
