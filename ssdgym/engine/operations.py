"""Operations that FTL families carry out in ways of their own: the stubs that the engine calls.

`family_do_write(dev, request)` calls the function that the family of the device has given for it, in the
dictionary of its `family.py`, chosen at compile time. They stand here in the order of a write; what families
replace only in part stands with its usual body where it is called, in `loop` and `entries`.
"""

import numpy as np

from ssdgym.engine.core.kernel import operation
from ssdgym.engine.core.status import NO_WORK

# -- a device: made, bound, and run by one of its two loops


@operation
def family_format(dev):
    """Turn zeroed arrays of the family, with parameters, into those of an empty device."""


@operation
def family_bind(state, i, rules, external, pairs, address):
    """Store device `i` of a batch, the takers of its decisions, and the view of its rules.

    There is room for `entries.TUPLES` tuples of `STORED_BYTES`.
    """


@operation(optional=True)
def family_attach_rules(dev):
    """Initialise rules that do not follow the device yet from its present state."""


@operation
def family_run_loop(dev, address, requests, last):
    """Call a loop of the family, of [`loop_addresses`][ssdgym.engine.entries.loop_addresses]."""


# -- a page of the host, without time


@operation(optional=True)
def family_do_work(dev):
    """Carry out a step of what goes before the next page, such as GC.

    Returns OK, AGAIN, NO_WORK where there is none, a decision that is due, or an error.
    """
    return np.int64(NO_WORK)


@operation(optional=True)
def family_prefetch(dev, requests):
    """Prefetch the memory of requests that are still to come."""


@operation
def family_do_write(dev, request):
    """Write the next page of a request; return OK, AGAIN, a decision that is due, or an error."""


@operation
def family_host_read(dev, lpn):
    """Read a mapped page of the host from flash."""


@operation
def family_forget_page(dev, lpn):
    """Forget a logical page that is trimmed, or that the device gives up."""


# -- and in time


@operation
def family_queue_read(dev, number):
    """Queue the read of a transaction, of a mapped page, to its die."""


@operation
def family_queue_write(dev, number):
    """Queue the write of a transaction to its die, if it is bound to one."""


@operation
def family_dispatch(dev, die_number):
    """Start the next command of an idle die, if any.

    Returns OK, AGAIN where nothing was started but the die's queues have changed, a decision that is due, or
    an error.
    """


# -- collection


@operation(optional=True)
def family_can_move(dev, leader, pairs, count):
    """Return whether planes that have lost blocks have room for all the moves of an erase set."""
    return True


@operation
def family_run_round(dev, leader):
    """Carry the round that a plane leads to its end in zero time; return OK, an error or a due decision."""


@operation(optional=True)
def family_settle(dev):
    """Draw the consequence of lost blocks: give up logical pages, or end the life of the device."""


# -- decisions taken outside


@operation
def family_apply_action(dev, chosen, action):
    """Carry out a decision: candidate `action`, an erase set in `chosen` where it is of that kind."""


@operation
def family_observe(dev, spec, view):
    """Write the candidates, the mask and the context of the decision that is due, or as if one were."""


# -- the check


@operation(optional=True)
def family_is_written(dev, ppn):
    """Return whether a page has been written since its erase, in families whose page records do not say."""
    return True
