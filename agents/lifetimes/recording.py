"""What a placement sees of each page that it places, and how long the data of the page then lives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ssdgym.agents.compiled.recording import ROOM, RecordingNetwork
from ssdgym.simulator import Simulator
from ssdgym.simulator.future import BEYOND, check_order, deaths_after


@dataclass(frozen=True)
class Lifetimes:
    """Pages that were placed, P of them.

    Attributes:
        features: float32 (P, G), centred and scaled as the network sees them.
        heads: int64 (P,), of the network: which decides.
        lives: float32 (P,), log4 of the host pages until the data dies, in tenths of the logical pages.
    """

    features: np.ndarray
    heads: np.ndarray
    lives: np.ndarray

    def sample(self, count: int, rng: np.random.Generator) -> Lifetimes:
        """Return some of the pages, drawn without repeats; all if there are fewer.

        Args:
            count: how many.
            rng: draws them.
        """
        kept = rng.permutation(len(self.lives))[:count]
        return Lifetimes(self.features[kept], self.heads[kept], self.lives[kept])

    @staticmethod
    def joined(parts: Sequence[Lifetimes]) -> Lifetimes:
        """Return the pages of all parts.

        Args:
            parts: at least one.
        """
        names = ("features", "heads", "lives")
        return Lifetimes(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def record_lifetimes(
    simulator: Simulator, network: RecordingNetwork, requests: np.ndarray, host_pages: int, warmup: int
) -> Lifetimes:
    """Run a policy whose placement notes what it sees, and say of each page how long its data lives.

    Args:
        simulator: at the beginning of the requests.
        network: of its placement.
        requests: array of REQUEST, which go on for `BEYOND` times the logical pages behind the run.
        host_pages: of the run.
        warmup: host pages before that, of which nothing is noted.

    Returns:
        The first pages that are placed behind the warm-up, `ROOM` of them at most.

    Raises:
        SsdgymError: pages are not placed in the order of the requests.
    """
    check_order(simulator.device, "a record of lifetimes")
    (record,) = network.records
    begin = int(simulator.arrays.control["clock"][0, 0])
    chunks = iter([requests])
    record["used"] = ROOM
    if warmup:
        simulator.proceed(chunks, warmup)
    record["used"] = 0
    simulator.proceed(chunks, host_pages)
    used, entries = int(record["used"]), int(record["entries"])
    seen = record["seen"][: used * entries].reshape(used, entries).copy()
    lpn, clock, written = record["lpn"][:used], record["clock"][:used], record["written"][:used] != 0
    deaths = deaths_after([requests], begin, lpn.astype(np.int64), clock, written)
    pages = simulator.logical_pages
    lives = np.clip(deaths - clock, 1, BEYOND * pages)
    return Lifetimes(
        seen, record["head"][:used].astype(np.int64), (np.log2(10.0 * lives / pages) / 2.0).astype(np.float32)
    )
