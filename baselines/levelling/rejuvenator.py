"""The migrations of Rejuvenator."""

from ssdgym.policy import blocks_of, erases_of, least_worn_closed, least_worn_free, levelling_policy


@levelling_policy(
    "rejuvenator",
    source="Rejuvenator (Murugan and Du, MSST 2011); written from the abstract and descriptions of it",
    parameters={"tau": 16},
    minimum={"tau": 1},
)
def rejuvenator(view, plane, parameters):
    """Empty the least worn block once all free blocks are worn ones.

    Blocks with fewer than `tau / 2` erases above the least worn block of the plane are for hot data. When
    none of them is free, cold data of one moves to a worn block. Rejuvenator also sends hot data to the less
    worn half: name the allocation `least_worn` beside it. Here `tau` stays as it is.
    """
    fewest = -1
    for block in blocks_of(view, plane):
        erases = erases_of(view, block)
        if fewest < 0 or erases < fewest:
            fewest = erases
    free, closed = least_worn_free(view, plane), least_worn_closed(view, plane)
    if free < 0 or closed < 0:
        return -1
    half = parameters.tau * view.params[0].sub_blocks / 2
    return closed if erases_of(view, free) - fewest >= half > erases_of(view, closed) - fewest else -1
