"""Starting the placement of a device that was written under another one."""

from __future__ import annotations

import numpy as np

from ssdgym.engine.blocks.manager import return_open_block
from ssdgym.engine.core.family import State
from ssdgym.engine.core.kernel import entry
from ssdgym.engine.entries import call_on
from ssdgym.engine.speedupgc.adoption import deal_to_groups


@entry
def _adopt(dev):
    params = dev.params[0]
    if params.groups > 0:
        for plane in range(np.int64(params.planes)):
            return_open_block(dev, plane, np.int64(0))
        deal_to_groups(dev)


def adopt_placement(state: State, i: int) -> None:
    """Let the placement of a device start, which was written in stream 0 alone and without block groups.

    Args:
        state: the batch.
        i: number of the device in it.
    """
    call_on(_adopt, state, i)
