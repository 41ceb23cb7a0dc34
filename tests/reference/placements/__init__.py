"""Placements that are rules, written from their definitions, one file each."""

from .base import Placement
from .dac import Dac
from .dogi import Dogi
from .eti import Eti
from .fadac import Fadac
from .hints import Hints, HintsIsolated
from .mida import Mida
from .mida_hot import MidaHot
from .midas import Midas
from .multi_log import MultiLog
from .oracles import OracleGc, OracleHost, OracleK, OracleRate
from .sepbit import SepBit
from .sepbit_fifo import SepBitFifo
from .sfs import Sfs
from .td_lifetime import TdLifetime
from .warcip import Warcip

#: By name.
PLACEMENTS: dict[str, type[Placement]] = {
    "dac": Dac,
    "dogi": Dogi,
    "eti": Eti,
    "fadac": Fadac,
    "hints": Hints,
    "hints_isolated": HintsIsolated,
    "mida": Mida,
    "mida_hot": MidaHot,
    "midas": Midas,
    "multi_log": MultiLog,
    "oracle_gc": OracleGc,
    "oracle_host": OracleHost,
    "oracle_k": OracleK,
    "oracle_rate": OracleRate,
    "sepbit": SepBit,
    "sepbit_fifo": SepBitFifo,
    "sfs": Sfs,
    "td_lifetime": TdLifetime,
    "warcip": Warcip,
}

__all__ = ["PLACEMENTS", "Placement"]
