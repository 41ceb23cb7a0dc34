"""Draws that are pure functions of their place, section Randomness of docs/engine.md."""

from __future__ import annotations

#: Who draws.
POLICY_STREAM, HOST_STREAM, RELOCATION_STREAM = 1, 4, 5
#: Draws that are tried before the candidates are searched from one more draw upwards.
TRIES = 64

WORD = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15


def mix(z: int) -> int:
    """The finaliser of splitmix64 (Vigna, https://prng.di.unimi.it/splitmix64.c)."""
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & WORD
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & WORD
    return z ^ (z >> 31)


def draw(seed: int, stream: int, decision: int, k: int) -> int:
    """Draw `k` of a decision: 64 random bits."""
    z = seed
    for word in (stream, decision, k):
        z = mix((z + (word + 1) * GOLDEN) & WORD)
    return z


def below(n: int, z: int) -> int:
    """A number in 0..n-1 from the upper half of the draw `z`."""
    return ((z >> 32) * n) >> 32
