"""Placements that are rules, written from their definitions, one file each."""

from .base import Placement
from .dac import Dac
from .dogi import Dogi
from .fadac import Fadac
from .hints import Hints, HintsIsolated
from .mida import Mida
from .mida_hot import MidaHot
from .midas import Midas
from .oracles import OracleGc, OracleHost, OracleK, OracleRate
from .sepbit import SepBit
from .sepbit_fifo import SepBitFifo
from .sfs import Sfs

#: By name.
PLACEMENTS: dict[str, type[Placement]] = {
    "dac": Dac,
    "dogi": Dogi,
    "fadac": Fadac,
    "hints": Hints,
    "hints_isolated": HintsIsolated,
    "mida": Mida,
    "mida_hot": MidaHot,
    "midas": Midas,
    "oracle_gc": OracleGc,
    "oracle_host": OracleHost,
    "oracle_k": OracleK,
    "oracle_rate": OracleRate,
    "sepbit": SepBit,
    "sepbit_fifo": SepBitFifo,
    "sfs": Sfs,
}

__all__ = ["PLACEMENTS", "Placement"]
