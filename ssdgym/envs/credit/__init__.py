"""Credit for each decision about a page: what it has cost by itself, and what a learner makes of that."""

from ssdgym.envs.credit.settled import Credit
from ssdgym.envs.credit.transitions import CreditBuffer, Transitions, advantages

__all__ = ["Credit", "CreditBuffer", "Transitions", "advantages"]
