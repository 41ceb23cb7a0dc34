"""What decisions about anything but erase sets have in common: a rule, or nobody here, chooses victims."""

from __future__ import annotations

import numpy as np

from ssdgym.config.device import DeviceConfig
from ssdgym.engine.decisions import KINDS, RULE, no_rules
from ssdgym.engine.questions import Question
from ssdgym.errors import SsdgymError
from ssdgym.policy import Policy, get_policy, new_choice
from ssdgym.policy.policy import with_rules


def victims_of(victims: str | Policy | None) -> Policy | None:
    """Return the policy that chooses victims and nothing else; None: somebody else does.

    Raises:
        SsdgymError: there is none of that name, it does more, or is plain Python.
    """
    if victims is None:
        return None
    policy = get_policy(victims)
    if len(policy.parts) > 1 or not policy.victim.compiled or policy.victim.shares_memory_with:
        raise SsdgymError(
            f"victims name {policy.label}; give a compiled victim rule alone, such as 'greedy'."
        )
    return policy


def with_victims(device: DeviceConfig, policy: Policy | None) -> DeviceConfig:
    """Return a device as the policy that chooses victims runs it.

    Args:
        device: with the rules that it has besides.
        policy: of `victims_of`.

    Raises:
        SsdgymError: it cannot be erased so.
    """
    if policy is None:
        return with_rules(device, None)
    return with_rules(policy.adapt(device), None, policy.victim)


def question_without_sets(external: int, describer: int) -> Question:
    """Return what the engine is to ask, but for the features.

    Args:
        external: bit set of what is decided outside, as of `ssdgym.engine.questions.Question`.
        describer: address of the code that describes these decisions.
    """
    question = Question(
        rules=no_rules(),
        external=external,
        proposers=np.zeros(0, RULE),
        every=False,
        most_blocks=1,
        pairs=new_choice(),
    )
    return question._replace(describers=np.full(len(KINDS), describer))
