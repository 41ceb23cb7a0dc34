"""Seeds as text."""

from __future__ import annotations

#: Seeds are kept in files as 64-bit integers.
LAST_SEED = 2**63 - 1
#: Largest range; a larger one is a typing error.
MOST_SEEDS = 1_000_000


def read_seeds(text: str) -> tuple[int, ...]:
    """Return the seeds written as `5`, `1,2,9` or as a range `100-109` with both ends.

    Raises:
        ValueError: the text is none of these, a range is too long, or a seed is named twice.
    """
    seeds: list[int] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            raise ValueError("write seeds as 5, as 1,2,9 or as a range 100-109")
        low, high = int(first), int(last if dash else first)
        if not low <= high <= LAST_SEED or high - low >= MOST_SEEDS:
            raise ValueError(f"ranges from low to high have at most {MOST_SEEDS} seeds up to 2**63 - 1")
        seeds += range(low, high + 1)
    if len(set(seeds)) < len(seeds):
        raise ValueError("name every seed once")
    return tuple(seeds)
