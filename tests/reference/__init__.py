"""A slow, plain-Python simulator of the device in docs/engine.md: what the compiled engine is held against.

It shares no code with the engine. Whatever can be derived is derived by scanning, on every call.
"""

from .config import ReferenceConfig
from .loop import FLUSH, PARTIAL_HEAD, PARTIAL_TAIL, READ, TRIM, WRITE
from .page.device import Device
from .page.simulator import Reference
from .rounds import IllegalEraseSet

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
