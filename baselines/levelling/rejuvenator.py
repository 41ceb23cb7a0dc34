"""The migrations of Rejuvenator."""

from ssdgym.policy import erases_of, least_worn_closed, least_worn_free, levelling_policy


@levelling_policy(
    "rejuvenator",
    source="Rejuvenator (Murugan and Du, MSST 2011); written from the abstract and descriptions of it",
    parameters={"tau": 16},
    minimum={"tau": 1},
)
def rejuvenator(view, plane, parameters):
    """Empty the least worn block once all free blocks are worn ones.

    Blocks with fewer than `tau / 2` erases above the least worn closed block are for hot data. When none of
    them is free, cold data of that one move to a worn block. Rejuvenator also sends hot data to the less worn
    half: name the allocation `least_worn` beside it. Here `tau` stays as it is.
    """
    free, closed = least_worn_free(view, plane), least_worn_closed(view, plane)
    if free < 0 or closed < 0:
        return -1
    spread = erases_of(view, free) - erases_of(view, closed)
    return closed if 2 * spread >= parameters.tau * view.params[0].sub_blocks else -1
