"""Names of operations in trace formats."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from ssdgym.requests import FLUSH, READ, TRIM, WRITE
from ssdgym.workloads.traces.parsing.lines import UNKNOWN_OP

READ_WRITE = {"read": READ, "write": WRITE}
R_W = {"r": READ, "w": WRITE}
ZERO_READS = {"0": READ, "1": WRITE}
ZERO_WRITES = {"0": WRITE, "1": READ}

#: SCSI operation codes (SBC-3): READ, WRITE, WRITE AND VERIFY with 6 to 16 bytes, UNMAP, SYNCHRONIZE CACHE.
SCSI = {
    **dict.fromkeys((0x08, 0x28, 0xA8, 0x88), READ),
    **dict.fromkeys((0x0A, 0x2A, 0xAA, 0x8A, 0x2E, 0xAE, 0x8E), WRITE),
    0x42: TRIM,
    **dict.fromkeys((0x35, 0x91), FLUSH),
}
#: The code that each operation is written as.
SCSI_CODES = {READ: 0x28, WRITE: 0x2A, TRIM: 0x42, FLUSH: 0x35}


def named(names: Mapping[str, int]) -> Callable[[str], int]:
    """Return what looks an operation up by its name."""
    return lambda text: names.get(text, UNKNOWN_OP)


def scsi_op(text: str) -> int:
    """Return the operation of a SCSI code in hexadecimal."""
    digits = re.fullmatch("(?:0x)?([0-9a-f]+)", text)
    return UNKNOWN_OP if digits is None else SCSI.get(int(digits[1], 16), UNKNOWN_OP)


def flag_op(text: str) -> int:
    """Return the operation of a whole number whose lowest bit is set for reads."""
    digits = re.fullmatch("(-?)0*([0-9]{1,19})", text)
    if digits is None or not -(2**63) <= int(digits[1] + digits[2]) < 2**63:
        return UNKNOWN_OP
    return READ if int(digits[2]) % 2 else WRITE
