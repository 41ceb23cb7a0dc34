"""A slow, plain-Python simulator of the device in docs/engine.md: what the compiled engine is held against.

It shares no code with the engine. Whatever can be derived is derived by scanning, on every call.
"""

from .config import ReferenceConfig
from .device import Device
from .loop import FLUSH, PARTIAL_HEAD, PARTIAL_TAIL, READ, TRIM, WRITE
from .rounds import IllegalEraseSet
from .simulator import Reference

__all__ = [
    "FLUSH",
    "PARTIAL_HEAD",
    "PARTIAL_TAIL",
    "READ",
    "TRIM",
    "WRITE",
    "Device",
    "IllegalEraseSet",
    "Reference",
    "ReferenceConfig",
]
