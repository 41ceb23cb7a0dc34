"""Placements that are rules, written from their definitions."""

from .base import Placement
from .heat import Fadac, Sfs
from .levels import Dac, Hints, HintsIsolated, Mida, MidaHot, MultiLog
from .lives import OracleK, OracleRate, SepBit
from .midas import Midas
from .td_lifetime import TdLifetime

#: By name.
PLACEMENTS: dict[str, type[Placement]] = {
    "dac": Dac,
    "fadac": Fadac,
    "hints": Hints,
    "hints_isolated": HintsIsolated,
    "mida": Mida,
    "mida_hot": MidaHot,
    "midas": Midas,
    "multi_log": MultiLog,
    "oracle_k": OracleK,
    "oracle_rate": OracleRate,
    "sepbit": SepBit,
    "sfs": Sfs,
    "td_lifetime": TdLifetime,
}

__all__ = ["PLACEMENTS", "Placement"]
