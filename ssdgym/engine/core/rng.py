"""Random numbers by counter: a draw is a pure function, so nothing has to be advanced or saved.

`mix` is the finaliser of splitmix64 (Steele, Lea, Flood 2014).
"""

from __future__ import annotations

import numpy as np

from ssdgym.engine.core.kernel import inlined

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_C1, _C2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_S27, _S30, _S31, _S32 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(32)
_ONE = np.uint64(1)

#: Who draws: every consumer has a stream of its own.
POLICY_STREAM, PROPOSAL_STREAM, HOST_PLACEMENT_STREAM, RELOCATION_STREAM, IDLE_STREAM = 1, 2, 4, 5, 7
#: Draws set apart for one uniform choice: tries that may fail, and the start of a scan if all do.
DRAWS_PER_CHOICE = 65


@inlined
def mix(z):
    """Turn 64 bits into 64 well-mixed bits, as the finaliser of splitmix64 does."""
    z = (z ^ (z >> _S30)) * _C1
    z = (z ^ (z >> _S27)) * _C2
    return z ^ (z >> _S31)


@inlined
def draw(seed, stream, decision, k):
    """Return 64 random bits: draw `k` of `decision` in `stream` of a device seeded with `seed`."""
    z = mix(np.uint64(seed) + (np.uint64(stream) + _ONE) * GOLDEN)
    z = mix(z + (np.uint64(decision) + _ONE) * GOLDEN)
    return mix(z + (np.uint64(k) + _ONE) * GOLDEN)


@inlined
def below(bits, n):
    """Map 64 random bits to 0 .. n-1 (n < 2**32) by multiplication, not by remainder."""
    return np.int64(((bits >> _S32) * np.uint64(n)) >> _S32)
