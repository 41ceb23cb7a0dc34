"""Placements that are rules, written from their definitions, one file each."""

from .base import Placement
from .dac import Dac
from .mida import Mida
from .mida_hot import MidaHot
from .sepbit import SepBit
from .sepbit_fifo import SepBitFifo
from .sfs import Sfs

#: By name.
PLACEMENTS: dict[str, type[Placement]] = {
    "dac": Dac,
    "mida": Mida,
    "mida_hot": MidaHot,
    "sepbit": SepBit,
    "sepbit_fifo": SepBitFifo,
    "sfs": Sfs,
}

__all__ = ["PLACEMENTS", "Placement"]
