"""A scale network as a placement that also notes what it sees of every page that it places."""

from __future__ import annotations

import numpy as np

from ssdgym.agents.compiled.network import (
    MAX_FEATURES,
    NETWORK,
    constants_of,
    scratch_features,
    scratch_units,
)
from ssdgym.agents.compiled.packing import CompiledNetwork
from ssdgym.agents.compiled.scales import action_of, read_page
from ssdgym.engine.decisions import constants_at

#: Decisions that are noted; later ones are not.
ROOM = 1 << 16
#: A network, and behind it what was seen.
RECORDER = np.dtype(
    [
        *((name, NETWORK[name]) for name in NETWORK.names or ()),
        ("used", "i8"),
        ("clock", "i8", (ROOM,)),  # host pages before the decision
        ("lpn", "i4", (ROOM,)),
        ("head", "i1", (ROOM,)),
        ("written", "i1", (ROOM,)),  # whether by the host
        ("seen", "f4", (ROOM * MAX_FEATURES,)),  # features, centred and scaled, one decision after another
    ],
    align=True,
)
_recorder_of = constants_at(RECORDER)


class RecordingNetwork(CompiledNetwork):
    """The network of a placement that notes what it sees."""

    dtype = RECORDER


def place_and_note(view, plane, lpn, source, parameters):
    """Put a page into the stream that the network has for it, and note what was seen of it."""
    network, recorder = constants_of(parameters)[0], _recorder_of(parameters)[0]
    features, units, others = scratch_features(), scratch_units(), scratch_units()
    head = read_page(network, view, plane, lpn, source, features)
    used = recorder.used
    if used < ROOM:
        recorder.clock[used] = view.control[0].clock
        recorder.lpn[used] = lpn
        recorder.head[used] = head
        recorder.written[used] = source < 0
        for k in range(network.entries):
            recorder.seen[used * network.entries + k] = features[k]
        recorder.used = used + 1
    return action_of(network, features, head, units, others)
