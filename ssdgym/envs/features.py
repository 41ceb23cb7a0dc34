"""The columns of an observation: their names, what they mean, and their range.

``log`` features are in units of 16 factors of two, so that a difference of two of them is the logarithm of a
ratio: ``log_benefit + log_age`` orders candidates as cost-benefit does, ``log_benefit`` alone nearly as
greedy does.

A candidate is a set of one block (or some of its sub-blocks) or of up to eight; of several, their pages,
sub-blocks and erases are counted together.
"""

from __future__ import annotations

from dataclasses import dataclass

from ssdgym.engine.core.records import MAX_PAIRS


@dataclass(frozen=True)
class Feature:
    """One number of an observation, between ``low`` and ``high``."""

    name: str
    meaning: str
    low: float = 0.0
    high: float = 1.0


CANDIDATE_FEATURES = (
    Feature("valid_fraction", "valid share of the set's written pages (u)"),
    Feature("log_benefit", "log2(invalid / (valid + 0.5)) / 16", -2.0, 2.0),
    Feature("log_age", "log2(host pages since the last invalidation in its blocks + 1) / 16", 0.0, 4.0),
    Feature("log_age_closed", "log2(host pages since the last of its blocks closed + 1) / 16", 0.0, 4.0),
    Feature("moves", "pages of the set to relocate, in blocks", 0.0, MAX_PAIRS),
    Feature("gain", "invalid pages of the set, in blocks", 0.0, MAX_PAIRS),
    Feature("share", "sub-blocks of the set, in blocks", 0.0, MAX_PAIRS),
    Feature("wear", "erases of the set against the mean m of the candidates: (e - m) / (m + 1)", -1.0, 1.0),
    Feature("gc_stream", "share of its blocks that hold relocated pages (with a GC stream of their own)"),
    Feature(
        "log_recycle_benefit",
        "log2(invalid pages per time to win them, in those one move takes) / 16",
        -2.0,
        2.0,
    ),
    Feature(
        "neighbour_moves", "pages to relocate from neighbours that are not erased, in blocks", 0.0, MAX_PAIRS
    ),
    Feature("spent", "share of the set's sub-blocks whose pages are all invalid"),
)

CONTEXT_FEATURES = (
    Feature("utilisation", "logical pages / pages that can be written (isolation pages left out)"),
    Feature("log_pages_per_block", "log2(pages per block) / 16", 0.0, 2.0),
    Feature("log_blocks", "log2(blocks per plane) / 32"),
    Feature("free", "free share of the plane's pages"),
    Feature("pool", "share of the plane's pages that are free in its pool"),
    Feature("indexed", "share of the plane's blocks that may be victims"),
    Feature("invalid", "invalid share of the plane's pages"),
    Feature("log_logical_pages", "log2(logical pages) / 32"),
    Feature("log_clock", "log2(host pages ever written + 1) / 64"),
)
