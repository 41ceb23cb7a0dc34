"""What every FTL family does in its own way; the entry points are written with these verbs only."""

from __future__ import annotations

from ssdgym.engine.core.kernel import verb


@verb
def bind(state, i, rules, external, pairs, address):
    """Store device `i` of a batch with who takes its decisions, and behind it what its rules see.

    There is room for four tuples of `STORED_BYTES`.
    """


@verb
def format_arrays(dev):
    """Turn zeroed arrays, but for the parameters, into an empty device."""


@verb
def count_lost_pages(dev):
    """Count mapped logical pages whose physical page does not hold their newest version."""


@verb
def find_fault(dev):
    """Return the number of the first invariant that the device breaks, 0 for none."""


@verb
def settle_choice(dev, chosen, action):
    """Carry out a decision: candidate `action`, an erase set in `chosen` where it is of that kind."""


@verb
def describe(dev, question, view):
    """Write the candidates, the mask and the context of the decision that is due, or as if one were."""


@verb
def advance_untimed(dev, requests):
    """Run without time until input or horizon ends, or until a decision is due outside; return the status."""


@verb
def advance_timed(dev, requests, last):
    """Run in time until input or horizon ends, or until a decision is due outside; return the status.

    With `last` false, the end of `requests` stops the device at once: more input is to come.
    """


@verb
def run_loop(dev, address, requests, last):
    """Call a loop of the family, of [`loop_addresses`][ssdgym.engine.entries.loop_addresses]."""
