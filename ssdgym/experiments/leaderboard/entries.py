"""The entries of a leaderboard: what kind each policy of a suite is, and what it is from."""

from __future__ import annotations

from dataclasses import dataclass

from ssdgym.agents.zoo.described import agents_in
from ssdgym.experiments.leaderboard.board import Kind, Size
from ssdgym.experiments.suites.config import SuiteConfig
from ssdgym.policy import get_policy

#: Rules that every textbook has; a policy of nothing else is classic, any other is of the paper it is from.
CLASSICS = frozenset(
    {
        *("greedy", "cost_benefit", "fifo", "random", "d_choices", "windowed_greedy"),
        *("single", "sep_gc", "hot_cold"),
        *("blocking", "threshold"),
    }
)


@dataclass(frozen=True)
class Entry:
    """What gets a row.

    Attributes:
        name: of the row.
        kind: what it is.
        source: the papers or books of its rules; classic ones are named only where there are no others.
        policies: one, or one for each seed of the training.
    """

    name: str
    kind: Kind
    source: str
    policies: tuple[str, ...]


def entries_of(suite: SuiteConfig) -> list[Entry]:
    """Return the entries of a suite: its baseline, its policies, its bounds and what has learned.

    Raises:
        SsdgymError: there is no such policy.
    """
    fixed = dict.fromkeys((suite.baseline, *suite.policies))
    return [
        *(_entry(policy, "classic" if is_classic(policy) else "paper") for policy in fixed),
        *(Entry(one.name, "learned", source_of(one.policies[0]), one.policies) for one in suite.agents),
        *(_entry(policy, "bound") for policy in suite.ceilings),
    ]


def _entry(policy: str, kind: Kind) -> Entry:
    return Entry(policy, kind, source_of(policy), (policy,))


def is_classic(policy: str) -> bool:
    """Return whether a policy has nothing but rules of `CLASSICS`.

    Raises:
        SsdgymError: there is no such policy.
    """
    found = get_policy(policy)
    return found.alias is None and all(rule.name in CLASSICS for rule in found.parts)


def source_of(policy: str) -> str:
    """Return the papers or books that a policy is from.

    Raises:
        SsdgymError: there is no such policy.
    """
    found = get_policy(policy)
    if found.alias is not None:
        return found.source
    own = [rule for rule in found.parts if rule.name not in CLASSICS] or found.parts
    return "; ".join(dict.fromkeys(rule.source for rule in own))


def size_of(policy: str) -> Size | None:
    """Return what the decisions of the agents in a policy cost, of several together; `None` without any.

    Raises:
        SsdgymError: there is no such agent.
    """
    costs = [agent.cost for agent in agents_in(policy)]
    if not costs:
        return None
    return Size(
        multiply_adds=sum(cost.shared_multiply_adds for cost in costs),
        multiply_adds_each=sum(cost.candidate_multiply_adds for cost in costs),
        weight_bytes=sum(cost.weight_bytes for cost in costs),
    )
