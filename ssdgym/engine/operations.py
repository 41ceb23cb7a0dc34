"""Operations that each FTL family defines for itself: the stubs that the engine calls.

For example, `family_do_write(dev, request)` calls the function that the `family.py` of the device's family
lists for this operation; numba makes the choice at compile time. The stubs are in the order of a write.
Further operations, with bodies that most families use, are in `loop` and `entries`. `request` is a REQUEST,
and `requests` (m,) is the present chunk of input.
"""

import numpy as np

from ssdgym.engine.core.kernel import operation
from ssdgym.engine.core.status import NO_WORK

# -- making a device, binding it to an address, running one of its two loops


@operation
def family_format(dev):
    """Turn zeroed arrays, with parameters, into an empty device."""


@operation
def family_bind(state, i, rules, external, pairs, address):
    """Store device `i` of a batch, its rules and the views of its rules at an address.

    The address has room for `entries.TUPLES` tuples of `STORED_BYTES` bytes.
    """


@operation(optional=True)
def family_attach_rules(dev):
    """Attach rules that are not attached yet, so that they initialise memory from the device's state."""


@operation
def family_run_loop(dev, address, requests, last):
    """Call a loop by its address, one of [`loop_addresses`][ssdgym.engine.entries.loop_addresses].

    Arguments and result are those of `run_untimed` and `run_timed` in `loop`.
    """


# -- a page of the host, untimed


@operation(optional=True)
def family_do_work(dev):
    """Carry out a step of the work that is due before the next page of the host, such as a GC round.

    Returns OK, AGAIN, NO_WORK if no work is due, the code of a decision that is due, or an error.
    """
    return np.int64(NO_WORK)


@operation(optional=True)
def family_prefetch(dev, requests):
    """Prefetch the memory that the next requests need."""


@operation
def family_do_write(dev, request):
    """Write the next page of a request; return OK, AGAIN, a decision that is due, or an error."""


@operation
def family_host_read(dev, lpn):
    """Read a mapped page of the host from flash."""


@operation
def family_forget_page(dev, lpn):
    """Unmap a logical page that the host trims or the device gives up, and drop its versions under way."""


# -- a page of the host, event-driven


@operation
def family_queue_read(dev, number):
    """Queue the read of a transaction, whose page is mapped, to the die of the page."""


@operation
def family_queue_write(dev, number):
    """Queue the write of a transaction to its die or, under late allocation, to the device's write queue."""


@operation
def family_dispatch(dev, die_number):
    """Start the next command of an idle die, if any.

    Returns OK, AGAIN if the state has changed without a command, a decision that is due, or an error.
    """


# -- garbage collection


@operation(optional=True)
def family_can_move(dev, leader, pairs, count):
    """Return whether an erase set's planes, which may have lost blocks, have room for all its moves."""
    return True


@operation
def family_run_round(dev, leader):
    """Finish the round that a plane leads in zero time; return OK, a decision that is due, or an error."""


@operation(optional=True)
def family_settle(dev):
    """After blocks are lost, give up logical pages or end the life of the device, if needed."""


# -- decisions taken outside the engine


@operation
def family_apply_action(dev, chosen, action):
    """Carry out the decision that is due: the set `chosen` for ERASE and LEVEL, otherwise answer `action`."""


@operation
def family_observe(dev, spec, view):
    """Write candidates, mask and context of the due decision; at the horizon, as if a decision were due."""


@operation(optional=True)
def family_is_written(dev, ppn):
    """Return whether a page is written; always True in families whose erased pages have `lpn` -1."""
    return True
