"""Rewards: the terms of an objective, and the scale that turns costs into rewards.

To add a term, write a function with the decorator `reward_term`. Installed packages register terms through
the entry point group `ssdgym.reward_terms`.
"""

from ssdgym.envs.rewards.reward import PLAIN, Baseline, Reward, Scale, parse_scale
from ssdgym.envs.rewards.terms import TERMS, Term, Totals, reward_term

__all__ = ["PLAIN", "TERMS", "Baseline", "Reward", "Scale", "Term", "Totals", "parse_scale", "reward_term"]
