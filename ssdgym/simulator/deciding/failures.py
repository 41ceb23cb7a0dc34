"""Why the engine refused or gave up, in words."""

from __future__ import annotations

import numpy as np

from ssdgym.config.device import DeviceConfig
from ssdgym.engine.core import status as codes
from ssdgym.engine.core.records import MAX_PAIRS
from ssdgym.engine.decisions import MERGE
from ssdgym.errors import SsdgymError
from ssdgym.simulator.families import family_of

#: By the code that the engine returns.
_REASONS = {
    codes.OUT_OF_SPACE: "is out of space: no free block is left for relocations",
    codes.NO_VICTIM: "needs a victim, and the policy {policy} named no erase set",
    codes.ILLEGAL_BLOCK: "cannot erase this block: it is open, free, or not of the plane that collects "
    "(with multi_plane, or of another plane of its die in which no round runs)",
    codes.ILLEGAL_MASK: "cannot erase this set of sub-blocks: its erase_unit does not allow it",
    codes.NOTHING_TO_GAIN: "would gain nothing: the erase set holds no invalid page, or no more than its "
    "neighbours hold valid ones while pages have to be won",
    codes.ILLEGAL_PAIRS: f"cannot erase these blocks together: give 1 to {MAX_PAIRS} different ones, at "
    "least one of the plane that collects, and with multi_plane strict of other planes only those with the "
    "number of one of its own",
    codes.NO_ROOM_TO_MOVE: "has no room for the valid pages of all these blocks before they are erased; "
    "erase fewer together",
    codes.NO_DECISION: "waits for no decision now; call advance first",
    codes.OUT_OF_TIME: "has come to a time too far in the future to be counted; let requests arrive earlier",
    codes.ILLEGAL_ANSWER: "has no such stream: the placement of {policy} named one outside the device's",
    codes.OUT_OF_ORDER: "has programmed a subpage of a page out of order, which is a fault of ssdgym; please "
    "report it",
    codes.STUCK: "has come to a standstill with requests outstanding, which is a fault of ssdgym; please "
    "report it",
}

#: What an answer that is none means where merges are decided.
_NO_CANDIDATE = (
    "cannot merge by the candidate of {policy}, which does not exist or is not allowed; a merge is chosen by "
    "the number of one that is, without a mask"
)


def failure(status: int, device: DeviceConfig, policy: str, more: str = "") -> SsdgymError:
    """Return the error for a negative code of the engine.

    Args:
        status: the code.
        device: the configuration of the device that failed.
        policy: label of who takes the decisions.
        more: what else is known of it.
    """
    merges = status == codes.ILLEGAL_ANSWER and family_of(device).policy_decision == MERGE
    reason = _NO_CANDIDATE if merges else _REASONS[status]
    return SsdgymError(f"device {device.name} {reason.format(policy=policy)}{more}.")


def chosen_by(policy: str, choice: np.ndarray) -> str:
    """Return what an erase set was that the engine has refused.

    Args:
        policy: that chose it.
        choice: the erase set, shape (MAX_PAIRS,) of ERASE_PAIR; its first pair counts.
    """
    block, mask = int(choice["block"][0]), int(choice["mask"][0])
    return f"; policy {policy} chose block {block} with the sub-blocks {mask:#x}"
