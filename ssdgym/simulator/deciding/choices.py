"""Erase sets that callers choose, as the engine reads them."""

from __future__ import annotations

import numpy as np

from ssdgym.config.checks import is_whole
from ssdgym.engine.core.records import ERASE_PAIR, MAX_PAIRS
from ssdgym.engine.core.status import ILLEGAL_BLOCK, ILLEGAL_MASK, ILLEGAL_PAIRS, OK
from ssdgym.errors import SsdgymError


def erase_choice(
    block: int | list[tuple[int, int]], mask: int | None, sub_blocks_per_block: int
) -> tuple[np.ndarray, int]:
    """Return an erase set for the engine.

    Args:
        block: the block to erase, or a list of pairs (block, bit mask of its sub-blocks).
        mask: of a single block, the sub-blocks to erase; None: all.
        sub_blocks_per_block: of the device.

    Returns:
        The set, shape (MAX_PAIRS,) of ERASE_PAIR, ended by a pair without a mask; and OK, or what is wrong.

    Raises:
        SsdgymError: a list comes with a mask.
    """
    if isinstance(block, list) and mask is not None:
        raise SsdgymError("apply takes a mask with a single block only; give each pair of the list its own.")
    whole = (1 << sub_blocks_per_block) - 1
    pairs = block if isinstance(block, list) else [(block, whole if mask is None else mask)]
    choice = np.zeros(MAX_PAIRS, ERASE_PAIR)
    if not 1 <= len(pairs) <= MAX_PAIRS or not all(isinstance(p, tuple) and len(p) == 2 for p in pairs):
        return choice, ILLEGAL_PAIRS
    for k, (number, chosen) in enumerate(pairs):
        if not is_whole(chosen) or not 1 <= chosen <= whole:
            return choice, ILLEGAL_MASK
        if not is_whole(number) or not -(2**31) <= number < 2**31:
            return choice, ILLEGAL_BLOCK
        choice[k]["block"], choice[k]["mask"] = number, chosen
    return choice, OK
