"""Page allocation: the die and the plane of a page of the host, where the FTL is free to choose them."""

import numpy as np

from ssdgym.engine.core.bits import quotient, remainder
from ssdgym.engine.core.kernel import inlined, kernel
from ssdgym.engine.flash import write_phases
from ssdgym.engine.time.transactions import pop_write, queue_write


@inlined
def _room(dev, plane):
    """Return how many more valid pages a plane may hold; below 0 if lost blocks have lowered its limit."""
    return dev.params[0].valid_limit - dev.plane[plane].gone_pages - dev.plane[plane].valid


@inlined
def has_room(dev, plane):
    """Return whether a plane may hold one more valid page (dynamic and late allocation)."""
    return _room(dev, plane) > 0


@inlined
def plane_from_cursor(dev, die_number, k):
    """Return the `k`-th plane of a die, counted upwards from the die's plane cursor, with wrap-around."""
    params = dev.params[0]
    within = remainder(dev.die[die_number].plane_cursor + k, params.planes_per_die)
    return within * params.dies + die_number


@inlined
def allocate_plane(dev, die_number):
    """Return the die's next plane with room for a valid page, or -1 (dynamic and late allocation)."""
    for k in range(dev.params[0].planes_per_die):
        plane = plane_from_cursor(dev, die_number, k)
        if has_room(dev, plane):
            return np.int64(plane)
    return np.int64(-1)


@inlined
def pass_plane(dev, plane):
    """Move the plane cursor of the die behind `plane`, to which a write has been bound."""
    params = dev.params[0]
    die = dev.die[remainder(plane, params.dies)]
    die.plane_cursor = remainder(quotient(plane, params.dies) + 1, params.planes_per_die)


@kernel
def allocate_die(dev):
    """Return the die with the earliest estimated end of work; on a tie, the first one from the die cursor."""
    params, control = dev.params[0], dev.control[0]
    best = np.int64(control.die_cursor)
    best_time = max(dev.die[best].estimate_ns, control.now)
    for k in range(1, params.dies):
        die = remainder(control.die_cursor + k, params.dies)
        time = max(dev.die[die].estimate_ns, control.now)
        if time < best_time:
            best, best_time = die, time
    return best


@inlined
def pass_die(dev, die_number):
    """Move the die cursor behind the die to which a write has been bound."""
    dev.control[0].die_cursor = remainder(die_number + 1, dev.params[0].dies)


@kernel
def emptiest_plane(dev):
    """Return the plane that may hold most additional valid pages; on a tie, the lowest."""
    best = 0
    for plane in range(1, dev.params[0].planes):
        if _room(dev, plane) > _room(dev, best):
            best = plane
    return best


@inlined
def redirect_write(dev, die_number):
    """Move the first write of a die whose planes have no room to the queue of the emptiest plane's die."""
    params = dev.params[0]
    number = pop_write(dev, dev.die[die_number])
    target = remainder(emptiest_plane(dev), params.dies)
    queue_write(dev, target, dev.die[target], number, write_phases(params, 1))
