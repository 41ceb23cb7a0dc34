"""Functions that placements have for periods: plain Python, called between two steps of the engine."""

from __future__ import annotations

from ssdgym.config.checks import is_whole
from ssdgym.engine.core.family import State
from ssdgym.engine.view import view_arrays
from ssdgym.errors import SsdgymError, shown
from ssdgym.policy.failures import rule_error
from ssdgym.policy.rules import PlacementRule
from ssdgym.simulator.future import Future


def begin_period(state: State, i: int, rule: PlacementRule, future: Future | None = None) -> None:
    """Call the function of a placement whose period is due, and note when it is due next.

    Args:
        state: the batch.
        i: the device of it.
        rule: the placement.
        future: of the run, for a placement with foresight; `None` where none is known.

    Raises:
        SsdgymError: the function has failed, or does not say when it is due next.
    """
    control = state.control[i, 0]
    known = (future,) if rule.foresight else ()
    try:
        pages = rule.periodic(view_arrays(state, i, rule.memory, "place"), rule.values, *known)
    except Exception as error:  # whatever a rule of a user raises
        raise rule_error(error, [rule]) from error
    if not is_whole(pages) or not 1 <= pages < 2**62:
        raise SsdgymError(
            f"policy {rule.name}: its function for periods returned {shown(pages)} and must return after how "
            "many host pages, at least 1, it is due next."
        )
    control["period_at"] = control["clock"] + int(pages)
