"""Rewards: what is paid for, in which unit, and against which baseline.

A term of one's own is a function with a decorator: `reward_term` for a sum over counters, `reward_measure`
for any function of counters and latencies. Packages of terms are found by the entry point group
`ssdgym.reward_terms`.
"""

import ssdgym.envs.rewards.merge_terms
import ssdgym.envs.rewards.subpage_terms  # noqa: F401 - these register the terms of those families
from ssdgym.envs.rewards.reward import Reward
from ssdgym.envs.rewards.scale import PLAIN, Baseline, Scale, parse_scale
from ssdgym.envs.rewards.terms import ENTRY_POINT_GROUP, TERMS, Term, Totals, reward_measure, reward_term
from ssdgym.envs.rewards.totals import CountedTotals

__all__ = [
    "ENTRY_POINT_GROUP",
    "PLAIN",
    "TERMS",
    "Baseline",
    "CountedTotals",
    "Reward",
    "Scale",
    "Term",
    "Totals",
    "parse_scale",
    "reward_measure",
    "reward_term",
]
