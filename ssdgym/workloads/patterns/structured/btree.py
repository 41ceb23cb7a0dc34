"""A B-tree that is updated in place: leaves by popularity, inner nodes now and then, and a journal."""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field, NonNegativeInt, PositiveInt

from ssdgym.requests import WRITE, Requests
from ssdgym.types import IntegerArray
from ssdgym.workloads.base import InnerShare
from ssdgym.workloads.chunks import CHUNK
from ssdgym.workloads.kinds import workload_kind
from ssdgym.workloads.patterns.structured.base import StructuredConfig, requests_of
from ssdgym.workloads.patterns.zipf import scrambled_pages, zipf_distribution

JOURNAL, INNER, LEAF = 0, 1, 2


@workload_kind
class BtreeConfig(StructuredConfig):
    """Updates of a B-tree; hints: 0 the journal, 1 inner nodes, 2 leaves.

    Each update writes its leaf. The journal takes a page with every `commit_updates` of them. A leaf's parent
    is written with one of `fanout` updates, as leaves split or merge.
    """

    kind: Literal["btree"] = "btree"
    theta: float = Field(0.8, ge=0, le=10, description="Exponent of Zipf's law over leaves; 0: uniform.")
    fanout: int = Field(64, ge=2, description="Leaves of an inner node.")
    commit_updates: PositiveInt = Field(4, description="Updates that share a page of the journal.")
    journal: InnerShare = Field(0.02, description="Share of the footprint that the journal goes round in.")
    layout_seed: NonNegativeInt = Field(0, description="Seed of which leaf has which popularity.")

    def least_pages(self) -> int:
        """See `StructuredConfig`."""
        return 4 + int(np.ceil(2 / self.journal))

    def writer(self, pages: int, rng: np.random.Generator) -> BtreeWriter:
        """See `StructuredConfig`."""
        return BtreeWriter(self, pages, rng)


class BtreeWriter:
    """The journal lies at the start of the footprint, then the inner nodes, then the leaves."""

    def __init__(self, config: BtreeConfig, pages: int, rng: np.random.Generator) -> None:
        """Start with an empty journal.

        Args:
            config: the pattern.
            pages: of the footprint.
            rng: draws for it alone.
        """
        self._config, self._rng = config, rng
        self._journal = max(int(config.journal * pages), 1)
        tree = pages - self._journal
        self._inner = max(-(-tree // (config.fanout + 1)), 1)
        self._leaves = tree - self._inner
        self._distribution = zipf_distribution(self._leaves, config.theta)
        self._leaf_of_rank = scrambled_pages(self._leaves, config.layout_seed)
        self._updates = 0

    def batch(self) -> Requests:
        """See `Writer`."""
        config, update = self._config, self._updates + np.arange(CHUNK)
        self._updates += CHUNK
        leaf = self._leaf(CHUNK, self._rng)
        commits = update[update % config.commit_updates == 0]
        splits = self._rng.random(CHUNK) < 1 / config.fanout
        parts = [
            (commits, (commits // config.commit_updates) % self._journal, JOURNAL),
            (update, self._journal + self._inner + leaf, LEAF),
            (update[splits], self._journal + leaf[splits] // config.fanout % self._inner, INNER),
        ]
        when = np.concatenate([part[0] for part in parts])
        requests = np.concatenate([requests_of(WRITE, lpn, 1, hint) for _, lpn, hint in parts])
        return requests[np.argsort(when, kind="stable")]

    def pages_to_read(self, count: int, rng: np.random.Generator) -> IntegerArray:
        """See `Writer`: leaves, by the popularity of their keys."""
        return self._journal + self._inner + self._leaf(count, rng)

    def _leaf(self, count: int, rng: np.random.Generator) -> IntegerArray:
        """Return the numbers of leaves, drawn by popularity, shape (count,)."""
        ranks = np.searchsorted(self._distribution, rng.random(count), side="right")
        return self._leaf_of_rank[ranks].astype(np.int64)
