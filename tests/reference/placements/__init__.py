"""Placements that are rules, written from their definitions."""

from .base import Placement
from .dogi import Dogi
from .heat import Eti, Fadac, Sfs, Warcip
from .levels import Dac, Hints, HintsIsolated, Mida, MidaHot, MultiLog
from .lives import OracleGc, OracleHost, OracleK, OracleRate, SepBit, SepBitFifo
from .midas import Midas
from .td_lifetime import TdLifetime

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
